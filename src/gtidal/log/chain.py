"""The files of one log: what each says of itself, whether one follows the other, and where to start.

A file ends in a ROTATE that names the next one, in a STOP (the server was shut down), or in nothing: it is
in use, or the server crashed. The next number follows in each case, and PREVIOUS_GTIDS is the judge: the
GTIDs before a file are those before the last one and those in it. Numbers restart at 1 after RESET BINARY
LOGS AND GTIDS, and grow a digit after 999999.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gtidal.errors import ChainBroken, UsageError
from gtidal.gtid.mariadb import MariadbGtid, MariadbGtidSet
from gtidal.gtid.mysql import GtidSet
from gtidal.log.facts import AnyGtidSet, Ending, FileFacts, LogName
from gtidal.log.findings import Finding, Kind, Severity


def _subtract(left: AnyGtidSet | None, right: AnyGtidSet | None) -> AnyGtidSet | None:
    """None where the two cannot be compared."""
    if isinstance(left, GtidSet) and isinstance(right, GtidSet):
        return left - right
    if isinstance(left, MariadbGtidSet) and isinstance(right, MariadbGtidSet):
        return left - right
    return None


def _size(gtids: AnyGtidSet | None) -> int:
    if isinstance(gtids, GtidSet):
        return gtids.count
    return len(gtids) if gtids is not None else 0


# --- one file after another


def next_in_chain(this: FileFacts, others: Sequence[FileFacts], indexed: bool = False) -> FileFacts | None:
    """Which of the other files (of which the heads are known) comes after this one, all of which was read.

    The one that its ROTATE names; else, where the order of ``others`` is an index's, the first of them; else
    the next number, or where there is none and numbering restarted, the file before which nothing was."""
    named = [other for other in others if _is_named(this, other)]
    if named:
        return named[0]
    if indexed:
        return others[0] if others else None
    mine = this.log_name
    numbered = [(other.log_name, other) for other in others]
    higher = [
        (name.number, other) for name, other in numbered if name.base == mine.base and _above(name, mine)
    ]
    if higher:
        return min(higher, key=lambda pair: pair[0] or 0)[1]
    fresh = [
        other
        for name, other in numbered
        if name.base == mine.base and name.number == 1 and not other.previous
    ]
    return fresh[0] if fresh else None


def _above(name: LogName, other: LogName) -> bool:
    return name.number is not None and other.number is not None and name.number > other.number


def judge_link(this: FileFacts, following: FileFacts | None) -> Iterator[Finding]:
    """What the end of a file and the head of the one behind it say of each other. None: it is the last."""
    if following is None:
        yield from _judge_last(this)
        return
    restarted = False
    for finding in _judge_names(this, following):
        restarted = restarted or finding.severity is Severity.NOTE
        yield finding
    agrees: bool | None = None
    if not restarted:
        findings = list(_judge_gtids(this, following))
        agrees = None if _subtract(this.state, following.previous) is None else not findings
        yield from findings
    if this.ending in (Ending.OPEN, Ending.PARTIAL):
        yield _judge_crash(this, following, agrees)


def _judge_last(this: FileFacts) -> Iterator[Finding]:
    unfinished = f"; transaction {this.open_gtid} is not whole" if this.open_gtid else ""
    if this.ending is Ending.PARTIAL:
        size = None if this.stopped_at is None else this.size - this.stopped_at
        if this.in_use:
            message = "the last event is not written to its end: the file is in use, or the server crashed"
            yield _at_end(this, Kind.PARTIAL, message + unfinished, Severity.NOTE, size)
        else:
            message = "the file was closed, and ends inside an event: it was cut"
            yield _at_end(this, Kind.PARTIAL, message + unfinished, Severity.PROBLEM, size)
    elif this.ending is Ending.OPEN:
        message = "no ROTATE or STOP ends it: "
        if this.in_use:
            yield _at_end(this, Kind.ENDING, f"{message}in use, or the server crashed{unfinished}")
        else:
            message += "recovered after a crash, copied while it grew, or cut between two events"
            severity = Severity.PROBLEM if this.open_gtid and not this.relay else Severity.NOTE
            yield _at_end(this, Kind.ENDING, message + unfinished, severity)


def _at_end(
    this: FileFacts, kind: Kind, message: str, severity: Severity = Severity.NOTE, size: int | None = None
) -> Finding:
    return Finding(kind, message, this.name, severity, this.stopped_at, size)


def _judge_names(this: FileFacts, following: FileFacts) -> Iterator[Finding]:
    mine, theirs = this.log_name, following.log_name
    if _is_named(this, following):
        return
    if this.state and following.previous is not None and not following.previous:
        message = f"a history of its own begins behind {this.name} (RESET BINARY LOGS AND GTIDS)"
        yield Finding(Kind.CHAIN, message, following.name, Severity.NOTE)
        return
    if mine.base != theirs.base or mine.number is None or theirs.number is None:
        if this.next_file is not None:
            message = f"the next file is {this.next_file}, and {following.name} follows"
            yield Finding(Kind.CHAIN, message, this.name)
        return
    expected = mine.number + 1
    if theirs.number <= mine.number:
        if following.previous:
            message = f"{following.name} follows {this.name} and is not its successor"
            yield Finding(Kind.CHAIN, message, following.name)
        else:
            message = f"numbering restarted behind {this.name} (RESET BINARY LOGS): another history begins"
            yield Finding(Kind.CHAIN, message, following.name, Severity.NOTE)
    elif theirs.number > expected:
        first, last = mine.at(expected), mine.at(theirs.number - 1)
        count = theirs.number - expected
        which = first if count == 1 else f"{first} to {last}"
        files = "1 file is" if count == 1 else f"{count} files are"
        yield Finding(Kind.CHAIN, f"{files} missing behind it: {which}", this.name)
    elif this.next_file is not None:
        message = f"the next file is {this.next_file}, and {following.name} follows"
        yield Finding(Kind.CHAIN, message, this.name)


def _is_named(this: FileFacts, following: FileFacts) -> bool:
    """Whether the ROTATE names that file; if the files were given another base name, its number."""
    if this.next_file is None:
        return False
    named, theirs = LogName.parse(this.next_file), following.log_name
    renamed = named.base != this.log_name.base
    return named == theirs or (renamed and named.number is not None and named.number == theirs.number)


def _judge_gtids(this: FileFacts, following: FileFacts) -> Iterator[Finding]:
    """PREVIOUS_GTIDS must be what was before this file and what is in it."""
    severity = Severity.NOTE if this.relay else Severity.PROBLEM
    missing = _subtract(following.previous, this.state)
    surplus = _subtract(this.state, following.previous)
    if surplus:
        message = f"{shorten(surplus)} is in {this.name} or before it, but by {following.name} it is not: "
        if (following.first_timestamp or 0) < (this.first_timestamp or 0):
            message += "that file is older, left over from before numbering restarted"
        else:
            message += "that file does not follow this one"
        yield Finding(Kind.GTID, message, following.name, severity)
    if missing:
        message = f"{shorten(missing)} is before {following.name}, but in no file up to {this.name}: "
        message += "lost, or set as purged (gtid_purged) and never in these files"
        yield Finding(Kind.GTID, message, following.name, severity)


def _judge_crash(this: FileFacts, following: FileFacts, agrees: bool | None) -> Finding:
    """No end, and a file behind it. That is a crash, if a server's first file follows."""
    mine, theirs = this.log_name.number, following.log_name.number
    adjoining = mine is not None and theirs == mine + 1
    if adjoining and not following.created and not this.relay and following.binlog_version >= 4:
        message = (
            f"cut: {following.name} was begun by a running server, which ends the file before with a ROTATE"
        )
        return _at_end(this, Kind.ENDING, message, Severity.PROBLEM)
    severity = Severity.NOTE
    message = "not closed: the server crashed"
    if this.ending is Ending.PARTIAL:
        message += " while it wrote the last event"
    if this.open_gtid:
        message += f"; transaction {this.open_gtid} is not whole"
    if agrees:
        message += f"; {following.name} knows of nothing that is missing"
    elif agrees is None and (this.ending is Ending.PARTIAL or this.open_gtid):
        message += "; no GTIDs tell whether that transaction was committed"
    size = None if this.stopped_at is None else this.size - this.stopped_at
    return _at_end(this, Kind.ENDING, message, severity, size)


