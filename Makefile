# Everything a developer runs. `make test` needs nothing prepared but Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install demo test lint bench compare-debezium clean

install: $(VENV)/.demo
demo: install
	@$(BIN)/cdc-relay demo

test: $(VENV)/.test
	@tests/run

lint: $(VENV)/.test
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

bench: $(VENV)/.test
	$(BIN)/python -m tests.bench

# A real Debezium over the corpus of tests/compare; writes tests/golden/debezium_wire.json. Needs Java and Maven.
compare-debezium: $(VENV)/.test
	$(BIN)/python -m tests.compare

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "cdc-relay needs Python >= 3.11; set PYTHON=/path/to/python" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[demo]'
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[demo,test]'
	@touch $@

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
