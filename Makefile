# You need Python 3.11 or newer with venv and pip, and make. See CONTRIBUTING.md.
#   make run             set up, then start the tour: jobs, killed workers, and a table with "lost 0, settled twice 0"
#   make test            run every test, on SQLite and on a PostgreSQL that the tests start
#   make check           check format, lint, types, layers and house rules
#   make soak            inject faults for hours; writes docs/proof.md
#   make mutants         break the engine on purpose; a test must fail for each mutant (also: make saboteurs)
#   make bench           compare with other engines, 40 minutes on a quiet machine; writes docs/benchmark.md
#   make bench-engine    compare the engine with bare SQL statements
#   make bench-download  compare downloads with aria2c and wget; writes docs/benchmark-download.md
#   make reference       write docs/reference/ from the code
#   make lock            update the lock files
#   make clean           remove everything that these commands made

PYTHON ?= python3
TEST_PROCESSES ?= 4
PYTEST_ARGS ?=

BIN := .venv/bin
PY := $(BIN)/python
UV := $(BIN)/uv
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
           --no-emit-index-url --no-emit-find-links --no-annotate --no-header

.DEFAULT_GOAL := help
# Bytecode is kept: else each test process compiles pytest, and each program that tests start, all over again.
unexport PYTHONDONTWRITEBYTECODE
.DELETE_ON_ERROR:
.PHONY: help setup setup-dev run test check soak mutants saboteurs bench bench-engine bench-download reference lock clean

help:
	@sed -n '2,/^$$/s/^# \{0,3\}//p' Makefile

setup: .venv/run.stamp

setup-dev: .venv/dev.stamp

run: setup
	$(BIN)/leasehold tour

test: setup-dev
	$(PY) -m pytest -n $(TEST_PROCESSES) --dist worksteal $(PYTEST_ARGS)

check: setup-dev
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(PY) -m pytest -q tests/tidy

# What the long tests show is a line of JSON each in this file, and docs/proof.md is written from it. Stopped and
# started again, it goes on with what has not passed at this commit; each commit has a file of its own. Property tests
# draw the same examples in every `make test`; here they draw at random, and so many times as many.
PROOF ?= $(CURDIR)/build/proof-$(shell git describe --always --dirty).jsonl
EXAMPLES ?= 20
SOAK = LEASEHOLD_PROOF=$(PROOF) LEASEHOLD_EXAMPLES=$(EXAMPLES) $(PY) -m pytest -p tests.support.oracle.resume

soak: setup-dev
	mkdir -p $(dir $(PROOF))
	$(SOAK) -m soak -n $(TEST_PROCESSES) --dist worksteal tests/simulation $(PYTEST_ARGS)
	$(SOAK) -m "hypothesis and not soak" -n $(TEST_PROCESSES) --dist worksteal $(PYTEST_ARGS)
	$(SOAK) -m soak --ignore=tests/simulation $(PYTEST_ARGS)
	LEASEHOLD_PROOF=$(PROOF) $(PY) -m tests.mutants --sound
	$(PY) -m tests.support.oracle.proof_report $(PROOF)

mutants saboteurs: setup-dev
	$(PY) -m tests.mutants --sound

reference: setup-dev
	$(PY) -m tests.docs.reference

bench: setup-dev
	$(PY) -m bench.compare $(BENCH_ARGS)

bench-engine: setup-dev
	$(PY) -m bench $(BENCH_ARGS)

bench-download: setup-dev
	$(PY) -m bench.downloads $(BENCH_ARGS)

lock: .venv/uv.stamp
	$(COMPILE) --group pyproject.toml:uv --output-file requirements/uv.txt
	$(COMPILE) pyproject.toml --all-extras --group pyproject.toml:dev --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --all-extras --group pyproject.toml:build \
	  --constraints requirements/dev.txt --output-file requirements/run.txt
	$(COMPILE) --no-deps --group pyproject.toml:model --output-file requirements/model.txt

clean:
	rm -rf .venv dist build htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache \
	  .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The virtual environment with its installer. It is rebuilt when the pinned installer changes.
.venv/uv.stamp: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Leasehold needs Python 3.11 or newer as '$(PYTHON)'. Another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	touch $@

# uv reads neither pip.conf nor PIP_INDEX_URL, so where only pip knows the way to a package index, pip installs.
define install
	rm -f .venv/run.stamp .venv/dev.stamp
	$(UV) pip sync --compile-bytecode --quiet --python $(PY) --require-hashes $(1) || \
	  $(PY) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes $(addprefix -r ,$(1))
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PY) -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --no-index --editable .
endef

.venv/run.stamp: .venv/uv.stamp requirements/run.txt pyproject.toml
	$(call install,requirements/run.txt)
	touch $@

# What the tests need includes what a run needs.
.venv/dev.stamp: .venv/uv.stamp requirements/dev.txt requirements/model.txt pyproject.toml
	$(call install,requirements/dev.txt requirements/model.txt)
	touch .venv/run.stamp $@
