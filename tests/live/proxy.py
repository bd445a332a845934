"""A network that can be broken at will: a TCP proxy on the loopback address, in front of a server.

    with Proxy(server) as proxy:
        connection = server.connect(port=proxy.port)
        proxy.stall()           # sockets stay open, nothing passes
        proxy.resume()
        proxy.cut_after(1000)   # a thousand more bytes reach the client, then the stream ends
        proxy.refuse()          # nobody can connect
        proxy.cut()             # all connections are reset
        proxy.dismiss(2)        # two dumps end before they begin, as on a server that is being shut down

One thread moves all bytes, and what is asked for holds when the call returns: no byte passes after `stall`. An
address stays the same over `refuse` and `accept`; `proxy.server` may be another server for later connections.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
from contextlib import suppress
from typing import NamedTuple, Self

from tests.live.servers import Server, free_port

HOST = "127.0.0.1"
BLOCK = 1 << 17
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER without any time
DUMPS = (b"\x12", b"\x1e")
"""The commands by which logs are asked for, by position and by GTIDs."""
NO_MORE = bytes.fromhex("05 00 00 01 fe 00 00 02 00")
"""The packet with which a dump ends."""


class Flow:
    """One direction of a connection, with the bytes that were taken and not yet passed on."""

    def __init__(self, source: socket.socket, target: socket.socket, to_client: bool) -> None:
        self.source = source
        self.target = target
        self.to_client = to_client
        self.pending = b""
        self.ended = False


class Link:
    """One client's connection, and ours to the server for it."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.flows = (Flow(client, server, to_client=False), Flow(server, client, to_client=True))


class Counts(NamedTuple):
    """What has happened so far."""

    connections: int
    """How many were accepted."""
    open: int
    """How many of them are open."""
    to_client: int
    """Bytes from the server."""
    to_server: int
    cuts: int
    """How often connections were cut, by `cut` or when `cut_after` was reached."""


