"""Spark's own daemon of Python workers, but quiet at the end.

A session that ends closes its workers' sockets. A worker still has a last word to send then, and on a Unix domain
socket that fails at once (over TCP it does not): Spark's daemon prints a traceback.
"""

from __future__ import annotations

import socket

from pyspark import daemon

_worker = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    try:
        return _worker(sock, authenticated)
    except BrokenPipeError:  # nobody listens any more; what a task has to say is sent before it ends
        return 1


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
