"""A command that is killed at random moments and started again, until its work is done.

    killing = Killing([sys.executable, "-m", "gtidal", "archive", …], folder, seed=3, kills=20)
    runs = killing.run(until=lambda: has_all(folder, server))

A moment is some time after the start, or when the command has written some bytes below its folder, as the seed
decides. A kill is SIGKILL for all of its processes, as in a power cut.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.live.waiting import STEP

STOP_SECONDS = 30
LAST_LINES = 20
KILLED, EXITED, STOPPED = "killed", "exited", "stopped"


@dataclass(frozen=True)
class Run:
    """One run of the command, from its start to its end."""

    ended: str
    """`killed`, `exited` by itself, or `stopped` when all was done (and killed with -9 if it did not stop)."""
    code: int
    seconds: float
    written: int
    """Bytes that came below the folder meanwhile, as far as they were seen."""
    errors: str
    """The last lines of its standard error."""

    def __str__(self) -> str:
        told = f"{self.ended} ({self.code}) after {self.seconds:.2f} s and {self.written} bytes"
        return f"{told}\n{self.errors}" if self.errors else told


@dataclass(frozen=True)
class Moment:
    """When to kill: after so many seconds at the latest, or as soon as so much is written."""

    seconds: float
    written: int | None = None

    def reached(self, seconds: float, written: int) -> bool:
        return seconds >= self.seconds or (self.written is not None and written >= self.written)


class Killing:
    """See the module."""

    def __init__(
        self,
        command: Sequence[str | Path],
        folder: Path,
        *,
        seed: int,
        kills: int,
        longest: float = 2.0,
        most_written: int = 1_000_000,
        may_fail: Callable[[], bool] = lambda: False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Half of the moments are times up to `longest` seconds; half are sizes up to `most_written` bytes, or three
        times as long where so much does not come. `may_fail`: whether a command that has failed by itself is started
        again; else that is an error."""
        self.command = [str(part) for part in command]
        self.folder = folder
        self.kills = kills
        self.longest = longest
        self.most_written = most_written
        self.may_fail = may_fail
        self.environment = None if environment is None else {**os.environ, **environment}
        self.runs: list[Run] = []
        self._random = random.Random(seed)

    def run(
        self,
        until: Callable[[], bool],
        during: Callable[[int], None] = lambda number: None,
        seconds: float = 120,
    ) -> list[Run]:
        """Kill as often as was asked for, then let the command run until the condition holds, and stop it (SIGINT).
        `during` is called with 0, 1, 2… while that run is under way: for trouble of other kinds. AssertionError with
        what the runs said, if it takes longer than these seconds."""
        deadline = time.monotonic() + seconds
        left = self.kills
        while True:
            moment = self._moment() if left else None
            run = self._run_once(moment, until, during, deadline)
            self.runs.append(run)
            left -= run.ended == KILLED
            if run.ended == EXITED and run.code and not self.may_fail():
                raise AssertionError(f"it failed by itself: {self.report()}")
            if not left and run.ended in (EXITED, STOPPED) and until():
                return self.runs
            if time.monotonic() > deadline:
                raise AssertionError(f"not done in {seconds:g} s: {self.report()}")

    def report(self) -> str:
        """What was run, and how each run went."""
        runs = "\n".join(f"run {number}: {run}" for number, run in enumerate(self.runs))
        return f"{' '.join(self.command)}\n{runs}"

    def _moment(self) -> Moment:
        if self._random.random() < 0.5:
            return Moment(self._random.uniform(0, self.longest))
        return Moment(3 * self.longest, self._random.randint(1, self.most_written))

    def _run_once(
        self, moment: Moment | None, until: Callable[[], bool], during: Callable[[int], None], deadline: float
    ) -> Run:
        start = time.monotonic()
        growth = Growth(self.folder)
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
            try:
                during(len(self.runs))
                while (ended := self._ended(process, moment, start, growth, until, deadline)) is None:
                    time.sleep(STEP)
                if ended == STOPPED:
                    process.send_signal(signal.SIGINT)
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(STOP_SECONDS)
            finally:
                kill_session(process)
            return Run(ended, process.returncode, time.monotonic() - start, growth.seen, last_lines(errors))

    @staticmethod
    def _ended(
        process: subprocess.Popen[bytes],
        moment: Moment | None,
        start: float,
        growth: Growth,
        until: Callable[[], bool],
        deadline: float,
    ) -> str | None:
        """How the run ends now; None if it does not."""
        growth.look()
        now = time.monotonic()
        if process.poll() is not None:
            return EXITED
        if moment is None and until():
            return STOPPED
        if now > deadline or (moment is not None and moment.reached(now - start, growth.seen)):
            return KILLED
        return None


class Growth:
    """The bytes that come below a folder. What is removed meanwhile does not count against them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen = 0
        self._size = folder_size(folder)

    def look(self) -> None:
        size = folder_size(self.folder)
        self.seen += max(size - self._size, 0)
        self._size = size


def folder_size(folder: Path) -> int:
    """The size of all files below a folder, which others write and remove meanwhile."""
    size = 0
    for path, _, files in os.walk(folder):
        for file in files:
            with suppress(FileNotFoundError):
                size += os.stat(os.path.join(path, file)).st_size
    return size


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session, and all that it has started there: some make groups of their own."""
    while alive := session_members(process.pid):
        for pid in alive:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.poll()  # else it stays among them
        time.sleep(STEP / 10)
    process.wait()


def session_members(session: int) -> list[int]:
    """The processes of a session that still run."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                # Behind the name, which may hold anything: state, parent, group, session.
                state, _, _, leader = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(leader) == session and state not in "ZX":
                    members.append(int(entry.name))
    return members


def last_lines(stream: IO[bytes]) -> str:
    stream.seek(0)
    return "\n".join(stream.read().decode(errors="replace").splitlines()[-LAST_LINES:])
