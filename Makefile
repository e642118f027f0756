# Two commands set everything up on a fresh machine: `make demo` and `make test`. The rest is for daily work.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test check format lint types contracts clean constraints

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(STAMP): pyproject.toml constraints.txt Makefile
	@echo "sources: setting up $(VENV) (once, some minutes)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sources: Python 3.11 or newer is needed; name one with make PYTHON=python3.12"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[local,qdrant,mcp,alerts,demo,dev]'
	@touch $@

demo: $(STAMP)  ## set up, index real repositories and notes, and search them
	@$(BIN)/sources demo

test: $(STAMP) lint types contracts  ## set up, then run every check and test
	@$(BIN)/python -m pytest -n auto

lint: $(STAMP)  ## ruff: format and rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

format: $(STAMP)  ## let ruff write the format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

types: $(STAMP)  ## mypy --strict
	@$(BIN)/mypy --strict sources bot ingest matrix index

contracts: $(STAMP)  ## import contracts
	@$(BIN)/lint-imports

constraints:  ## pin what is installed now
	@$(BIN)/python -m pip freeze --exclude-editable --exclude pip --exclude setuptools | grep -E '^[A-Za-z0-9_.-]+==' > constraints.txt

clean:  ## remove the environment and caches
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
