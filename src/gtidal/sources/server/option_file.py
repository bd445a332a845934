"""Option files: the my.cnf of MySQL's and MariaDB's own tools."""

from __future__ import annotations

import re
from pathlib import Path

from gtidal.errors import UsageError

GROUPS = ("client", "gtidal")
"""Those that are read; of an option that stands there twice, the last counts."""
_GROUP = re.compile(r"\[([^\]]*)\]")
_BEFORE_COMMENT = re.compile(r"""(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|'(?:[^'\\]|\\.)*(?:'|\\?$)|[^#"'])*""")
"""Quotes protect a number sign, also where they do not end."""
_ESCAPE = re.compile(r"\\([btnrs\\\"'])")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " "}


def read_option_file(name: str) -> dict[str, str]:
    """The options for clients, with ``-`` in their names. One without a value has an empty one."""
    path = Path(name).expanduser()
    try:
        text = path.read_bytes().decode("utf-8-sig", "surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read the option file {path}: {error.strerror}") from None
    options: dict[str, str] = {}
    group = ""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if line.startswith("!"):
            raise UsageError(f"the option file {path}, line {number}: {line.split()[0]} is not followed here")
        if found := _GROUP.match(line):
            group = found[1]
        elif line and line[0] not in "#;" and group in GROUPS:
            option, _, value = line.partition("=")
            options[_without_comment(option).replace("_", "-")] = _value(value)
    return options


def _value(text: str) -> str:
    text = _without_comment(text)
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)


def _without_comment(text: str) -> str:
    found = _BEFORE_COMMENT.match(text)
    return found[0].strip() if found else ""