def shorten(gtids: AnyGtidSet, width: int = 120) -> str:
    """A set for a sentence: all of it, or its beginning and how much there is."""
    text = gtids.one_line()
    if len(text) <= width:
        return text
    return f"{text[:width]}… ({_size(gtids):,} in all)"


# --- where to start


def find_start(heads: Iterable[tuple[str, AnyGtidSet | None]], already_had: AnyGtidSet) -> str:
    """The file in which to start for a reader that has a set of GTIDs, as a source does for its replicas.

    ``heads`` are names and PREVIOUS_GTIDS (MariaDB: GTID_LIST; None where a file has none), the *newest
    first*: no more of them are taken than needed. The file is the newest before which there is nothing that
    the reader lacks. ``ChainBroken`` says what was purged."""
    oldest: tuple[str, AnyGtidSet] | None = None
    for name, previous in heads:
        if previous is None:
            continue
        _check_flavour(name, previous, already_had)
        oldest = name, previous
        if not _lacking(previous, already_had):
            return name
    if oldest is None:
        raise ChainBroken("these files hold no GTIDs (no PREVIOUS_GTIDS, no GTID_LIST): start by position")
    name, previous = oldest
    lacking = _lacking(previous, already_had)
    assert lacking is not None
    raise ChainBroken(f"purged: {shorten(lacking)} was before {name}, the oldest file, and is not in the set")


def _check_flavour(name: str, previous: AnyGtidSet, already_had: AnyGtidSet) -> None:
    if previous and already_had and type(previous) is not type(already_had):
        mine, theirs = ("MySQL", "MariaDB") if isinstance(already_had, GtidSet) else ("MariaDB", "MySQL")
        raise UsageError(f"the set is {mine}'s, and the log {name} is {theirs}'s")


def _lacking(previous: AnyGtidSet, already_had: AnyGtidSet) -> AnyGtidSet | None:
    """What is before a file and the reader does not have."""
    if isinstance(previous, GtidSet):
        return previous - already_had if isinstance(already_had, GtidSet) else previous
    had = already_had.positions() if isinstance(already_had, MariadbGtidSet) else MariadbGtidSet()
    return MariadbGtidSet.of(_before_position(list(previous), {gtid.domain: gtid for gtid in had}))


def _before_position(listed: list[MariadbGtid], had: dict[int, MariadbGtid]) -> Iterator[MariadbGtid]:
    """MariaDB's rule (sql_repl.cc, contains_all_slave_gtid). A position is one GTID for each domain. It is in
    this file or a later one, unless the list has that server at the same number or beyond; if it is just the
    domain's last one, everything behind it is in this file."""
    for index, gtid in enumerate(listed):
        position = had.get(gtid.domain)
        if position is None:
            yield gtid
        elif position.server == gtid.server and position.sequence <= gtid.sequence:
            is_last = index + 1 == len(listed) or listed[index + 1].domain != gtid.domain
            if position.sequence < gtid.sequence or not is_last:
                yield gtid
