"""Which kernel runs: compiled or interpreted, how a test changes that, and who is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from gtidal.columnar import kernel

compiled_only = pytest.mark.skipif(bool(kernel.interpreted_modules()), reason="the kernel is not compiled")
some_module = "walk"


def python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | variables, capture_output=True, text=True
    )


@compiled_only
def test_use_changes_the_modules_and_changes_them_back() -> None:
    compiled = {name: getattr(kernel, name) for name in kernel.NAMES}
    assert kernel.IMPLEMENTATION == "compiled"
    with kernel.use("interpreted"):
        assert kernel.IMPLEMENTATION == "interpreted"
        for name in kernel.NAMES:
            module = getattr(kernel, name)
            assert module.__file__ == str(kernel.FOLDER / f"{name}.py")
            assert module is not compiled[name]
        with kernel.use("compiled"):
            assert kernel.IMPLEMENTATION == "compiled"
        assert kernel.IMPLEMENTATION == "interpreted"
    assert {name: getattr(kernel, name) for name in kernel.NAMES} == compiled
    assert kernel.IMPLEMENTATION == "compiled"


def test_use_changes_back_after_an_error() -> None:
    before = getattr(kernel, some_module)
    with pytest.raises(KeyError), kernel.use("interpreted"):
        raise KeyError
    assert getattr(kernel, some_module) is before


@compiled_only
def test_both_have_the_same_functions() -> None:
    for name in kernel.NAMES:
        source, compiled = kernel.load_interpreted(name), getattr(kernel, name)
        public = {key for key, value in vars(compiled).items() if callable(value) and key[0] != "_"}
        assert public <= set(vars(source)), name


@compiled_only
def test_interpreted_modules_call_interpreted_ones() -> None:
    modules = {name: kernel.load_interpreted(name) for name in kernel.NAMES}
    calls = 0
    for module in modules.values():
        for name, used in vars(module).items():
            if name in kernel.NAMES and isinstance(used, ModuleType):
                assert used is modules[name]
                calls += 1
    assert calls


@compiled_only
def test_one_interpreted_module_makes_the_kernel_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = dict(kernel._loaded) | {some_module: kernel.load_interpreted(some_module)}
    monkeypatch.setattr(kernel, "_loaded", mixed)
    assert kernel.interpreted_modules() == [some_module]
    with pytest.raises(RuntimeError, match=some_module), kernel.use("compiled"):
        pass


def test_the_environment_chooses_the_sources() -> None:
    said = python(
        f"import sys; from gtidal.columnar import kernel; from gtidal.columnar.kernel import {some_module} as m;"
        f"print(kernel.IMPLEMENTATION, m.__file__, sys.modules[m.__name__] is m is kernel.{some_module})",
        GTIDAL_KERNEL="interpreted",
    )
    assert said.stdout == f"interpreted {kernel.FOLDER / some_module}.py True\n", said.stderr


def test_interpreted_use_warns_once_and_says_why() -> None:
    said = python(
        "from gtidal.columnar import kernel; kernel.announce(); kernel.announce()",
        GTIDAL_KERNEL="interpreted",
    )
    assert said.returncode == 0
    assert said.stderr.count("InterpretedKernelWarning") == 1
    assert "GTIDAL_KERNEL=interpreted" in said.stderr
    assert "GTIDAL_REQUIRE_COMPILED=1" in said.stderr


@compiled_only
def test_a_compiled_kernel_says_nothing_even_while_a_test_interprets_it() -> None:
    with warnings.catch_warnings(), kernel.use("interpreted"):
        warnings.simplefilter("error")
        kernel.announce()


def test_a_changed_source_makes_a_compiled_module_stale(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for path in kernel.FOLDER.iterdir():
        if path.suffix in (".py", ".pxd", ".h"):
            shutil.copy(path, tmp_path)
    compiled = type(sys)(some_module)
    compiled.__file__ = str(tmp_path / f"{some_module}.so")
    monkeypatch.setattr(kernel, "FOLDER", tmp_path)
    monkeypatch.setattr(kernel, "_loaded", {some_module: compiled})
    (tmp_path / f"{some_module}.so").write_bytes(
        b"..." + kernel.checksum_of_sources(some_module).encode() + b"..."
    )
    assert kernel.stale_modules() == []
    for changed in (f"{some_module}.py", f"{some_module}.pxd", "machine.pxd", "machine.h"):
        original = (tmp_path / changed).read_bytes()
        (tmp_path / changed).write_bytes(original + b"\n")
        assert kernel.stale_modules() == [some_module], changed
        (tmp_path / changed).write_bytes(original)
    with (tmp_path / "texts.pxd").open("ab") as stream:  # which walk does not use
        stream.write(b"\n")
    assert kernel.stale_modules() == []


def test_the_command_line_says_which_kernel_it_has() -> None:
    for choice, expected in (("", kernel.IMPLEMENTATION), ("interpreted", "interpreted")):
        said = python("from gtidal.cli.main import main; main(['--version'])", GTIDAL_KERNEL=choice)
        assert said.stdout.endswith(f" (kernel: {expected})\n"), said.stderr
