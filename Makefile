# Works on a fresh clone with Python 3.11 or newer and make; `make help` lists the targets.
# Another interpreter gets its own environment: make test PYTHON=python3.13 VENV=.venv313

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2

BIN   := $(VENV)/bin
RUNS  := $(VENV)/.runs
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser

.DEFAULT_GOAL := help
.PHONY: help demo test test-tenth test-slow test-long test-postgres test-browser check format docs links bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 16

# One environment serves every target: what the library needs to run, and for all but the demo what its tests, checks
# and docs need besides. It is renewed only when what it is made from has changed. pip compiles no bytecode: Python does
# when a module is first imported, and most never are. If PYTHONDONTWRITEBYTECODE is set, as in many containers,
# every process would compile all that it imports, for ten seconds.
unexport PYTHONDONTWRITEBYTECODE
INSTALL = $(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt

$(RUNS): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "driftpeak needs Python 3.11 or newer, and '$(PYTHON)' is not: try make PYTHON=python3.13" >&2; exit 1; }
	@echo "Setting up $(VENV) (once, takes a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) -e '.[cli]'
	@$(BIN)/python -c 'from driftpeak import *'
	@touch $@

$(READY): $(RUNS)
	@echo "Adding to $(VENV) what tests, checks and docs need (once) ..."
	@$(INSTALL) -e '.[test,check,docs]'
	@touch $@

demo: $(RUNS)  ## set up if needed, then show the library at work
	@$(BIN)/driftpeak demo

# A document's blocks share one namespace, so a file must stay with one worker: loadfile.
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadfile
QUICK  = "not slow and not long and not browser"

test: $(READY)  ## quick tests, and the examples of the pages
	@$(PYTEST) -m $(QUICK) tests README.md CONTRIBUTING.md docs

test-tenth: $(READY)  ## a tenth of the quick tests: enough for a second interpreter
	@$(PYTEST) -m $(QUICK) --every=10 tests README.md

EVERY ?= 1
test-slow: $(READY)  ## tests that take many seconds each, and the tutorials; EVERY=8: an eighth of them
	@$(PYTEST) -m slow --every=$(EVERY) tests docs

test-long: $(READY)  ## the tests that take minutes each, before a release
	@$(PYTEST) -m long tests

test-postgres: $(READY)  ## stored studies against a real PostgreSQL server (installed, if you are root)
	@.ci/install-postgresql
	@DRIFTPEAK_NEEDS_POSTGRESQL=1 $(PYTEST) -k postgresql tests/live/test_live_storage.py tests/live/test_live_processes.py

$(BROWSER): $(READY)
	@echo "Adding to $(VENV) what drives a browser (once) ..."
	@$(INSTALL) -e '.[browser]'
	@touch $@

test-browser: $(BROWSER)  ## the page of `driftpeak serve` in Chromium (installed, if you are root)
	@.ci/install-chromium
	@DRIFTPEAK_NEEDS_BROWSER=1 $(BIN)/python -m pytest -m browser tests/service/test_dashboard.py

check: $(READY)  ## formatting, lint, types, and which way imports point
	@$(BIN)/python scripts/check_language.py | tail -1
	@failed=; \
	for tool in "ruff format --check" "ruff check" "mypy" "lint-imports --no-cache --no-logo"; do \
	  $(BIN)/$$tool || failed="$$failed, $$tool"; \
	done; \
	if [ -n "$$failed" ]; then echo "make check: failed:$${failed#,}" >&2; exit 1; fi

format: $(READY)  ## format, and repair what lint can repair
	@$(BIN)/ruff check --fix --exit-zero
	@$(BIN)/ruff format

# -E: a page that is not read again would not repeat its warnings. The examples run, too.
SPHINX = $(BIN)/python -m sphinx -E -q -W --keep-going

docs: $(READY)  ## HTML pages in docs/_build: examples run, links and names are checked
	@rm -rf docs/_build docs/gallery
	@$(SPHINX) -b html docs docs/_build
	@$(BIN)/python scripts/check_docs.py docs/_build

links: $(READY)  ## do the pages' links to other sites work? Needs a network
	@$(SPHINX) -D plot_gallery=0 -b linkcheck docs docs/_build/links

bench: $(READY)  ## measure the speed
	@$(BIN)/python -m benchmarks

clean:  ## remove caches and built pages (environments and results stay)
	@rm -rf docs/_build docs/gallery dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +
