"""What is handed from the planner to the readers. Small, and without open files: it travels."""

from __future__ import annotations

from dataclasses import dataclass, field

from gtidal.events.format import Format

SPLITTINGS = ("search", "walk")


@dataclass(frozen=True)
class Carried:
    """The bytes of a short piece."""

    head: bytes
    """Of the file: what tells how its events are read."""
    events: bytes
    """From the piece's beginning to its end."""


@dataclass(frozen=True)
class Piece:
    """A range of one log. Its transactions are those that begin in it, whole, wherever they end.

    Offsets are positions in the log. An offset at which the planner has not looked may be anywhere, and is ``searched``
    from: the range begins, or ends, with the first transaction that can be proven to begin behind it."""

    path: str
    """Or a URI."""
    name: str
    size: int
    """Of the file, when the read was planned; bytes that came later are not read."""
    cut: int | None = None
    """Where it begins; None: at the log's head."""
    searched: bool = False
    """Whether ``cut`` may be anywhere."""
    until: int | None = None
    """Where it ends; None: at the log's end."""
    step: int = 0
    """If the end is searched for: how far apart this log's cuts are. Where no transaction begins behind ``until``, the
    range goes on to the next cut behind which one does."""
    last: int | None = None
    """The cut behind which nobody reads any more; None: the log's end."""
    stop: int | None = None
    """The position at which the user wants to stop, whatever is there."""
    format: Format | None = None
    """In force at ``cut``; None: that of the log's head."""
    shown_from: int = 0
    """The position from which the user wants events, where the piece begins before it."""
    in_use: bool = False
    """Whether a server was still writing the file."""
    carried: Carried | None = field(default=None, repr=False)
    """Its bytes, where they travel with it: then nobody opens the file."""

    def following(self, cut: int, log_size: int) -> int | None:
        """The cut of this log behind another one; None: there is none."""
        if cut == self.last:
            return None
        end = self.last if self.last is not None else min(self.stop or log_size, log_size)
        return cut + self.step if cut + self.step < end else self.last

    @property
    def length(self) -> int:
        """About how many bytes it has."""
        ends = [end for end in (self.until, self.stop, self.size) if end is not None]
        return max(min(ends) - (self.cut or 0), 0)


@dataclass(frozen=True)
class Part:
    """What one task reads: a range of a large file, or several small files."""

    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        return sum(piece.length for piece in self.pieces)


@dataclass
class ReadPlan:
    """All parts of a read, and what is left out of them."""

    parts: list[Part]
    files: int
    """That the paths mean."""
    bytes_total: int
    bytes_planned: int
    pruned: list[str] = field(default_factory=list)
    """One sentence for each kind of pruning."""
