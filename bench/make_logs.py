"""The logs that the bench reads, as a real MySQL server writes them. Made once and kept in the cache folder.

    python bench/make_logs.py [--megabytes 900] [--only oltp|bulk]

`oltp` holds small transactions, each a statement that commits by itself: one row inserted, updated or deleted in
tables like sysbench's. `bulk` holds statements of hundreds of rows of mixed types, all in one table. A log is one
file: CACHE/bench/oltp-900/binlog.000001, where CACHE is $GTIDAL_CACHE, else $XDG_CACHE_HOME/gtidal, else
~/.cache/gtidal. Nothing is cut or repeated: every byte was written by the server in one go.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from tests.live.servers import MySQLServer, mysql_binaries  # noqa: E402

MEGABYTES = 900
BEGIN, DAY = 1_790_812_800, 86_400  # what is written in a minute bears the times of a day
CLIENTS = 4
OLTP_TABLES = 8
OLTP_ROWS = 10_000
OPTIONS = (
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--binlog-row-metadata=FULL",
    "--max-binlog-size=1G",  # so that a log is one file
    "--innodb-buffer-pool-size=1G",
)
DIGITS = "LPAD(FLOOR(RAND() * 1e11), 11, '0')"
C_VALUE = "CONCAT_WS('-', " + ", ".join([DIGITS] * 10) + ")"
PAD_VALUE = "CONCAT_WS('-', " + ", ".join([DIGITS] * 5) + ")"


# --- small transactions -----------------------------------------------------------------------------------


def oltp_setup() -> list[str]:
    statements = ["CREATE DATABASE sbtest", "USE sbtest"]
    for number in range(1, OLTP_TABLES + 1):
        name = f"sbtest{number}"
        # The four kinds of write of sysbench's oltp_write_only, each committed by itself. A deleted row is put
        # back, so that the table keeps its size.
        statements += [
            f"""CREATE TABLE {name} (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0,
                c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), KEY k (k))""",
            f"""INSERT INTO {name} (k, c, pad)
                WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {OLTP_ROWS})
                SELECT /*+ SET_VAR(cte_max_recursion_depth = {OLTP_ROWS}) */
                       1 + FLOOR(RAND() * {OLTP_ROWS}), {C_VALUE}, {PAD_VALUE} FROM numbers""",
            f"""CREATE PROCEDURE write{number} (IN total INT)
                BEGIN
                  DECLARE i INT DEFAULT 0;
                  DECLARE row_id INT;
                  WHILE i < total DO
                    SET row_id = 1 + FLOOR(RAND() * {OLTP_ROWS});
                    UPDATE {name} SET k = k + 1 WHERE id = row_id;
                    SET row_id = 1 + FLOOR(RAND() * {OLTP_ROWS});
                    UPDATE {name} SET c = {C_VALUE} WHERE id = row_id;
                    SET row_id = 1 + FLOOR(RAND() * {OLTP_ROWS});
                    DELETE FROM {name} WHERE id = row_id;
                    INSERT INTO {name} (id, k, c, pad)
                      VALUES (row_id, 1 + FLOOR(RAND() * {OLTP_ROWS}), {C_VALUE}, {PAD_VALUE});
                    SET i = i + 1;
                  END WHILE;
                END""",
        ]
    return statements


def oltp_work(client: int, turn: int) -> list[str]:
    # Each client has tables of its own: two clients never delete and insert the same row.
    own = OLTP_TABLES // CLIENTS
    return [f"CALL sbtest.write{1 + client * own + turn % own}(50)"]


# --- statements of many rows ------------------------------------------------------------------------------

BULK_ROWS = 1000
BULK_SETUP = [
    "CREATE DATABASE shop",
    "USE shop",
    """CREATE TABLE orders (
         id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
         customer INT NOT NULL,
         status ENUM('new', 'paid', 'sent', 'returned') NOT NULL,
         amount DECIMAL(12,2) NOT NULL,
         tax DECIMAL(20,6) NULL,
         weight DOUBLE NULL,
         quantity SMALLINT UNSIGNED NOT NULL,
         city VARCHAR(60) NOT NULL,
         note VARCHAR(200) NULL,
         placed DATETIME(6) NOT NULL,
         due DATE NULL,
         changed TIMESTAMP NOT NULL,
         attributes JSON NULL)""",
    f"""CREATE TABLE numbers (n INT PRIMARY KEY) AS
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {BULK_ROWS})
        SELECT n FROM numbers""",
]
BULK_INSERT = """
INSERT INTO shop.orders (customer, status, amount, tax, weight, quantity, city, note, placed, due, changed, attributes)
SELECT FLOOR(RAND() * 2000000) - 1000,
       1 + FLOOR(RAND() * 4),
       ROUND(RAND() * 20000 - 100, 2),
       IF(n MOD 7 = 0, NULL, RAND() * 3000),
       IF(n MOD 5 = 0, NULL, RAND() * 90),
       1 + FLOOR(RAND() * 60000),
       ELT(1 + FLOOR(RAND() * 8), 'Hamburg', 'København', 'São Paulo', 'Oslo', 'Wien', '東京', 'Lyon', 'Kraków'),
       IF(n MOD 3 = 0, NULL, CONCAT('order ', n, ': ', LEFT(REPEAT(SHA2(RAND(), 256), 2), 10 + FLOOR(RAND() * 100)))),
       NOW(6) - INTERVAL FLOOR(RAND() * 100000) SECOND,
       IF(n MOD 4 = 0, NULL, CURRENT_DATE + INTERVAL FLOOR(RAND() * 90) DAY),
       NOW(),
       IF(n MOD 6 = 0, NULL, JSON_OBJECT(
         'colour', ELT(1 + FLOOR(RAND() * 4), 'red', 'green', 'blue', 'grey'),
         'size', FLOOR(RAND() * 50), 'ratio', RAND(), 'gift', RAND() < 0.2,
         'tags', JSON_ARRAY('a', FLOOR(RAND() * 100000), NULL), 'from', JSON_OBJECT('shop', n, 'till', 'T1')))
