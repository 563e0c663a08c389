# Everything a developer runs. `make test` needs nothing prepared but Python >= 3.11 and make;
# without a C compiler and Python's headers the hot path is Python's own, and slower.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install demo test lint chaos soak fuzz coverage mutate bench bench-peers bench-growth bench-flame compare-debezium lock clean

install: $(VENV)/.demo
demo: install
	@$(BIN)/cdc-relay demo

test: $(VENV)/.test
	@tests/run

lint: $(VENV)/.test
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

# A random walk through faults: make chaos MINUTES=60, again with the same choices: SEED=4711. Needs Java and Maven.
MINUTES ?= 5
chaos: $(VENV)/.test
	$(BIN)/python -m tests.chaos.walk --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(CHAOS)

# An hour at 2,000 events/s with a fault a minute: do memory, descriptors and latency stay as they were? And its plot.
soak: $(VENV)/.test
	$(BIN)/python -m tests.soak --out .cache/soak.json $(SOAK)
	$(BIN)/python -m tests.soak.plot .cache/soak.json --to docs/reliability/soak.svg

# Lines and branches of the package, in this process and in every relay and command that a test starts; fails below 95 % of either.
# In Python throughout: what is compiled has no lines to count. About 40 minutes; a part: make coverage TESTS=tests/unit
TESTS ?= tests
COVER = CDC_RELAY_NATIVE=0 $(BIN)/coverage
coverage: $(VENV)/.coverage
	@rm -rf .cache/coverage && mkdir -p .cache/coverage
	@failed=0; \
	$(COVER) run -m pytest -n 3 --dist loadfile --pg 18 $(TESTS) || failed=1; \
	$(COVER) combine --quiet && $(COVER) report || failed=1; \
	$(COVER) json --quiet --fail-under=0 -o .cache/coverage/coverage.json && $(BIN)/python -m tests.coverage .cache/coverage/coverage.json || failed=1; \
	exit $$failed

# Every small change of delivery/ and protocol/ against the unit tests: docs/mutation.md. A part: MUTATE='--only ledger'
mutate: $(VENV)/.test
	@$(BIN)/python -m tests.mutation $(MUTATE)

# Garbage for whatever reads bytes: docs/fuzzing.md. One target: make fuzz FUZZ='config --seconds 600'
FUZZ ?= all --seconds 60
fuzz: $(VENV)/.fuzz
	$(BIN)/python -m tests.fuzz $(FUZZ)

bench: $(VENV)/.test
	$(BIN)/python -m tests.bench $(BENCH)

# Everything, beside Debezium: 50 minutes. One part of it: make bench-peers BENCH='--only cold'. Needs Java and Maven.
bench-peers: $(VENV)/.test
	$(BIN)/python -m tests.bench --only all --workload all --peers all --rates all --rows 0 --seconds 8 --out .cache/bench-peers.json $(BENCH)

# Cost as work grows, and its plots: almost half an hour. One axis: make bench-growth BENCH='--only topics'.
bench-growth: $(VENV)/.test
	$(BIN)/python -m tests.bench.growth --out .cache/bench-growth.json $(BENCH)
	$(BIN)/python -m tests.bench.plots .cache/bench-growth.json --to docs/benchmarks

# Where the time goes. Its Python twin: make bench-flame BENCH=--pure FLAME=flame-python
FLAME ?= flame
bench-flame: $(VENV)/.bench
	$(BIN)/python -m tests.bench.flame --out docs/benchmarks/$(FLAME).svg $(BENCH)

# A real Debezium over the corpus of tests/compare; writes tests/golden/debezium_wire.json. Needs Java and Maven.
compare-debezium: $(VENV)/.test
	$(BIN)/python -m tests.compare

# What the image is built from, pinned by hash for every platform and Python that we support.
COMPILE = $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.11 --no-annotate --custom-compile-command 'make lock'
lock: $(VENV)/.demo
	$(INSTALL) uv
	$(COMPILE) pyproject.toml --output-file deploy/requirements.lock
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
	  | $(COMPILE) - --output-file deploy/build.lock

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "cdc-relay needs Python >= 3.11; set PYTHON=/path/to/python" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

# What is compiled, and what says how: an edit of one is an installation anew.
COMPILED := pyproject.toml setup.py $(wildcard cdc_relay/native/*.pyx cdc_relay/native/*.pxd)
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/.demo: $(BIN)/python $(COMPILED)
	$(INSTALL) -e '.[demo]'
	@touch $@

# Not after .demo, but in its place: two installations would compile twice.
$(VENV)/.test: $(BIN)/python $(COMPILED)
	$(INSTALL) -e '.[demo,test]'
	@touch $(VENV)/.demo $@

$(VENV)/.coverage: $(BIN)/python $(COMPILED)
	$(INSTALL) -e '.[demo,test,coverage]'
	@touch $(VENV)/.demo $(VENV)/.test $@

$(VENV)/.fuzz: $(BIN)/python $(COMPILED)
	$(INSTALL) -e '.[demo,test,fuzz]'
	@touch $(VENV)/.demo $(VENV)/.test $@

$(VENV)/.bench: $(BIN)/python $(COMPILED)
	$(INSTALL) -e '.[demo,test,bench]'
	@touch $(VENV)/.demo $(VENV)/.test $@

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build *.egg-info cdc_relay/native/*.so
