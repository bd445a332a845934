"""The kernel: the loops that touch every byte. Each module is one source, run by Python or compiled by Cython.

Its rules:

1. Flat buffers in, flat buffers out; integers otherwise. No objects, no allocation, no I/O, no exceptions:
   return codes.
2. Types stand in the ``.pxd`` beside a module, where every function is ``noexcept nogil``: if it compiles, it is
   typed, and it holds no lock.
3. Every wrap-around is written down: mask it; widen a byte before shifting it; extend a sign with
   ``(v ^ s) - s``. Only numbers that are not negative are divided.
4. Before ``n`` bytes are touched, ``n > end - pos`` is asked. Outputs have a capacity, which is asked too.
5. The kernel knows shapes, never MySQL's types, charsets, time zones or Arrow.
6. What the kernel cannot do it says with a code, and the reference decoder does it.

Callers write ``kernel.cells.fill(…)``, never ``from … import fill``: then ``use("interpreted")`` reaches them.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

Implementation = Literal["compiled", "interpreted"]

FOLDER = Path(__file__).parent
NOT_COMPILED = ("machine", "without_cython")
"""The first is compiled into its callers; the second is what they have without Cython."""
NAMES = tuple(sorted({path.stem for path in FOLDER.glob("*.py")} - {"__init__", *NOT_COMPILED}))
"""The modules of the kernel that are compiled."""


class InterpretedKernelWarning(RuntimeWarning):
    """The kernel is run by Python: everything is right, and some hundred times slower."""


def is_compiled(module: ModuleType) -> bool:
    return (module.__file__ or "").endswith(tuple(EXTENSION_SUFFIXES))


def load_interpreted(name: str) -> ModuleType:
    """A module from its source, compiled or not. It calls others from their sources, too."""
    if not _interpreted:
        _interpreted.update(_load_sources())
    return _interpreted[name]


def _load_sources() -> dict[str, ModuleType]:
    """All modules from their sources; what is imported already stays as it is."""
    here = globals()
    before = {name: (sys.modules.get(f"{__name__}.{name}"), here.get(name)) for name in NAMES}
    made = {}
    try:
        for name in NAMES:
            full_name = f"{__name__}.{name}"
            spec = spec_from_loader(full_name, SourceFileLoader(full_name, str(FOLDER / f"{name}.py")))
            assert spec is not None
            made[name] = here[name] = sys.modules[full_name] = module_from_spec(spec)
        for module in made.values():  # by now they find each other
            assert module.__spec__ is not None
            assert module.__spec__.loader is not None
            module.__spec__.loader.exec_module(module)
    finally:
        for name, (imported, attribute) in before.items():
            _put_back(sys.modules, f"{__name__}.{name}", imported)
            _put_back(here, name, attribute)
    return made


def _put_back(names: dict[str, Any], name: str, value: ModuleType | None) -> None:
    if value is None:
        names.pop(name, None)
    else:
        names[name] = value


def _load() -> dict[str, ModuleType]:
    if os.environ.get("GTIDAL_KERNEL") != "interpreted":
        return {name: import_module(f"{__name__}.{name}") for name in NAMES}
    modules = _load_sources()
    sys.modules.update({module.__name__: module for module in modules.values()})
    return modules


_loaded = _load()
_interpreted: dict[str, ModuleType] = {}
_announced = False

IMPLEMENTATION: Implementation

if TYPE_CHECKING:

    def __getattr__(name: str) -> ModuleType: ...


def _install(modules: dict[str, ModuleType]) -> None:
    """Make these the modules that ``kernel.x`` finds."""
    global IMPLEMENTATION
    globals().update(modules)
    IMPLEMENTATION = "compiled" if all(map(is_compiled, modules.values())) else "interpreted"


_install(_loaded)


@contextmanager
def use(implementation: Implementation) -> Iterator[None]:
    """Within the context the whole process uses this implementation. For tests; "compiled" must be there."""
    if implementation == "interpreted":
        chosen = {name: load_interpreted(name) for name in NAMES}
    elif interpreted_modules():
        raise RuntimeError(f"the kernel is not compiled: {', '.join(interpreted_modules())}")
    else:
        chosen = _loaded
    before = {name: globals()[name] for name in NAMES}
    _install(chosen)
    try:
        yield
    finally:
        _install(before)


def interpreted_modules() -> list[str]:
    """The modules that Python runs, unless ``use`` says otherwise."""
    return [name for name, module in _loaded.items() if not is_compiled(module)]


def announce() -> None:
    """Warn, once in a process, if Python itself runs the kernel and no test has asked for that."""
    global _announced
    if _announced or not (interpreted := interpreted_modules()):
        return
    _announced = True
    if os.environ.get("GTIDAL_KERNEL") == "interpreted":
        reason = "as GTIDAL_KERNEL=interpreted says"
    else:
        reason = f"not compiled: {', '.join(interpreted)}"
    warnings.warn(
        f"gtidal's kernel is interpreted ({reason}): everything is right, and some hundred times slower. "
        "To compile it, install gtidal again where there is a C compiler, with GTIDAL_REQUIRE_COMPILED=1 in the "
        "environment to see what stands in the way.",
        InterpretedKernelWarning,
        stacklevel=3,
    )


def checksum_of_sources(name: str) -> str:
    """The sum that setup.py puts into the compiled module: of its source, of all types it uses, of the C headers."""
    typed = {name}
    waiting = [name]
    while waiting:
        text = (FOLDER / f"{waiting.pop()}.pxd").read_text()
        used = set(re.findall(r"^cimport gtidal\.columnar\.kernel\.(\w+)", text, re.MULTILINE)) - typed
        typed |= used
        waiting += used
    sources = [
        FOLDER / f"{name}.py",
        *(FOLDER / f"{one}.pxd" for one in sorted(typed)),
        *sorted(FOLDER.glob("*.h")),
    ]
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def stale_modules() -> list[str]:
    """The compiled modules that were not made from the sources beside them."""
    return [
        name
        for name, module in _loaded.items()
        if is_compiled(module)
        and checksum_of_sources(name).encode() not in Path(module.__file__ or "").read_bytes()
    ]
