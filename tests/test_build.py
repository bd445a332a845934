"""The build: with a compiler the wheel holds the compiled kernel, without one it works, and says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from gtidal.columnar import kernel

REPOSITORY = Path(__file__).parents[1]
PLATFORM_SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
WARNING = "warning: gtidal's kernel could not be compiled"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The sources of the package alone, without anything that was built from them."""
    folder = tmp_path / "checkout"
    without = shutil.ignore_patterns("__pycache__", "*.so", "*.c", "*.egg-info", "build")
    shutil.copytree(REPOSITORY / "src", folder / "src", ignore=without)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(REPOSITORY / name, folder / name)
    return folder


def build_wheel(checkout: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """As pip builds it, with the environment's own Cython and setuptools; -v, or pip hides all warnings."""
    pip = [sys.executable, "-m", "pip", "wheel", "-v", "--no-index", "--no-deps", "--no-build-isolation"]
    unset = ("GTIDAL_REQUIRE_COMPILED", "GTIDAL_KERNEL", "GTIDAL_SANITIZE")
    environment = {name: value for name, value in os.environ.items() if name not in unset} | variables
    return subprocess.run(
        [*pip, "--wheel-dir", str(checkout / "dist"), str(checkout)],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def installed(checkout: Path) -> Path:
    """The wheel that was built, unpacked: what an installation puts into site-packages."""
    (wheel,) = (checkout / "dist").glob("*.whl")
    folder = checkout / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run_outside(folder: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run Python code with the installed package, from a folder that is not the repository."""
    variables = {name: value for name, value in os.environ.items() if name != "GTIDAL_KERNEL"}
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        cwd="/",
        env=variables | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )


def test_without_a_compiler_the_package_works_and_says_that_it_is_slow(checkout: Path) -> None:
    built = build_wheel(checkout, CC="/bin/false")
    assert built.returncode == 0, built.stdout
    assert built.stdout.count(WARNING) == 1
    assert built.stdout.count("python3-dev") == 1  # what to install is said once, too
    folder = installed(checkout)
    assert not list(folder.rglob("*.so"))
    (tag,) = [path.name for path in (checkout / "dist").iterdir()]
    assert tag.endswith("-py3-none-any.whl")

    said = run_outside(
        folder,
        "from gtidal.columnar import kernel; print(kernel.__file__, kernel.IMPLEMENTATION);"
        "kernel.announce(); kernel.announce()",
    )
    assert said.stdout == f"{folder}/gtidal/columnar/kernel/__init__.py interpreted\n", said.stderr
    assert said.stderr.count("InterpretedKernelWarning") == 1


@pytest.mark.parametrize("compiler", ["/bin/false", "/nowhere/cc"])
def test_a_compiler_can_be_required(checkout: Path, compiler: str) -> None:
    built = build_wheel(checkout, CC=compiler, GTIDAL_REQUIRE_COMPILED="1")
    assert built.returncode != 0
    assert compiler in built.stdout
    assert not list((checkout / "dist").glob("*.whl"))


@pytest.mark.skipif(
    bool(kernel.interpreted_modules() or kernel.stale_modules()), reason="kernel not compiled"
)
def test_the_wheel_holds_the_compiled_kernel(checkout: Path) -> None:
    for compiled in kernel.FOLDER.glob(
        f"*{PLATFORM_SUFFIX}"
    ):  # they are taken: their marks say they are the same
        shutil.copy2(compiled, checkout / "src" / "gtidal" / "columnar" / "kernel" / compiled.name)
    built = build_wheel(checkout, GTIDAL_REQUIRE_COMPILED="1")
    assert built.returncode == 0, built.stdout
    assert "gcc" not in built.stdout
    folder = installed(checkout)
    modules = folder / "gtidal" / "columnar" / "kernel"
    for name in kernel.NAMES:
        for suffix in (".py", ".pxd", PLATFORM_SUFFIX):  # the source stays, for a Python without this module
            assert (modules / (name + suffix)).exists()
    said = run_outside(
        folder, "from gtidal.columnar import kernel; print(kernel.__file__, kernel.IMPLEMENTATION)"
    )
    assert said.stdout == f"{folder}/gtidal/columnar/kernel/__init__.py compiled\n", said.stderr


def test_a_pure_wheel_can_be_asked_for(checkout: Path) -> None:
    built = build_wheel(checkout, GTIDAL_KERNEL="interpreted")
    assert built.returncode == 0, built.stdout
    assert WARNING not in built.stdout
    (wheel,) = (checkout / "dist").iterdir()
    assert wheel.name.endswith("-py3-none-any.whl")


def test_every_kernel_module_is_compiled() -> None:
    """A module without a .pxd would be left interpreted, silently."""
    typed = {path.stem for path in kernel.FOLDER.glob("*.pxd")}
    inlined = typed & set(kernel.NOT_COMPILED)
    assert typed == {*kernel.NAMES, *inlined}
    assert f"INLINED = {inlined}".replace("'", '"') in (REPOSITORY / "setup.py").read_text()


def test_the_lock_holds_what_builds_the_package() -> None:
    """It is installed without build isolation, so the environment must have it."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    assert set(project["build-system"]["requires"]) <= set(project["project"]["optional-dependencies"]["dev"])
