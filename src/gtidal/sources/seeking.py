"""What all streams of logs have in common."""

from __future__ import annotations

import io


class SeekingStream(io.RawIOBase):
    """A stream whose place is a number, ``_at``: whoever reads looks there, and moves it."""

    searchable = True
    """Whether any position may be read from, and not only those where events begin."""

    def __init__(self, at: int = 0) -> None:
        super().__init__()
        self._at = at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._at
        elif whence == io.SEEK_END:
            offset += self._end()
        self._at = max(offset, 0)
        return self._at

    def _end(self) -> int:
        raise io.UnsupportedOperation("the end of a log of which not all is here")
