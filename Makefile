# Everything from a machine with python3, pip and make:
#   make demo       a real answer in a minute
#   make test       everything that continuous integration runs
#   make test-all   the tests on every Python 3.11, 3.12 and 3.13 that is found
#   make test-core  the tests that need numpy and scipy alone, in an environment that has no more
#   make coverage   the tests, with the lines that none of them reaches; fails below the floor in pyproject.toml
#   make test-slow  statistical checks of minutes
#   make test-portable  the tests as on three other processors, by the libraries' own switches
#   make test-browser  the pages in Chromium, with node and npm: console, numbers, width, accessibility
#   make test-types  the public names as mypy and pyright have them, with node and npm: tests/typing/downstream.py
#   make test-extras  every extra alone in an environment of its own, with its example; EXTRAS="plot cli" for some
#   make fuzz       20,000 random calls of `bootstrap`, held to what must be true of every one; CASES=N, SEED=N
#   make map        the map of docs/developer/architecture.md, and whether the house is in order
#   make build      the wheel and the sdist, each tried in an environment of its own
#   make docs       the documentation as a site, in build/docs; a warning is an error
#   make hooks      the linters of `make lint` before every commit
#   make bench      the tables of docs/benchmarks.md
#   make bench-large  data beyond memory: two small workers of dask, and a scan of a Parquet file
#   make bench-peers  ours beside scipy, arch, resample, scikit-learn and foostrap, and how it scales; LARGEST=1e8
#   make paper      the tables and figures of docs/paper.md, half an hour; DATA=DIR for data sets that lie there

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
CASES ?= 20000
SEED ?= 0
LARGEST ?= 1e7
EXTRAS ?=
VERSIONS := 3.11 3.12 3.13

.PHONY: demo test test-all test-core test-slow test-portable test-browser test-types test-extras fuzz coverage lint pytest docs hooks map build bench bench-large bench-peers paper clean

demo: $(VENV)/.core
	$(BIN)/python examples/demo.py

test: lint pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

pytest: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-core: $(VENV)-core/.test
	$(VENV)-core/bin/python -m pytest -n 2 --dist worksteal

test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow -s

test-portable: $(VENV)/.dev
	$(BIN)/python -m tests.portable

# Versions as in constraints.txt: what these say decides whether a change lands.
test-browser: $(VENV)/.dev build/browser/node_modules
	$(BIN)/python -m pytest -m browser -s tests/browser

build/browser/node_modules:
	mkdir -p build/browser
	npm install --prefix build/browser --no-audit --no-fund axe-core@4.14.0 playwright-core@1.65.1

test-types: $(VENV)/.dev build/types/node_modules
	$(BIN)/mypy tests/typing
	node build/types/node_modules/pyright/index.js --pythonpath $(BIN)/python

build/types/node_modules:
	mkdir -p build/types
	npm install --prefix build/types --no-audit --no-fund pyright@1.1.414

test-extras: | $(VENV)/bin/python
	rm -rf build/extras
	$(PIP) build
	$(BIN)/python -m build --wheel --outdir build/extras
	$(BIN)/python -m tools.extras --dist build/extras $(EXTRAS)

fuzz: $(VENV)/.dev
	$(BIN)/python -m tools.fuzz --jobs 2 --cases $(CASES) --seed $(SEED)

coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov

# From nothing, so that a page that is gone leaves no trace.
docs: $(VENV)/.docs
	rm -rf build/docs docs/reference/generated
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo build/docs/index.html

hooks: $(VENV)/.dev
	$(BIN)/pre-commit install

map: $(VENV)/.dev
	$(BIN)/python docs/developer/map.py --write

# As those have it who install the wheel, or unpack the sdist: -I, so that nothing of this folder is imported.
build: | $(VENV)/bin/python
	rm -rf dist build
	$(PIP) build twine
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	build/wheel/bin/python -I examples/demo.py
	mkdir build/sdist
	tar -xzf dist/*.tar.gz -C build/sdist --strip-components 1
	$(MAKE) -C build/sdist VENV=.venv demo test-core

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.variance_table
	$(BIN)/python -m benchmarks.simulation_error
	$(BIN)/python -m benchmarks.engine_bias
	$(BIN)/python -m benchmarks.regression_engine
	$(BIN)/python -m benchmarks.control_quantiles
	$(BIN)/python -m benchmarks.abc_kinks
	$(BIN)/python -m benchmarks.kernels
	$(BIN)/python -m benchmarks.autodiff
	$(BIN)/python -m benchmarks.regression
	$(BIN)/python -m benchmarks.roc_auc
	$(BIN)/python -m benchmarks.networks
	$(BIN)/python -m benchmarks.prediction

# Where a ratio fell by more than a fifth the run ends here, and the page keeps the last one.
bench-large: $(VENV)/.dev
	$(BIN)/python -m benchmarks.large_data

bench-peers: $(VENV)/.bench
	$(BIN)/python -m benchmarks.peers --out build/peers.json $(addprefix --compare ,$(wildcard docs/benchmarks/peers.json))
	$(BIN)/python -m benchmarks.scaling --out build/scaling.json --largest $(LARGEST)
	$(BIN)/python -m benchmarks.tables build/peers.json build/scaling.json

paper: $(VENV)/.paper
	$(BIN)/orthoboot reproduce all --out docs/paper $(if $(DATA),--data $(DATA))
	$(BIN)/python docs/fill_paper.py

# A version counts as found if its interpreter runs: on the path, or among the versions pyenv keeps.
test-all:
	@set -e; for version in $(VERSIONS); do \
	  for candidate in "python$$version" "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version*/bin/python; do \
	    if "$$candidate" --version >/dev/null 2>&1; then \
	      echo "== Python $$version: $$candidate"; \
	      $(MAKE) --no-print-directory pytest PYTHON="$$candidate" VENV=".venv-$$version"; break; \
	    fi; \
	  done; \
	done

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[dev]"
	@touch $@ $(VENV)/.core

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[docs]"
	@touch $@ $(VENV)/.core

$(VENV)-core/.test: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-core
	$(VENV)-core/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]"
	@touch $@

$(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[bench]"
	@touch $@ $(VENV)/.core

$(VENV)/.paper: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[dev,paper]"
	@touch $@ $(VENV)/.dev $(VENV)/.core

clean:
	rm -rf .venv .venv-* dist build docs/_build docs/reference/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
