"""Reads a log from a server with python-mysql-replication, to the end. Run by the bench in that library's own
environment (bench/peer.py makes it), so nothing of gtidal is imported here.

    python peer_reader.py PORT LOG_FILE

Prints one line of JSON: rows, memory, and the seconds of the loop alone, by the clock and by the processor.
"""

import json
import sys
import time

from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import RowsEvent


def peak_memory() -> int:
    """In bytes. The usage that the system keeps would begin with the memory of the bench itself."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def main() -> None:
    port, log_file = int(sys.argv[1]), sys.argv[2]
    stream = BinLogStreamReader(
        connection_settings={"host": "127.0.0.1", "port": port, "user": "root", "passwd": ""},
        server_id=4711,
        log_file=log_file,
        log_pos=4,
        resume_stream=True,
        blocking=False,
        verify_checksum=True,
        enable_logging=False,
    )
    wall, cpu = time.perf_counter(), time.process_time()
    rows = 0
    for event in stream:
        if isinstance(event, RowsEvent):
            rows += len(event.rows)  # they are decoded when they are asked for
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    stream.close()
    memory = peak_memory()
    print(json.dumps({"wall": wall, "cpu": cpu, "memory": memory, "rows": rows}))


if __name__ == "__main__":
    main()
