"""Compiles the columnar kernel; everything else about the package is in pyproject.toml.

Every ``columnar/kernel/x.py`` with an ``x.pxd`` beside it becomes an extension module of the same name. The
package works without them, only slower, so a machine that cannot compile gets one warning and the sources.

GTIDAL_REQUIRE_COMPILED=1   a kernel that does not compile is an error, and so is a compiler's warning
GTIDAL_KERNEL=interpreted   do not compile: the wheel fits every machine
GTIDAL_SANITIZE=1           with bounds checks, AddressSanitizer and UndefinedBehaviorSanitizer (tools/sanitize.py)
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
KERNEL = HERE / "src" / "gtidal" / "columnar" / "kernel"

REQUIRED = os.environ.get("GTIDAL_REQUIRE_COMPILED", "") not in ("", "0")
SANITIZED = os.environ.get("GTIDAL_SANITIZE", "") not in ("", "0")
INTERPRETED = os.environ.get("GTIDAL_KERNEL", "") == "interpreted"

DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,  # the .py's annotations are for readers and mypy, the .pxd's types for C
    "boundscheck": SANITIZED,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": SANITIZED,
    "freethreading_compatible": True,
    "show_performance_hints": False,
}
INLINED = {"machine"}
"""Their .pxd has the functions themselves, which are compiled into their callers."""
SHARED = "_memoryviews"
"""What Cython adds to every module that takes buffers, compiled once: it is most of the compiler's work."""

MEANT = "Declarations should not be declared inline"
"""Cython's warning of what a .pxd must do to have a function inlined when the function itself is in a .py."""

# Signed overflow stays defined (-fwrapv): the kernel writes its wrap-arounds down, a compiler must not guess.
# What Cython's own code is warned of, and what is no fault: unused parameters and functions.
WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-unused-function",
    "-Wno-missing-field-initializers",
]
COMPILE = [*WARNINGS, "-fwrapv", "-O3", "-g0"]
LINK: list[str] = []
if SANITIZED:
    # Here an overflow is reported: the same source run by Python would not wrap around.
    CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    COVERAGE = ["-fsanitize-coverage=trace-pc"]  # for tools/fuzz.py
    COMPILE = [*WARNINGS, "-fno-wrapv", "-O1", "-g1", "-fno-omit-frame-pointer", *CHECKS, *COVERAGE]
    LINK = CHECKS


def checksum_of_sources(name: str) -> str:
    """The same sum as ``kernel.checksum_of_sources``, which looks for it in the compiled module."""
    typed = {name}
    waiting = [name] if name != SHARED else []
    while waiting:
        text = (KERNEL / f"{waiting.pop()}.pxd").read_text()
        used = set(re.findall(r"^cimport gtidal\.columnar\.kernel\.(\w+)", text, re.MULTILINE)) - typed
        typed |= used
        waiting += used
    sources = [
        KERNEL / f"{name}.py",
        *(KERNEL / f"{one}.pxd" for one in sorted(typed)),
        *sorted(KERNEL.glob("*.h")),
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources if path.exists())).hexdigest()


