# gtidal: `make` alone tells what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

# The environment is made anew when its inputs change: the stamp's name holds their checksum.
INPUTS := $(shell cat requirements.lock pyproject.toml | sha256sum | cut -c1-16)
STAMP := $(VENV)/.ready-$(INPUTS)

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test soak lint format servers lock clean venv

help: ## show this menu
	@echo "gtidal: MySQL's binary log as tables"
	@echo
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP) ## set up, then run gtidal on the sample log in examples/
	@$(BIN)/gtidal demo

test: $(STAMP) servers lint ## all that CI runs: format, lint, types, all tests but the long ones
	$(BIN)/python -m pytest -n $(WORKERS)

soak: $(STAMP) servers ## the long tests: exhaustive damage, large logs
	$(BIN)/python -m pytest -n $(WORKERS) -m soak

lint: $(STAMP) ## format check, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP) ## format the code and fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

servers: ## fetch the real MySQL and MariaDB for the tests (once; into ~/.cache/gtidal)
	@$(PYTHON) tools/fetch_servers.py

venv: $(STAMP) ## the environment alone, in .venv

lock: ## renew requirements.lock from pyproject.toml (UPGRADE=1 takes the newest versions)
	@PYTHON="$(PYTHON)" sh tools/lock.sh $(if $(UPGRADE),--upgrade)

clean: ## remove the environment and all caches in this folder (not the fetched servers)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP):
	@PYTHON="$(PYTHON)" sh tools/check_machine.sh
	@echo "making the environment in $(VENV) (once; about a minute)" >&2
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --no-index --no-deps --no-build-isolation --editable .
	@touch $@
