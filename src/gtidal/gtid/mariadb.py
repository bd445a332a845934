"""MariaDB's GTIDs: ``domain-server-sequence``, and lists of them.

A list is a *position* in each replication domain, not a set of ranges: ``0-1-100`` stands for everything
of domain 0 up to there. @@gtid_slave_pos has one GTID for each domain; @@gtid_binlog_state and the
GTID_LIST event have one for each domain and server, the most recent of a domain last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, Self

from gtidal.errors import UsageError
from gtidal.gtid.mysql import GtidSet
from gtidal.gtid.text import BLANK, SEPARATORS, shown, skip

FORM = "0-1-100,1-2-5 (domain-server-sequence)"

_ITEM = re.compile(r"([0-9]{1,20})\s*+-\s*+([0-9]{1,20})\s*+-\s*+([0-9]{1,20})(?![0-9a-fA-F-])", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class MariadbGtid:
    """One transaction (MariaDB: event group)."""

    domain: int
    server: int
    sequence: int

    @classmethod
    def parse(cls, text: str) -> Self:
        found = _parse(text)
        if len(found) != 1:
            raise UsageError(f"not a single MariaDB GTID: {shown(text, 0)}; the form is 0-1-100")
        return cls(*found[0])

    def __str__(self) -> str:
        return f"{self.domain}-{self.server}-{self.sequence}"


class MariadbGtidSet:
    """An immutable list of positions, at most one for each domain and server (the highest given).

    Within a domain the order is kept: the last is the most recent. Equality does not look at it.
    """

    __slots__ = ("_state",)

    _state: dict[tuple[int, int], int]

    def __init__(self, text: str = "") -> None:
        self._fill(MariadbGtid(*parts) for parts in _parse(text))

    @classmethod
    def of(cls, gtids: Iterable[MariadbGtid]) -> Self:
        """From GTIDs in the order of a GTID_LIST."""
        made = object.__new__(cls)
        made._fill(gtids)
        return made

    def _fill(self, gtids: Iterable[MariadbGtid]) -> None:
        builder = MariadbGtidSetBuilder()
        for gtid in gtids:
            builder.add(gtid.domain, gtid.server, gtid.sequence)
        state = builder._state
        object.__setattr__(self, "_state", {key: state[key] for key in sorted(state, key=_domain)})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a MariadbGtidSet does not change: cannot set {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (list(self),)

    def __iter__(self) -> Iterator[MariadbGtid]:
        """Domains ascending; within one, the most recent last."""
        for (domain, server), sequence in self._state.items():
            yield MariadbGtid(domain, server, sequence)

    def __len__(self) -> int:
        return len(self._state)

    def __contains__(self, gtid: MariadbGtid | str) -> bool:
        """Whether this server's own position in the domain has reached it."""
        if isinstance(gtid, str):
            gtid = MariadbGtid.parse(gtid)
        return self._state.get((gtid.domain, gtid.server), -1) >= gtid.sequence

    def covers(self, gtid: MariadbGtid) -> bool:
        """Whether a replica at this position has passed it: the domain's highest sequence number is not
        below, whichever server wrote it (the rule of MASTER_GTID_WAIT)."""
        return any(g.domain == gtid.domain and g.sequence >= gtid.sequence for g in self)

    def positions(self) -> Self:
        """The most recent of each domain: @@gtid_binlog_pos of a @@gtid_binlog_state."""
        return self.of({gtid.domain: gtid for gtid in self}.values())

    def __or__(self, other: MariadbGtidSet) -> Self:
        """The higher of each domain and server. A domain that both know is ordered by sequence number."""
        if not isinstance(other, MariadbGtidSet):
            return NotImplemented
        shared = {gtid.domain for gtid in self} & {gtid.domain for gtid in other}
        both = [*self, *other]
        alone = [gtid for gtid in both if gtid.domain not in shared]
        mixed = sorted((gtid for gtid in both if gtid.domain in shared), key=lambda g: (g.sequence, g.server))
        return self.of(alone + mixed)

    def __and__(self, other: MariadbGtidSet) -> Self:
        """The lower of each domain and server that both have: what both have passed."""
        if not isinstance(other, MariadbGtidSet):
            return NotImplemented
        theirs = other._state
        return self.of(
            MariadbGtid(domain, server, min(sequence, theirs[domain, server]))
            for (domain, server), sequence in self._state.items()
            if (domain, server) in theirs
        )

    def __sub__(self, other: MariadbGtidSet) -> Self:
        """The positions that the other has not reached. They stay positions: 0-1-9 less 0-1-5 is 0-1-9."""
        if not isinstance(other, MariadbGtidSet):
            return NotImplemented
        return self.of(gtid for gtid in self if gtid not in other)

    def __le__(self, other: MariadbGtidSet) -> bool:
        return all(gtid in other for gtid in self) if isinstance(other, MariadbGtidSet) else NotImplemented

    def __ge__(self, other: MariadbGtidSet) -> bool:
        return other.__le__(self) if isinstance(other, MariadbGtidSet) else NotImplemented

    def __lt__(self, other: MariadbGtidSet) -> bool:
        return self != other and self <= other if isinstance(other, MariadbGtidSet) else NotImplemented

    def __gt__(self, other: MariadbGtidSet) -> bool:
        return other.__lt__(self) if isinstance(other, MariadbGtidSet) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self._state == other._state if isinstance(other, MariadbGtidSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._state.items()))

    def __str__(self) -> str:
        """As MariaDB prints it: commas, no spaces."""
        return ",".join(map(str, self))

    one_line = __str__

    def __repr__(self) -> str:
        return f"MariadbGtidSet({str(self)!r})"


