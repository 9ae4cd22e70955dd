# make run    sets everything up in .venv and serves the page
# make test   sets everything up in .venv and runs all tests, those in a browser too
# make check  ruff, mypy and the import contract
# make bench  speed and memory as ratios, one table
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
LISTS := pyproject.toml constraints.txt requirements.txt

.DEFAULT_GOAL := help
.PHONY: help install run test check bench clean

help:
	@sed -n 's/^# //p' $(firstword $(MAKEFILE_LIST))

install: $(VENV)/.dev

run: $(VENV)/.run
	$(BIN)/python -m embviz serve $(ARGS)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'embviz needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' || \
		{ echo 'This Python has no ensurepip; on Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamps: nothing is installed again until one of the lists changes.
$(VENV)/.run: $(LISTS) | $(BIN)/python
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(LISTS) requirements-dev.txt | $(BIN)/python
	$(PIP) install --requirement requirements-dev.txt
	@touch $(VENV)/.run $@
