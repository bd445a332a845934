"""The statements of an SQL script, as tokens: what the mysql client and the servers agree a script is.

Comments are dropped, and the content of version comments (``/*!50100 … */``, ``/*M!100301 … */``) is kept, as
a server does. ``DELIMITER`` is obeyed, since dumps use it around triggers. A statement whose first word nobody
asked for is passed over without making tokens of it: full dumps hold gigabytes of INSERT.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gtidal.errors import UsageError

WORD, NAME, STRING, BYTES, SYMBOL, END = "word", "name", "string", "bytes", "symbol", "end"
"""An unquoted word or number; a name in backquotes or double quotes (which are strings where a string is
wanted); a string; a number in hex or bits; anything else, one character; the end of the statement."""


class Token(NamedTuple):
    kind: str
    text: str
    line: int
    quoted_twice: bool = False
    """Written in double quotes: a string, or a name under ANSI_QUOTES. The place tells."""

    @property
    def upper(self) -> str:
        """The keyword this token may be; empty for anything quoted."""
        return self.text.upper() if self.kind in (WORD, SYMBOL) else ""

    @property
    def shown(self) -> str:
        return "the end of the statement" if self.kind == END else repr(self.text)


_QUOTED = r"""'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'|"[^"\\]*(?:(?:\\.|"")[^"\\]*)*"|`[^`]*(?:``[^`]*)*`"""
# A comment after -- needs a space behind it. MariaDB's dumps begin with a version comment of version 999999,
# which no server reads.
_COMMENT = r"--(?=[\x00-\x20]|$)[^\n]*|\#[^\n]*|/\*M?!999999.*?\*/|/\*(?!!|M!).*?\*/"
_TOKEN = re.compile(
    rf"""(?P<space>\s+|{_COMMENT})
    |(?P<open>/\*M?!\d*)
    |(?P<close>\*/)
    |(?P<hex>0x[0-9A-Fa-f]+(?![0-9A-Za-z_$])|[xX]'[0-9A-Fa-f]*')
    |(?P<bits>0b[01]+(?![0-9A-Za-z_$])|[bB]'[01]*')
    |(?P<quoted>[nN](?=')(?:{_QUOTED})|{_QUOTED})
    |(?P<word>[0-9A-Za-z_$\u0080-\U0010ffff]+)
    |(?P<symbol>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)|''|\"\"", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def unescape(text: str, quote: str) -> str:
    """The content of a string in quotes: doubled quotes and backslashes resolved."""

    def plain(found: re.Match[str]) -> str:
        after = found[1]
        if after is not None:
            return _ESCAPED.get(after, after)
        return quote if found[0][0] == quote else found[0]

    return _ESCAPE.sub(plain, text) if "\\" in text or quote in text else text


class Statement:
    """One statement's tokens, and where in them the parser is."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0

    @property
    def line(self) -> int:
        return self.peek().line

    def peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.peek()
        self._next += 1
        return token

    def accept(self, *words: str) -> bool:
        """Take these keywords or symbols if they are next, all of them or none."""
        if any(self.peek(ahead).upper != word for ahead, word in enumerate(words)):
            return False
        self._next += len(words)
        return True

    def accept_any(self, *words: str) -> str:
        """Take one of these, if it is next; empty if none is."""
        return self.take().upper if self.peek().upper in words else ""

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.problem(f"{' '.join(words)} is expected, and {self.peek().shown} is there")

    def name(self) -> str:
        token = self.peek()
        if token.kind not in (WORD, NAME) or not token.text:
            raise self.problem(f"a name is expected, and {token.shown} is there")
        return self.take().text

    def number(self) -> int:
        token = self.peek()
        if token.kind != WORD or not (token.text.isascii() and token.text.isdigit()) or len(token.text) > 18:
            raise self.problem(f"a number is expected, and {token.shown} is there")
        return int(self.take().text)

    def skip_one(self) -> None:
        """Pass over one token, or over all that is between parentheses."""
        token = self.take()
        if token.upper != "(":
            return
        depth = 1
        while depth:
            inner = self.take()
            if inner.kind == END:
                raise UsageError(f"line {token.line}: a parenthesis that does not end")
            depth += (inner.upper == "(") - (inner.upper == ")")

    def at_end(self) -> bool:
        return self.peek().kind == END

    def problem(self, message: str) -> UsageError:
        return UsageError(f"line {self.line}: {message}")


class _Script:
    def __init__(self, text: str, delimiter: str) -> None:
        self.text = text
        self.pos = 0
        self.line = 1
        self.counted = 0
        self.delimiter = delimiter
        self.in_version_comment = False

    def line_at(self, pos: int) -> int:
        self.line += self.text.count("\n", self.counted, pos)
        self.counted = pos
        return self.line

    def next(self) -> Token | None:
        """The next token; None at the delimiter and at the end of the script."""
        text = self.text
        while self.pos < len(text):
            pos = self.pos
            if text.startswith(self.delimiter, pos):
                self.pos += len(self.delimiter)
                return None
            found = _TOKEN.match(text, pos)
            assert found is not None  # the last alternative takes any character
            self.pos = found.end()
            kind, part = found.lastgroup, found[0]
            if kind == "open":
                self.in_version_comment = True
            elif kind == "close" and self.in_version_comment:
                self.in_version_comment = False
            elif kind not in ("space", "close"):
                return self._token(kind or "", part, self.line_at(pos))
            elif kind == "close":
                self.pos = pos + 1
                return Token(SYMBOL, "*", self.line_at(pos))
        return None

    def _token(self, kind: str, part: str, line: int) -> Token:
        if kind == "word":
            return Token(WORD, part, line)
        if kind == "quoted":
            if part[0] == "`":
                return Token(NAME, part[1:-1].replace("``", "`"), line)
            if part[0] == '"':
                return Token(NAME, unescape(part[1:-1], '"'), line, True)
            return Token(STRING, unescape(part[part.index("'") + 1 : -1], "'"), line)
        if kind == "hex":
            digits = part[2:].rstrip("'")
            return Token(BYTES, bytes.fromhex(digits.zfill(len(digits) + 1 & ~1)).decode("latin-1"), line)
        if kind == "bits":
            digits = part[2:].rstrip("'")
            size = (len(digits) + 7) // 8
            return Token(BYTES, int(digits or "0", 2).to_bytes(size, "big").decode("latin-1"), line)
        if part in "'\"`":
            raise UsageError(f"line {line}: a quotation that does not end")
        return Token(SYMBOL, part, line)

    def pass_over(self) -> None:
        """To behind the next delimiter, minding only what may hide one."""
        first = re.escape(self.delimiter[0])
        step = re.compile(rf"[^'\"`#/\-{first}]+|{_QUOTED}|{_COMMENT}", re.DOTALL)
        text, delimiter = self.text, self.delimiter
        while self.pos < len(text):
            if text.startswith(delimiter, self.pos):
                self.pos += len(delimiter)
                break
            found = step.match(text, self.pos)
            self.pos = found.end() if found else self.pos + 1
        self.in_version_comment = False

    def rest_of_line(self) -> str:
        end = self.text.find("\n", self.pos)
        end = len(self.text) if end < 0 else end
        rest = self.text[self.pos : end]
        self.pos = end
        return rest.strip()


def statements(text: str, first_words: Collection[str], delimiter: str = ";") -> Iterator[Statement]:
    """The statements of a script that begin with one of these keywords."""
    script = _Script(text, delimiter)
    while script.pos < len(text):
        token = script.next()
        if token is None:
            continue
        if token.upper == "DELIMITER":
            script.delimiter = script.rest_of_line() or ";"
        elif token.upper not in first_words:
            script.pass_over()
        else:
            tokens = [token]
            while (token := script.next()) is not None:
                tokens.append(token)
            tokens.append(Token(END, "", script.line_at(script.pos)))
            script.in_version_comment = False
            yield Statement(tokens)
