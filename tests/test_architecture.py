"""The rules of ARCHITECTURE.md, enforced: imports point down, the decoder touches no outside world."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "gtidal"

# From the bottom up. A part may import parts of lower rows, and itself; parts of one row do not know
# each other.
ROWS = (
    ("errors",),
    ("wire",),
    ("columns", "gtid"),
    ("events",),
    ("log",),
    ("columnar",),
    ("sources",),
    ("requests", "parallel"),
    ("live",),
    ("views", "planning", "archiving"),
    ("spark", "text"),
    ("cli",),
    ("__main__",),
)
LEVEL = {part: level for level, row in enumerate(ROWS) for part in row}

# Up to and including `log`: standard library only, no I/O, no clock, no logging.
PURE = {part for part, level in LEVEL.items() if level <= LEVEL["log"]}
OUTSIDE_LIBRARIES = {"log/codecs.py": {"zstandard", "cryptography"}}
IMPURE_MODULES = {
    *("asyncio", "concurrent", "ctypes", "multiprocessing", "select", "selectors", "signal", "subprocess"),
    *("fileinput", "fcntl", "glob", "mmap", "os", "pathlib", "shutil", "tempfile"),
    *("ftplib", "http", "smtplib", "socket", "socketserver", "ssl", "urllib"),
    *("locale", "logging", "random", "sched", "secrets", "time", "warnings"),
}
IMPURE_CALLS = {"breakpoint", "input", "open", "print"}
IMPURE_ATTRIBUTES = {
    *("io.open", "sys.stdin", "sys.stdout", "sys.stderr", "uuid.uuid1", "uuid.uuid4"),
    *("datetime.now", "datetime.today", "datetime.utcnow", "date.today"),
}

VAGUE_NAMES = {"common", "helper", "helpers", "misc", "util", "utils"}

MAX_LINES = 600
# Tables of data that a script has written may be longer.
GENERATED: frozenset[str] = frozenset()


def files() -> list[str]:
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def part_of(file: str) -> str | None:
    """The part that a file belongs to; None for the package's own `__init__.py`."""
    first = file.split("/")[0].removesuffix(".py")
    return None if first == "__init__" else first


def imports(tree: ast.Module, file: str) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported; relative imports made absolute."""
    package = ["gtidal", *file.split("/")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def direction_problems(file: str, text: str) -> list[str]:
    part = part_of(file)
    if part is None:
        return []
    if part not in LEVEL:
        return [f"{file}: {part} is not in the picture; say where it belongs in ROWS"]
    problems = []
    for line, name in imports(ast.parse(text), file):
        words = name.split(".")
        if words[0] != "gtidal":
            continue
        target = words[1] if len(words) > 1 else None
        if target is None and part == "cli":
            continue  # the public names
        if target not in LEVEL:
            problems.append(f"{file}:{line}: imports {name}: name the part it comes from")
        elif target != part and LEVEL[target] >= LEVEL[part]:
            problems.append(f"{file}:{line}: {part} must not import {target}")
    return problems


def purity_problems(file: str, text: str) -> list[str]:
    if part_of(file) not in PURE:
        return []
    tree = ast.parse(text)
    problems = []
    for line, name in imports(tree, file):
        top = name.split(".")[0]
        if top in IMPURE_MODULES or name in IMPURE_ATTRIBUTES:
            problems.append(f"{file}:{line}: imports {name}: no I/O, clock or logging here")
        elif top not in sys.stdlib_module_names | {"gtidal"} | OUTSIDE_LIBRARIES.get(file, set()):
            problems.append(f"{file}:{line}: imports {top}: standard library only here")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            problems.append(f"{file}:{node.lineno}: calls {node.func.id}()")
        elif isinstance(node, ast.Attribute):
            name = ".".join(ast.unparse(node).split(".")[-2:])
            if name in IMPURE_ATTRIBUTES:
                problems.append(f"{file}:{node.lineno}: uses {name}")
    return problems


def name_problems(file: str) -> list[str]:
    words = file.removesuffix(".py").replace("/", " ").replace("_", " ").split()
    return [f"{file}: a name that says nothing: {word}" for word in words if word in VAGUE_NAMES]


def length_problems(file: str, text: str) -> list[str]:
    lines = len(text.splitlines())
    if lines <= MAX_LINES or file in GENERATED:
        return []
    return [f"{file}: {lines} lines; over {MAX_LINES} it holds more than one thought"]


def problems(file: str, text: str) -> list[str]:
    return [
        *direction_problems(file, text),
        *purity_problems(file, text),
        *name_problems(file),
        *length_problems(file, text),
    ]


def test_there_is_something_to_check() -> None:
    assert files()


@pytest.mark.parametrize("file", files())
def test_file(file: str) -> None:
    assert problems(file, (SOURCE / file).read_text(encoding="utf-8")) == []


def test_generated_files_exist() -> None:
    assert set(files()) >= GENERATED


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("wire/words.py", "from gtidal.errors import GtidalError\nimport struct", []),
        ("wire/words.py", "from gtidal.events import Xid", ["wire/words.py:1: wire must not import events"]),
        ("wire/words.py", "from ..events import Xid", ["wire/words.py:1: wire must not import events"]),
        ("wire/words.py", "from .. import events", ["wire/words.py:1: wire must not import events"]),
        ("wire/words.py", "def f():\n  import gtidal.cli", ["wire/words.py:2: wire must not import cli"]),
        ("wire/words.py", "from .layout import Layout\nfrom . import layout", []),
        ("gtid/sets.py", "import gtidal.columns", ["gtid/sets.py:1: gtid must not import columns"]),
        ("cli/dump.py", "import gtidal.log, gtidal.text, os, typer\nprint(open('x'))", []),
        (
            "cli/dump.py",
            "from gtidal import GtidSet",
            ["cli/dump.py:1: imports gtidal.GtidSet: name the part it comes from"],
        ),
        ("stuff/x.py", "", ["stuff/x.py: stuff is not in the picture; say where it belongs in ROWS"]),
        (
            "log/decoder.py",
            "import zstandard",
            ["log/decoder.py:1: imports zstandard: standard library only here"],
        ),
        ("log/codecs.py", "import zlib, zstandard\nfrom cryptography.hazmat import x", []),
        (
            "log/codecs.py",
            "from time import monotonic",
            ["log/codecs.py:1: imports time.monotonic: no I/O, clock or logging here"],
        ),
        ("events/row.py", "print(1)", ["events/row.py:1: calls print()"]),
        (
            "events/row.py",
            "import datetime\ndatetime.datetime.now()",
            ["events/row.py:2: uses datetime.now"],
        ),
        ("events/row.py", "import sys\nsys.stderr.write('')", ["events/row.py:2: uses sys.stderr"]),
        ("wire/utils.py", "", ["wire/utils.py: a name that says nothing: utils"]),
        ("wire/text_helpers.py", "", ["wire/text_helpers.py: a name that says nothing: helpers"]),
        (
            "wire/words.py",
            "\n" * 601,
            ["wire/words.py: 601 lines; over 600 it holds more than one thought"],
        ),
        ("__init__.py", "from gtidal.cli import main", []),
    ],
)
def test_the_rules_notice(file: str, text: str, expected: list[str]) -> None:
    assert problems(file, text) == expected
