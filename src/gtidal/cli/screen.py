"""Lines of styled text: colours on a terminal, plain text in a pipe, cut or wrapped to the width."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

DEFAULT_WIDTH = 100
NARROWEST = 60

Part = tuple[str, str]
"""A text and its style (of rich); the empty style is plain."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """One line that is safe on a terminal: white space becomes a blank, control characters and bytes that
    are no text are escaped. What is printed comes from logs, and those from anyone."""
    return _UNPRINTABLE.sub(lambda found: _escape(found[0]), re.sub(r"[\t\n\r\v\f ]+", " ", text))


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` cells; what was cut shows as an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width, 1) - 1) + "…"


def wrap(text: str, width: int) -> Iterator[str]:
    """Lines of at most ``width`` cells, broken at blanks where there are any."""
    line = ""
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        while cell_len(candidate) > width:
            if line:
                yield line
                line, candidate = "", word
                continue
            head, taken = "", 0
            for character in candidate:
                taken += cell_len(character)
                if taken > width and head:
                    break
                head += character
            yield head
            candidate = candidate[len(head) :]
        line = candidate
    yield line


_CAN_FORCE_COLOURS = ("FORCE_COLOR", "TTY_COMPATIBLE")


class Screen:
    """Where a command writes its lines. What colours them is loaded only if there may be colours."""

    def __init__(self) -> None:
        self.coloured = False
        if sys.stdout.isatty() or any(map(os.environ.get, _CAN_FORCE_COLOURS)):
            from rich.console import Console

            self._console = Console(
                file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True
            )
            self.coloured = self._console.is_terminal and not self._console.no_color
        self.width = max(shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns, NARROWEST)

    def line(self, *parts: Part) -> None:
        if self.coloured:
            from rich.text import Text

            styled = Text.assemble(*((part, style) for part, style in parts if part))
            styled.rstrip()
            self._console.print(styled)
        else:
            sys.stdout.write("".join(part for part, _ in parts).rstrip() + "\n")
