# Two commands do everything on a machine with Python 3.11 or newer: `make plan` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: plan test check quick reports env clean

plan: env ## solve the example and write its plan, workbook and page
	$(BIN)/procure solve data/cases/agentic-2027 --out reports/agentic-2027 --pictures

test: check ## every check and every test, slow ones too, in as many processes as there are cores
	$(BIN)/pytest -n auto --dist worksteal

check: env ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Bytecode is kept whatever the shell says: each process would compile the package and rewrite the asserts of every test again.
quick: env ## the tests that take about a tenth of a second at most, in as many processes as there are cores
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -m "not slow and not thorough" -n auto --dist worksteal

env: $(READY) ## the locked environment

# pip tells each package as it finds it, and what it has to say of a user's own configuration goes with any error to .venv/pip.log,
# which is shown where pip fails. A pipe has the status of its end: pip's own is kept in a file.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
COUNT := awk -v of=$$(grep -c '==' requirements-dev.txt) \
	'/^Collecting/ { printf "\r\033[K  %d of %d: %s", ++n, of, $$2; fflush() } \
	/^Installing/ { printf "\r\033[K  unpacking\n"; fflush() }'

$(READY): requirements-dev.txt pyproject.toml
	@echo "Environment in $(VENV): $$(grep -c '==' requirements-dev.txt) packages at the versions that are locked"
	@$(PYTHON) -m venv $(VENV)
	@{ $(PIP) --require-hashes -r requirements-dev.txt 2>$(VENV)/pip.log; echo $$? >$(VENV)/status; } | $(COUNT); \
		test "$$(cat $(VENV)/status)" = 0 || { cat $(VENV)/pip.log; exit 1; }
	@$(PIP) --quiet --no-deps --no-build-isolation --editable . 2>$(VENV)/pip.log || { cat $(VENV)/pip.log; exit 1; }
	@echo "  procure itself, ready"
	@touch $(READY)

clean:
	rm -rf $(VENV)
