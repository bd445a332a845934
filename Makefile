# gtidal: `make` alone tells what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

# Three steps, each made anew when its inputs change: a stamp's name holds their checksum.
checksum = $(shell cat $(1) | sha256sum | cut -c1-16)
KERNEL := src/gtidal/columnar/kernel
PACKAGES := $(VENV)/.packages-$(call checksum,requirements.lock)
INSTALLED := $(VENV)/.installed-$(call checksum,requirements.lock pyproject.toml)
COMPILED := $(VENV)/.compiled-$(call checksum,requirements.lock setup.py $(wildcard $(KERNEL)/*.py $(KERNEL)/*.pxd $(KERNEL)/*.h))
READY := $(INSTALLED) $(COMPILED)

FUZZ_SECONDS ?= 60

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test soak fuzz sanitize bench lint format wheel servers lock clean venv

# A kernel that does not compile fails these; elsewhere it is a warning.
test soak fuzz sanitize bench wheel: export GTIDAL_REQUIRE_COMPILED = 1

help: ## show this menu
	@echo "gtidal: MySQL's binary log as tables"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## set up, then run gtidal on the sample log in examples/
	@$(BIN)/gtidal demo

test: $(READY) servers lint ## all that CI runs: format, lint, types, all tests but the long ones
	$(BIN)/python -m pytest -n $(WORKERS)

soak: $(READY) servers ## the long tests: exhaustive damage, large logs
	$(BIN)/python -m pytest -n $(WORKERS) -m soak

fuzz: $(READY) ## damage logs at random and compare kernel and reference (FUZZ_SECONDS=60)
	$(BIN)/python tools/fuzz.py --seconds $(FUZZ_SECONDS)

sanitize: $(READY) ## the kernel under the address and undefined-behaviour sanitizers
	$(BIN)/python tools/sanitize.py

bench: $(READY) servers ## measure gtidal, mysqlbinlog and others on logs of a real server
	$(BIN)/python bench/run.py
	$(BIN)/python bench/spark.py
	$(BIN)/python bench/live.py

lint: $(READY) ## format check, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY) ## format the code and fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

wheel: $(READY) ## build the wheel into dist/, and try it outside of this folder
	@rm -rf build dist
	$(BIN)/python -m pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir dist .
	@rm -rf build
	@$(BIN)/python -m pip install --quiet --no-index --no-deps --target build/tried dist/*.whl
	@cd / && PYTHONPATH="$(CURDIR)/build/tried" "$(CURDIR)/$(BIN)/python" -c "import gtidal; print(gtidal.__file__, gtidal.kernel); exit(gtidal.kernel != 'compiled')"
	@rm -rf build

servers: ## fetch the real MySQL and MariaDB for the tests (once; into ~/.cache/gtidal)
	@$(PYTHON) tools/fetch_servers.py

venv: $(READY) ## the environment alone, in .venv, with the kernel compiled

lock: ## renew requirements.lock from pyproject.toml (UPGRADE=1 takes the newest versions)
	@PYTHON="$(PYTHON)" sh tools/lock.sh $(if $(UPGRADE),--upgrade)

clean: ## remove the environment, the compiled kernel and all caches in this folder (not the fetched servers)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	rm -f $(KERNEL)/*.so $(KERNEL)/*.c
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PACKAGES):
	@PYTHON="$(PYTHON)" sh tools/check_machine.sh
	@echo "making the environment in $(VENV) (once; one to two minutes)" >&2
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --no-compile --require-hashes --requirement requirements.lock
	@$(BIN)/python -m compileall -q -j 0 -x '[/.]tests?/' $(VENV)/lib > /dev/null 2>&1 || true  # else every start compiles
	@touch $@

$(INSTALLED): $(PACKAGES)
	@GTIDAL_KERNEL=interpreted $(BIN)/python -m pip install --quiet --no-index --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.installed-*
	@touch $@

# Where it cannot be compiled there is no stamp, so that the next make tries again.
$(COMPILED): $(INSTALLED)
	@echo "compiling the kernel" >&2
	@$(BIN)/python setup.py --quiet build_ext --inplace --build-lib $(VENV)/kernel/lib --build-temp $(VENV)/kernel/temp
	@rm -f $(VENV)/.compiled-*
	@if $(BIN)/python -c "import gtidal.columnar.kernel as k; exit(k.IMPLEMENTATION != 'compiled')"; then touch $@; fi