class Proxy:
    """See the module. Counts what passed; closes all of its sockets at the end of the `with` block."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._accepted = 0
        self._to_client = 0
        self._to_server = 0
        self._cuts = 0
        self._links: list[Link] = []
        self._stalled = False
        self._allowance: int | None = None
        self._dismissed = 0
        self._lock = threading.Lock()
        self._closed = False
        # A socket that was bound to a named port keeps it while it does not listen.
        self.port = free_port()
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((HOST, self.port))
        self._listener.listen()
        self._listener.setblocking(False)
        self._accepting = True
        self._waker, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._thread = threading.Thread(target=self._run, name=f"proxy of {server.folder}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What can be asked for.

    @property
    def counts(self) -> Counts:
        with self._lock:
            return Counts(self._accepted, len(self._links), self._to_client, self._to_server, self._cuts)

    def cut(self) -> None:
        """Reset all connections now: both sides get a connection reset."""
        with self._lock:
            self._cut()
        self._wake()

    def cut_after(self, size: int) -> None:
        """Let exactly so many more bytes reach clients, over all connections; then end all of them. That client sees
        the end of its stream, wherever in a packet it is; the server sees a reset."""
        if size < 1:
            raise ValueError(f"a cut after {size} bytes: there is cut() for now")
        with self._lock:
            self._allowance = size

    def dismiss(self, dumps: int) -> None:
        """Answer so many dumps with their end, instead of passing them on. Not over TLS, which hides them."""
        with self._lock:
            self._dismissed = dumps

    @property
    def dismissed(self) -> bool:
        """Whether as many were as was asked for."""
        with self._lock:
            return not self._dismissed

    def stall(self) -> None:
        """Keep all connections open, also new ones, and pass nothing in either direction."""
        with self._lock:
            self._stalled = True

    def resume(self) -> None:
        """Pass again, beginning with what was held back."""
        with self._lock:
            self._stalled = False
        self._wake()

    def refuse(self) -> None:
        """Refuse new connections; those that are open stay."""
        with self._lock:
            if self._accepting:
                self._listener.shutdown(socket.SHUT_RDWR)
                self._accepting = False
        self._wake()

    def accept(self) -> None:
        """Accept connections again, at the same address."""
        with self._lock:
            self._listener.listen()
            self._accepting = True
        self._wake()

    def close(self) -> None:
        """Reset what is open, and close every socket. Harmless the second time."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._wake()
        self._thread.join()
        for link in list(self._links):
            self._drop(link)
        for each in (self._listener, self._waker, self._woken):
            each.close()

    # The thread.

    def _wake(self) -> None:
        """Let the thread look at the state again."""
        self._waker.send(b"!")

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._closed:
                    return
                poll, flows = self._awaited()
            ready = {descriptor for descriptor, _ in poll.poll()}
            with suppress(BlockingIOError):
                self._woken.recv(BLOCK)
            with self._lock:
                if self._accepting and self._listener.fileno() in ready:
                    self._connect()
                for link, flow in flows:
                    if link in self._links and not self._stalled:
                        self._move(link, flow)

    def _awaited(self) -> tuple[select.poll, list[tuple[Link, Flow]]]:
        """What to wait for, and the flows that may move then."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        if self._accepting:
            poll.register(self._listener, select.POLLIN)
        if self._stalled:
            return poll, []
        events: dict[socket.socket, int] = {}
        flows = [(link, flow) for link in self._links for flow in link.flows if not flow.ended]
        for _, flow in flows:
            # What was taken has to go before more is taken: a client that does not read slows the server down.
            if flow.pending:
                events[flow.target] = events.get(flow.target, 0) | select.POLLOUT
            else:
                events[flow.source] = events.get(flow.source, 0) | select.POLLIN
        for each, wanted in events.items():
            poll.register(each, wanted)
        return poll, flows

    def _connect(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:  # it went away, or `refuse` came first
            return
        self._accepted += 1
        try:
            server = socket.create_connection((HOST, self.server.port))
        except OSError:  # the server is down: so is this connection
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            client.close()
            return
        for each in (client, server):
            each.setblocking(False)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._links.append(Link(client, server))

    def _move(self, link: Link, flow: Flow) -> None:
        """Take some bytes and pass on as many as can go."""
        try:
            if not flow.pending:
                flow.pending = flow.source.recv(BLOCK)
                if not flow.pending:
                    flow.ended = True
                    flow.target.shutdown(socket.SHUT_WR)
            if self._dismissed and not flow.to_client and flow.pending[4:5] in DUMPS:
                self._dismissed -= 1
                flow.pending = b""
                link.client.send(NO_MORE)
            if flow.pending:
                self._pass_on(flow)
        except BlockingIOError:
            return
        except OSError:
            self._drop(link)
            return
        if all(each.ended for each in link.flows):
            self._drop(link, reset=False)
        elif self._allowance == 0:
            self._allowance = None
            with suppress(OSError):
                link.client.shutdown(socket.SHUT_WR)  # after it, closing sends what is on its way
            link.client.close()
            self._cut()

    def _pass_on(self, flow: Flow) -> None:
        data = flow.pending
        if flow.to_client and self._allowance is not None:
            data = data[: self._allowance]
        sent = flow.target.send(data)
        flow.pending = flow.pending[sent:]
        if flow.to_client:
            self._to_client += sent
            if self._allowance is not None:
                self._allowance -= sent
        else:
            self._to_server += sent

    def _cut(self) -> None:
        self._cuts += 1
        for link in list(self._links):
            self._drop(link)

    def _drop(self, link: Link, reset: bool = True) -> None:
        """Close both sockets. Without a reset, the system still delivers what is on its way."""
        self._links.remove(link)
        for each in (link.client, link.server):
            if reset and each.fileno() >= 0:
                with suppress(OSError):
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            each.close()
