"""A client that never stops writing: it commits rows with consecutive numbers, and knows what it has committed.

    with Writer(server, seed=7) as writer:
        writer.wait_for(1000)     # rows
        server.recover()          # it connects again and finds out what became of its last transaction
        writer.wait_for(2000)
    assert rows_that_arrived == writer.rows()

What it does is decided by the seed alone; only how far it gets is not. Each row has its number, the number of its
transaction and its place there. An attempt that came to nothing is made again with the same numbers, so whatever
shows a row that was not committed shows a number twice.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal, NamedTuple, Self

import pymysql

from tests.live.servers import Server
from tests.live.waiting import wait_until

Extra = Literal["update", "delete", "ddl", "rollback", "myisam"]
SCHEMA = "live"
TABLE = f"{SCHEMA}.numbers"
EXTRA_ODDS = 0.1
MOST_STATEMENTS = 3
LONGEST_NOTE = 200
PATIENCE = 90
"""Seconds without a server, after which the writer gives up."""
LOST = (pymysql.OperationalError, pymysql.InterfaceError, pymysql.IntegrityError, OSError)
"""What another attempt may settle. A duplicate key is met where an attempt was still at work after its connection."""
SETUP = (
    f"CREATE DATABASE {SCHEMA}",
    f"""CREATE TABLE {TABLE} (number BIGINT PRIMARY KEY, txn BIGINT NOT NULL, place INT NOT NULL,
        note VARCHAR({LONGEST_NOTE}) NOT NULL, changed INT NOT NULL DEFAULT 0) ENGINE=InnoDB""",
    f"CREATE TABLE {SCHEMA}.loose (a BIGINT NOT NULL) ENGINE=MyISAM",
)


class Row(NamedTuple):
    """A row that was committed: all numbers count from 1, but for the place, which counts from 0."""

    number: int
    transaction: int
    place: int


class Transaction(NamedTuple):
    number: int
    first: int
    """The number of its first row."""
    size: int

    def rows(self) -> Iterator[Row]:
        for place in range(self.size):
            yield Row(self.first + place, self.number, place)


class Writer:
    """Writes in a thread of its own from `start` (or `with`) to `stop`. The database must not be there before. A MariaDB
    logs rows with --binlog-format=ROW only."""

    def __init__(
        self,
        server: Server,
        seed: int,
        *,
        largest: int = 100,
        flush_odds: float = 0.05,
        extras: Collection[Extra] = (),
        pause: float = 0.002,
    ) -> None:
        """`largest` transaction in rows; the odds of a new log after a transaction; what it does beside inserting (the
        odds of each are the same, and none of it is in `rows`); seconds between two transactions."""
        self.server = server
        self.largest = largest
        self.flush_odds = flush_odds
        self.extras = sorted(extras)
        self.pause_seconds = pause
        self.transactions: list[Transaction] = []
        """What is committed, in order. It only grows."""
        self.reconnects = 0
        self.unknown_outcomes = 0
        """How often a connection was lost during a commit."""
        self._random = random.Random(seed)
        self._connection: pymysql.Connection[Any] | None = None
        self._in_doubt = True
        """Whether the server has to be asked what it has."""
        self._stopping = threading.Event()
        self._abandoned = threading.Event()
        self._held = threading.Lock()
        """Taken by the thread for a turn at a time, and by whoever wants it to rest."""
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"writer to {server.folder}", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.stop()
        else:  # the first error is the one to see
            self._abandoned.set()
            with suppress(AssertionError):
                self.stop()

    def start(self) -> None:
        with self.server.connect() as connection, connection.cursor() as cursor:
            for statement in SETUP:
                cursor.execute(statement)
        self._thread.start()

    def stop(self) -> None:
        """End after the turn that is under way. AssertionError if the writer had to give up."""
        self._stopping.set()
        self._thread.join()
        self._check()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Within this block nothing is written: all that is committed is in the server's log."""
        with self._held:
            self._check()
            yield

    def move_to(self, server: Server) -> None:
        """Go on at another server, which has to have all that was committed. For a writer that rests."""
        self._disconnect()
        self.server = server

    def wait_for(self, rows: int, seconds: float = 60) -> None:
        """Wait until so many rows are committed in all."""

        def reached() -> bool:
            self._check()
            return self.count >= rows

        wait_until(reached, f"{rows} rows were written", seconds)

    @property
    def count(self) -> int:
        """How many rows are committed."""
        transactions = self.transactions
        return transactions[-1].first + transactions[-1].size - 1 if transactions else 0

    def rows(self) -> list[Row]:
        """What is committed, in the order of the log."""
        return [row for transaction in list(self.transactions) for row in transaction.rows()]

    # The thread.

    def _check(self) -> None:
        if self._failure is not None:
            raise AssertionError(f"the writer gave up: {self._failure!r}") from self._failure

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                with self._held:
                    self._turn()
                self._stopping.wait(self.pause_seconds)
        except BaseException as error:
            self._failure = error
        finally:
            self._disconnect()

    def _turn(self) -> None:
        """One transaction, and what comes before and after it."""
        dice = self._random
        size = dice.randint(1, dice.choice((1, min(10, self.largest), self.largest)))
        transaction = Transaction(len(self.transactions) + 1, self.count + 1, size)
        statements = list(self._inserts(transaction))
        for extra in self.extras:
            if dice.random() < EXTRA_ODDS:
                self._surely(self._do_extra, extra, dice.random(), statements)
        self._commit(transaction, statements)
        if dice.random() < self.flush_odds:
            self._surely(self._execute, "FLUSH BINARY LOGS")

    def _inserts(self, transaction: Transaction) -> Iterator[str]:
        """The rows in a few statements."""
        dice = self._random
        rows = list(transaction.rows())
        cuts = sorted(dice.randint(1, len(rows)) for _ in range(dice.randint(0, MOST_STATEMENTS - 1)))
        for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
            if begin < end:
                values = ", ".join(
                    f"({row.number}, {row.transaction}, {row.place}, REPEAT('n', {dice.randint(0, LONGEST_NOTE)}))"
                    for row in rows[begin:end]
                )
                yield f"INSERT INTO {TABLE} (number, txn, place, note) VALUES {values}"

    def _do_extra(self, extra: Extra, chance: float, statements: list[str]) -> None:
        """What may be done twice. The last row stays: by it a transaction's outcome is known."""
        chosen = 1 + int(chance * (self.count - 1))
        if extra == "update":
            self._execute(f"UPDATE {TABLE} SET changed = changed + 1 WHERE number = {chosen}")
        elif extra == "delete":
            self._execute(f"DELETE FROM {TABLE} WHERE number = {chosen} AND number < {self.count}")
        elif extra == "myisam":
            self._execute(f"INSERT INTO {SCHEMA}.loose VALUES ({chosen})")
        elif extra == "ddl":
            there = self._execute(f"SHOW COLUMNS FROM {TABLE} LIKE 'added'")
            change = "DROP COLUMN added" if there else "ADD COLUMN added INT NULL"
            self._execute(f"ALTER TABLE {TABLE} {change}")
        else:
            for statement in ("BEGIN", *statements, "ROLLBACK"):
                self._execute(statement)

    def _commit(self, transaction: Transaction, statements: list[str]) -> None:
        """Make attempts until the transaction is committed."""
        deadline = time.monotonic() + PATIENCE
        while True:
            committing = False
            try:
                if self._in_doubt and self._committed(transaction):
                    break
                self._execute("BEGIN")
                for statement in statements:
                    self._execute(statement)
                committing = True
                self._execute("COMMIT")
                break
            except LOST as error:
                self.unknown_outcomes += committing
                self._lost(error, deadline)
        self.transactions.append(transaction)

    def _committed(self, transaction: Transaction) -> bool:
        """Whether an attempt before was committed, of which no answer came. All transactions before it must be there."""
        [(last,)] = self._execute(f"SELECT COALESCE(MAX(number), 0) FROM {TABLE}")
        if last not in (transaction.first - 1, transaction.first + transaction.size - 1):
            raise AssertionError(f"row {last} is the server's last; {transaction.first - 1} were committed")
        self._in_doubt = False
        return bool(last >= transaction.first)

    def _surely(self, action: Callable[..., object], *arguments: object) -> None:
        """Do what may be done twice, until it is done."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                action(*arguments)
                return
            except LOST as error:
                self._lost(error, deadline)

    def _lost(self, error: Exception, deadline: float) -> None:
        self._disconnect()
        if self._abandoned.is_set() or time.monotonic() > deadline:
            raise error
        self.reconnects += 1
        time.sleep(0.02)

    def _execute(self, statement: str) -> tuple[tuple[Any, ...], ...]:
        if self._connection is None:
            self._connection = self.server.connect(read_timeout=PATIENCE)
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return tuple(cursor.fetchall())

    def _disconnect(self) -> None:
        self._in_doubt = True
        if self._connection is not None:
            with suppress(pymysql.MySQLError, OSError):
                self._connection.close()
            self._connection = None