class MariadbGtidSetBuilder:
    """Follows a log: each GTID becomes the most recent of its domain."""

    def __init__(self, start: MariadbGtidSet | None = None) -> None:
        self._state: dict[tuple[int, int], int] = {} if start is None else dict(start._state)

    def add(self, domain: int, server: int, sequence: int) -> bool:
        """Whether it moves its server's position forward."""
        before = self._state.pop((domain, server), -1)
        self._state[domain, server] = max(before, sequence)
        return sequence > before

    def build(self) -> MariadbGtidSet:
        return MariadbGtidSet.of(MariadbGtid(*key, sequence) for key, sequence in self._state.items())


def parse_gtid_set(text: str) -> GtidSet | MariadbGtidSet:
    """A GTID set of either flavour, told apart by its first item; nothing at all is an empty GtidSet."""
    if _ITEM.match(text, skip(SEPARATORS, text, 0)):
        return MariadbGtidSet(text)
    try:
        return GtidSet(text)
    except UsageError as error:
        if ":" in text:
            raise
        raise UsageError(f"{error.message}, or MariaDB's {FORM}") from None


def _domain(key: tuple[int, int]) -> int:
    return key[0]


def _parse(text: str) -> list[tuple[int, int, int]]:
    found = []
    pos = skip(SEPARATORS, text, 0)
    while pos < len(text):
        match = _ITEM.match(text, pos)
        if match is None:
            _fail(text, pos, "domain-server-sequence")
        domain, server, sequence = map(int, match.groups())
        if domain >> 32 or server >> 32 or sequence >> 64:
            _fail(text, pos, "a domain and server below 2^32 and a sequence number below 2^64")
        found.append((domain, server, sequence))
        pos = skip(BLANK, text, match.end())
        if pos < len(text) and text[pos] != ",":
            _fail(text, pos, "a comma")
        pos = skip(SEPARATORS, text, pos)
    return found


def _fail(text: str, pos: int, expected: str) -> NoReturn:
    raise UsageError(
        f"malformed MariaDB GTID list: expected {expected} at character {pos + 1}, found {shown(text, pos)}; "
        f"the form is {FORM}"
    )