FROM shop.numbers ORDER BY n
"""


def bulk_work(client: int, turn: int) -> list[str]:
    # Half of the rows of each turn are updated, a quarter deleted.
    return [
        BULK_INSERT,
        "SET @first = LAST_INSERT_ID()",
        f"""UPDATE shop.orders SET status = 'paid', amount = amount + 1.5, changed = NOW()
            WHERE id BETWEEN @first AND @first + {BULK_ROWS // 2}""",
        f"DELETE FROM shop.orders WHERE id BETWEEN @first AND @first + {BULK_ROWS // 4}",
    ]


# --- making them ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """One of the two logs: what is there before the log begins, and what each client writes into it."""

    name: str
    setup: list[str]
    work: Callable[[int, int], list[str]]
    table: str
    """The table whose typed rows are measured."""

    @property
    def schema(self) -> str:
        return self.table.partition(".")[0]


WORKLOADS = (
    Workload("oltp", oltp_setup(), oltp_work, "sbtest.sbtest1"),
    Workload("bulk", BULK_SETUP, bulk_work, "shop.orders"),
)


def bench_folder() -> Path:
    """Where the bench keeps its logs, its other programs and its results."""
    if own := os.environ.get("GTIDAL_CACHE"):
        return Path(own) / "bench"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gtidal" / "bench"


def log_of(workload: Workload, megabytes: int = MEGABYTES) -> Path:
    """The log of a workload, of at least this size and not much more; made if it is not there."""
    folder = bench_folder() / f"{workload.name}-{megabytes}"
    path = folder / "binlog.000001"
    made_by = folder / "made-by"
    wanted = f"MySQL {mysql_binaries().version}, a day\n"
    size = megabytes * 1_000_000
    if path.exists() and made_by.read_text() == wanted:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    print(f"making the {workload.name} log ({megabytes} MB; once) …", file=sys.stderr, flush=True)
    start = time.perf_counter()
    with MySQLServer.temporary(*OPTIONS) as server:
        server.execute(workload.setup)
        server.flush()
        log = server.binlogs()[-1]
        write(server, workload, log, size)
        server.flush()
        made_by.write_text(wanted)
        draft = path.with_suffix(".draft")
        shutil.copyfile(log, draft)
        draft.rename(path)
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return path


def write(server: MySQLServer, workload: Workload, log: Path, size: int) -> None:
    """Let several clients write until the log is large enough."""
    failures: list[BaseException] = []

    def client(number: int) -> None:
        turn = 0
        try:
            with server.connect(database=workload.schema) as connection, connection.cursor() as cursor:
                while (written := log.stat().st_size) < size and not failures:
                    cursor.execute(f"SET timestamp = {BEGIN + DAY * written // size}")
                    for statement in workload.work(number, turn):
                        cursor.execute(statement)
                    turn += 1
        except BaseException as error:
            failures.append(error)

    clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    if failures:
        raise failures[0]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=MEGABYTES)
    parser.add_argument("--only", choices=[workload.name for workload in WORKLOADS])
    arguments = parser.parse_args()
    for workload in WORKLOADS:
        if arguments.only in (None, workload.name):
            print(log_of(workload, arguments.megabytes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
