"""Copies a server's logs, file after file, until it is stopped.

There is one way to begin: look at what the archive has, and ask the server for what follows. So a start, a restart after
a crash and a lost connection are the same thing. The last event that is here is asked for once more, and must come as
it is here: the server may have been set up anew, and have other logs under the same names.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Protocol

from gtidal.archiving.folder import Folder, GrowingFile
from gtidal.archiving.intake import Intake
from gtidal.archiving.uploading import Mirror
from gtidal.errors import ConnectionLost, LogsDiverged, LogsPurged, UsageError
from gtidal.events.format import MAGIC, FormatDescription
from gtidal.events.frame import HEADER_SIZE
from gtidal.events.mariadb import StartEncryption
from gtidal.log.decoder import FIRST_EVENT
from gtidal.log.facts import LogName
from gtidal.sources.archive import ArchivedFile, ArchivedServer, Manifest, State, time_text
from gtidal.sources.server.connection import Connection, Identity, Status
from gtidal.sources.server.dump import Dump
from gtidal.sources.server.logs import ServerLogs

OLDEST, NOW = "oldest", "now"
SYNC_EVERY = 5.0
"""Seconds. What came since may be lost in a power failure, and is then asked for again."""
SYNC_SIZE = 64 << 20
"""So much is brought to the disk at a time, so that there is little left to do when a file is closed."""
LOOK_EVERY = 0.25
PAUSES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Between attempts to connect again; the last one is repeated."""
FURTHEST = (1 << 32) - 1
"""Servers are asked for no position behind it."""


@dataclass(frozen=True)
class Options:
    """What is wanted."""

    start: str = OLDEST
    """Where an empty archive begins: ``oldest``, ``now`` (the file that the server is writing) or a file's name."""
    once: bool = False
    """To the end that the log has now, and no further."""
    allow_gap: bool = False
    """Go on if the server has purged what comes next."""
    upload_every: float = 60.0


@dataclass(frozen=True)
class Progress:
    """How far it has come."""

    file: str
    position: int
    size: int
    """Bytes that came in this run."""
    behind: float | None
    """Seconds between the last event and the server's clock; 0: all is here. None: not known."""


class Watch(Protocol):
    """Who looks on."""

    def progress(self, progress: Progress) -> None:
        """Called several times a second."""

    def say(self, text: str) -> None:
        """Something that should be known."""

    def stopped(self) -> bool:
        """Whether it is enough."""


@dataclass
class Summary:
    """What a run has done."""

    size: int = 0
    closed: int = 0
    file: str = ""
    position: int = 0


