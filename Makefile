# discreet: one command for each thing that a person does here. `make` alone lists them.
# Everything runs in a virtual environment that the first command makes, from pyproject.toml.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
JOBS   ?= 3

.DEFAULT_GOAL := help
.PHONY: help demo serve test check bench docs audit torture format clean

help:  ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "discreet needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up .venv (once; one to three minutes) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input \
	  -e '.[dev,docs]' >$(VENV)/install.log 2>&1 \
	  || { tail -n 20 $(VENV)/install.log; echo "Setting up failed; the whole log is $(VENV)/install.log"; exit 1; }
	@touch $(READY)
	@echo "Ready."

demo: $(READY)  ## a made-up payroll under a policy: questions, a ledger, two figures
	@$(BIN)/discreet demo --out demo-output

serve: $(READY)  ## the curator on a network, over a made-up payroll: open the address it prints
	@$(BIN)/discreet serve --demo

test: $(READY)  ## all tests
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

check: $(READY)  ## format, lint, types, import contracts, fast tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m 'not slow'

bench: $(READY)  ## all benchmarks, as ratios; writes the tables of benchmarks/README.md
	@$(BIN)/python -m benchmarks

docs: $(READY)  ## the documentation site, in docs/_build/html
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

audit: $(READY)  ## prove every mechanism's guarantee by enumeration
	@$(BIN)/discreet audit

torture: $(READY)  ## kill and race the ledger ten thousand times; the corpus on Spark; the server (hours)
	@TORTURE=10000 $(BIN)/python -m pytest -q tests/curator/ledger tests/engines/test_spark.py tests/server

format: $(READY)  ## rewrite the code in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean:  ## remove the environment and everything made
	rm -rf $(VENV) build demo-output gallery-output discreet-demo docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