def mark(ext: Any) -> str:
    """What a compiled module carries, so that a stale one can be told: the sums of what it was made from."""
    variables = [os.environ.get(name, "") for name in ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS")]
    settings = "\n".join([sys.version, cython_version(), str(DIRECTIVES), *COMPILE, *LINK, *variables])
    build = hashlib.sha256(settings.encode()).hexdigest()
    return f"gtidal kernel: sources {checksum_of_sources(short_name(ext))} build {build};"


def cython_version() -> str:
    try:
        return version("Cython")
    except PackageNotFoundError:  # then the modules are not made here; translate() says so
        return ""


def short_name(ext: Any) -> str:
    return str(ext.name.rpartition(".")[2])


def kernel_modules() -> list[Extension]:
    typed = {path.stem for path in KERNEL.glob("*.pxd") if path.with_suffix(".py").exists()}
    names = [SHARED, *sorted(typed - INLINED)]
    return [
        Extension(
            f"gtidal.columnar.kernel.{name}",
            [] if name == SHARED else [f"src/gtidal/columnar/kernel/{name}.py"],
            include_dirs=[str(KERNEL)],
            extra_compile_args=[*COMPILE, *(["-Werror"] if REQUIRED else [])],
            extra_link_args=LINK,
        )
        for name in names
    ]


class BuildKernel(build_ext):
    """Cython, then the C compiler; what is there already, made from the same sources in the same way, is taken."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        self.force = True  # times say nothing about flags; the checksums in the mark do

    def run(self) -> None:
        inplace = bool(self.inplace)
        try:
            super().run()
        except Exception as problem:  # whatever a missing compiler, header or Cython makes of itself
            if REQUIRED:
                raise
            self.give_up(problem, inplace)

    def build_extensions(self) -> None:
        wanted = self.extensions
        self.extensions = [ext for ext in wanted if not self.taken(ext)]
        if self.extensions:
            self.try_compiler()
        with ThreadPoolExecutor(self.parallel) as workers:
            list(workers.map(self.translate, self.extensions))
        try:
            super().build_extensions()
        finally:
            self.extensions = wanted

    def try_compiler(self) -> None:
        """Find out in no time whether there is a compiler and Python's headers, before Cython works for nothing."""
        probe = Path(self.build_temp) / "kernel" / "probe.c"
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_text("#include <Python.h>\n")
        self.compiler.compile([str(probe)], self.build_temp, extra_postargs=COMPILE)

    def taken(self, ext: Any) -> bool:
        """Whether an earlier build has left this very module."""
        built = Path(self.get_ext_fullpath(ext.name))
        for earlier in (built, KERNEL / built.name):
            if earlier.exists() and mark(ext).encode() in earlier.read_bytes():
                if earlier != built:
                    built.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(earlier, built)
                return True
        return False

    def translate(self, ext: Any) -> None:
        """Let Cython make the C source of a module, and add its mark."""
        folder = Path(self.build_temp) / "kernel"
        name = short_name(ext)
        translated, marked = folder / f"{name}.c", folder / f"{name}_mark.c"
        cython = [sys.executable, "-m", "cython"]
        for directive, value in DIRECTIVES.items():
            cython += ["-X", f"{directive}={value}"]
        if name == SHARED:
            cython += [f"--generate-shared={translated}"]
        else:
            shared = ext.name.replace(name, SHARED)
            cython += ["--shared", shared, "--module-name", ext.name, "-o", str(translated), ext.sources[0]]
        run = subprocess.run(cython, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = "".join(line for line in run.stdout.splitlines(True) if MEANT not in line)
        if run.returncode or (REQUIRED and said):
            raise RuntimeError(f"Cython does not accept {name}:\n{said}")
        print(said, end="", file=sys.stderr)
        marked.write_text(f'__attribute__((used)) static const char mark[] = "{mark(ext)}";\n')
        ext.sources = [str(translated), str(marked)]

    def give_up(self, problem: Exception, inplace: bool) -> None:
        """Go on without compiled modules: all or none, and the wheel says that it fits every machine."""
        for folder in [Path(self.build_lib, "gtidal", "columnar", "kernel"), *([KERNEL] if inplace else [])]:
            for ext in self.extensions:
                for left in folder.glob(f"{short_name(ext)}.*.so"):
                    left.unlink()
        self.extensions = []
        self.distribution.ext_modules = []
        if wheel := self.distribution.command_obj.get("bdist_wheel"):
            wheel.root_is_pure = True
        print(
            "warning: gtidal's kernel could not be compiled, so gtidal will work, but slowly. "
            "Install a C compiler and Python's headers (on Debian: gcc libc6-dev python3-dev) and install again. "
            f"The reason: {textwrap.shorten(f'{type(problem).__name__}: {problem}', 300)}",
            file=sys.stderr,
        )


setup(ext_modules=[] if INTERPRETED else kernel_modules(), cmdclass={"build_ext": BuildKernel})