class Archiver:
    """One run, into a folder that is locked."""

    def __init__(
        self,
        logs: ServerLogs,
        folder: Folder,
        options: Options,
        watch: Watch,
        mirror: Mirror | None = None,
    ) -> None:
        self._logs = logs
        self._folder = folder
        self._options = options
        self._watch = watch
        self._mirror = mirror
        self._summary = Summary()
        self._file: GrowingFile | None = None
        self._intake = Intake("")
        self._target: Status | None = None
        self._clock = 0.0  # of the server, less ours
        self._synced_at = self._uploaded_at = time.monotonic()
        self._synced_size = 0
        self._attempts = 0

    @property
    def _manifest(self) -> Manifest:
        return self._folder.manifest

    def run(self) -> Summary:
        try:
            self._check_server(self._logs.identity)
            self._check_last_file()
            if self._options.once:
                self._target = self._logs.status()
            self._follow()
        finally:
            self._rest()
        if self._mirror is not None:
            self._mirror.finish(self._current())
        return self._summary

    def _follow(self) -> None:
        """Copy, and begin again when the connection is lost."""
        while True:
            try:
                while True:
                    self._begin()
                    self._copy()
                    if self._is_done():
                        return
            except ConnectionLost as lost:
                self._wait_after(lost)
                if self._watch.stopped():
                    return

    def _is_done(self) -> bool:
        if self._watch.stopped():
            return True
        last = self._manifest.last
        if self._target is None or last is None:
            return False
        if last.name == self._target.file:
            return self._file is not None and self._file.size >= self._target.position
        return _number(last.name) > _number(self._target.file)

    def _wait_after(self, lost: ConnectionLost) -> None:
        self._logs.close()
        if self._options.once and self._attempts >= len(PAUSES):
            raise lost
        pause = PAUSES[min(self._attempts, len(PAUSES) - 1)]
        self._attempts += 1
        self._watch.say(f"{lost}; trying again")
        until = time.monotonic() + pause
        while (left := until - time.monotonic()) > 0 and not self._watch.stopped():
            self._do_what_is_due()
            time.sleep(min(left, LOOK_EVERY))

    # --- which server, which file

    def _check_server(self, found: Identity) -> None:
        known = self._manifest.server
        if known is not None and known.uuid != found.uuid:
            raise LogsDiverged(
                f"{self._logs.host.title} is the server {found.uuid}; {self._folder.path} holds the logs of "
                f"{known.uuid}: give each server an archive of its own"
            )
        self._manifest.server = ArchivedServer(found.uuid, found.server_id, found.version)

    def _check_last_file(self) -> None:
        """Whether what the server has under the name of a closed file is that file."""
        last = self._manifest.last
        if last is None or last.state is not State.CLOSED:
            return
        if last.name not in dict(self._logs.files()):
            return
        with self._logs.stream(last.name, FIRST_EVENT + HEADER_SIZE) as stream:
            stream.seek(FIRST_EVENT)
            if int.from_bytes(stream.read(4), "little") != last.begun:
                raise self._reset(last.name)

    def _reset(self, name: str) -> LogsDiverged:
        return LogsDiverged(
            f"{self._logs.host.title} has another file of this name than the archive: its logs were reset; "
            "archive them into a new folder",
            file=name,
        )

    def _begin(self) -> None:
        """Have the file open that is copied next."""
        files = dict(self._logs.files())
        last = self._manifest.last
        if last is None:
            self._open(self._first_file(list(files)))
            return
        name = last.next_file
        if last.state is State.CURRENT:
            name = last.name
            self._open(name)
            ended = self._intake.contents.next_file
            if name not in files and ended is not None:
                # All of it was here when it was purged.
                self._close(State.CLOSED, ended)
                name = ended
        if name in files:
            self._open(name)
        else:
            self._open_behind_gap(name, list(files))

    def _first_file(self, files: list[str]) -> str:
        start = self._options.start
        if start == OLDEST:
            return files[0]
        if start == NOW:
            return files[-1]
        if start not in files:
            raise UsageError(
                f"{self._logs.host.title} has no file {start}: it has {files[0]} to {files[-1]}; or say {OLDEST} or {NOW}"
            )
        return start

    def _open_behind_gap(self, missing: str | None, files: list[str]) -> None:
        last = self._manifest.last
        assert last is not None
        oldest = files[0]
        if missing is not None and _number(oldest) < _number(missing):
            raise LogsDiverged(
                f"{self._logs.host.title} has {oldest} to {files[-1]} and no {missing}, with which the archive goes on: "
                "its logs were reset; archive them into a new folder",
                file=missing,
            )
        if not self._options.allow_gap:
            has = (
                f"has {last.name} up to position {self._file.size}"
                if self._file
                else f"ends with {last.name}"
            )
            raise LogsPurged(
                f"{self._logs.host.title} has purged it, its oldest file is {oldest}; the archive {has}. What is missing may "
                "be in a backup or on a replica; --allow-gap goes on with the oldest file",
                file=missing,
            )
        self._watch.say(f"a gap: {missing} and what follows it up to {oldest} was purged by the server")
        if self._file is not None:
            self._close(State.CUT, oldest)
        self._open(oldest, follows_gap=True)

    def _open(self, name: str, *, follows_gap: bool = False) -> None:
        if self._file is not None and self._file.path.name == name:
            self._intake.drop_rest()
            return
        last = self._manifest.last
        if last is None or last.name != name:
            self._folder.check_free(name)
            self._manifest.put(ArchivedFile(name, State.CURRENT, 0, 0, "", follows_gap=follows_gap))
            self._folder.save()
        self._file, self._intake = self._folder.open(name)

    def _close(self, state: State, next_file: str) -> None:
        """The file that was copied will not grow any more."""
        assert self._file is not None
        self._file.finish()
        self._file = None
        self._manifest.put(self._entry(state, next_file))
        self._folder.save()
        self._summary.closed += state is State.CLOSED
        if self._mirror is not None:
            self._mirror.push(None)

    def _entry(self, state: State, next_file: str | None = None) -> ArchivedFile:
        """What the manifest says of the file that is being copied."""
        last = self._manifest.last
        assert last is not None
        intake, contents = self._intake, self._intake.contents
        if intake.format is None:
            return last
        entry = replace(
            last,
            state=state,
            size=intake.position if self._file is None else self._file.size,
            begun=intake.begun,
            server_version=intake.format.server_version,
            previous_gtids=None if contents.previous is None else contents.previous.one_line(),
            next_file=next_file,
        )
        if state is State.CURRENT:
            return entry
        # Where the rest of a file is missing its last transaction may not be whole.
        gtids = contents.gtids if state is State.CLOSED else None
        return replace(
            entry,
            gtids=None if gtids is None else gtids.one_line(),
            anonymous_transactions=contents.anonymous,
            events=contents.events,
            first_time=time_text(contents.earliest),
            last_time=time_text(contents.latest),
            body=contents.body if intake.format.common_header_length == HEADER_SIZE else None,
            sha256=intake.sha256,
        )

    # --- bytes

    def _copy(self) -> None:
        """The open file and those behind it, until it is enough."""
        assert self._file is not None
        connection = self._logs.connect()
        try:
            self._check_server(connection.identity())
            self._clock = float(connection.query("SELECT UNIX_TIMESTAMP(NOW(6))")[0][0]) - time.time()
            dump, overlap = self._new_dump(connection)
            self._receive(dump, overlap)
            while dump.next_file is not None:
                name, _ = dump.next_file
                self._close(State.CLOSED, name)
                if self._is_done():
                    return
                self._open(name)
                dump.go_on()
                dump.until = dict(self._logs.files()).get(name)
                self._receive(dump)
        finally:
            connection.close()

    def _new_dump(self, connection: Connection) -> tuple[Dump, Overlap]:
        """From the last event on that is here, which comes once more."""
        assert self._file is not None
        intake, file, name = self._intake, self._file, self._file.path.name
        known, last = intake.position, intake.contents.last_position
        if intake.contents.last_type in (FormatDescription.code, StartEncryption.code):
            last = known  # these are sent whatever is asked for, and changed
        begin = max(last, FIRST_EVENT) if last <= FURTHEST else FIRST_EVENT
        there = dict(self._logs.files()).get(name, 0)
        if known > there:
            raise self._reset(name)
        dump = Dump(
            connection,
            name,
            begin,
            waits=not self._options.once,
            mariadb=self._logs.identity.mariadb,
        )
        dump.until = there
        assert dump.format is not None
        if intake.format is not None and not _same_head(dump.format, intake.format):
            raise self._reset(name)
        return dump, Overlap(file, begin, last, known)

    def _receive(self, dump: Dump, overlap: Overlap | None = None) -> None:
        """To the end of the open file, or until it is enough."""
        assert self._file is not None
        intake = self._intake
        overlap = overlap or Overlap(self._file)
        if not intake.position:
            intake.room()[: len(MAGIC)] = MAGIC
            intake.take(len(MAGIC))
        heard = time.monotonic()
        while not dump.ended and not self._watch.stopped() and (overlap.left or not self._is_done()):
            if dump.ready(LOOK_EVERY):
                room = intake.room()
                got = dump.arrived(room)
                heard = time.monotonic()
                known = overlap.pass_over(room[:got])
                if known is None:
                    raise self._reset(intake.name)
                if known:
                    room[: got - known] = bytes(room[known:got])
                self._add(intake.take(got - known))
            elif time.monotonic() - heard > dump.patience:
                raise ConnectionLost(
                    f"{self._logs.host.title} was silent for {dump.patience:.0f} seconds", file=intake.name
                )
            self._do_what_is_due(dump)
        if dump.ended and dump.next_file is None and not self._options.once:
            raise ConnectionLost(f"{self._logs.host.title} stopped sending", file=intake.name)

    def _add(self, whole: memoryview) -> None:
        assert self._file is not None
        self._file.add(whole)
        if len(whole):
            self._folder.save_index()
            self._attempts = 0
            self._summary.size += len(whole)
            self._summary.file, self._summary.position = self._file.path.name, self._file.size
        self._intake.check()

    # --- what is due from time to time

    def _do_what_is_due(self, dump: Dump | None = None) -> None:
        now = time.monotonic()
        if self._file is None:
            return
        if now - self._synced_at >= SYNC_EVERY or self._summary.size - self._synced_size >= SYNC_SIZE:
            self._file.sync_soon()
            self._synced_at, self._synced_size = now, self._summary.size
        if self._mirror is not None and now - self._uploaded_at >= self._options.upload_every:
            self._uploaded_at = now
            self._file.settle()
            self._manifest.put(self._entry(State.CURRENT))
            if problem := self._mirror.problem():
                self._watch.say(f"{problem}; it is kept in {self._folder.path}, trying again")
            self._mirror.push(self._current())
        self._watch.progress(
            Progress(self._file.path.name, self._file.size, self._summary.size, self._behind(dump))
        )

    def _behind(self, dump: Dump | None) -> float | None:
        if dump is None:
            return None
        if not dump.ready():
            return 0.0
        last = self._intake.contents.last_time
        return max(time.time() + self._clock - last, 0.0) if last else None

    def _current(self) -> tuple[str, int] | None:
        last = self._manifest.last
        return (last.name, last.size) if last is not None and last.state is State.CURRENT else None

    def _rest(self) -> None:
        """All that came is on the disk, and in the manifest."""
        if self._file is not None:
            self._file.sync()
            self._manifest.put(self._entry(State.CURRENT))
            self._folder.save()
            self._file.close()
            self._file = None


class Overlap:
    """What a dump sends that is here already. From ``compared`` on it must be the same."""

    def __init__(self, file: GrowingFile, begin: int = 0, compared: int = 0, end: int = 0) -> None:
        self._file = file
        self._at = begin
        self._compared = compared
        self._end = end

    @property
    def left(self) -> int:
        return max(self._end - self._at, 0)

    def pass_over(self, came: memoryview) -> int | None:
        """How many of these bytes are here; None: they are not the same."""
        count = min(self.left, len(came))
        first = max(self._compared - self._at, 0)
        if first < count and not self._file.same(self._at + first, came[first:count]):
            return None
        self._at += count
        return count


def _same_head(theirs: FormatDescription, ours: FormatDescription) -> bool:
    # When a dump begins inside of a file, other fields are changed on the way.
    return (theirs.header.timestamp, theirs.server_version) == (ours.header.timestamp, ours.server_version)


def _number(name: str) -> int:
    return LogName.parse(name).number or 0
