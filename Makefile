# Two commands do everything on a machine with Python 3.11 or newer: `make plan` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: plan test check quick reports env clean

plan: env ## solve the example and write its plan, workbook and page
	$(BIN)/procure solve data/cases/agentic-2027 --out reports/agentic-2027 --pictures

test: check ## every check and every test, slow ones too
	$(BIN)/pytest

check: env ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

quick: env ## the tests that take seconds
	$(BIN)/pytest -m "not slow"

env: $(READY) ## the locked environment

$(READY): requirements-dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)

clean:
	rm -rf $(VENV)
