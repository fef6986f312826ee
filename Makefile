# Everything a developer needs; `make help` lists it. Nothing is installed outside .venv (and build/, for `make lock` and `make audit`)
# but what `make system` says.

VENV := .venv
BIN := $(VENV)/bin
PACKAGES := $(addprefix src/laissez/,market exchange wire server server/websocket)
SAMPLE := laissez-sample
LOCKS := requirements
TOOLING := build/tooling
SITE_TOOLS := build/site-tools

IN_RANGE := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
# `python3` if it is in range, else the newest that is. To choose one yourself: make PYTHON=/path/to/python
FIRST_IN_RANGE := for python in python3 python3.13 python3.12 python3.11; do \
	if $$python -c "$(IN_RANGE)" 2>/dev/null; then echo $$python; break; fi; done
PYTHON ?= $(shell $(FIRST_IN_RANGE))

# Two workers a core, because many tests wait for a server or a browser; tests that share a costly fixture are a group.
PARALLEL = -n $(shell expr 2 \* $$(nproc)) --dist loadgroup
PYTHONS = $(shell "$(PYTHON)" tests/pythons.py)
RUNTIME := $(VENV)/.runtime
TOOLS := $(VENV)/.tools
BUILT := $(VENV)/.built

# Tests start hundreds of processes: what Python compiled once is kept, whatever the environment says. `make clean` removes it.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test test-quick test-suite test-pythons lint test-interpreted test-compiled system bench docs reference build lock audit clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: $(RUNTIME) ## start the service with a sample market; Ctrl-C stops it, a second start goes on with it
	@exec $(BIN)/laissez up --data $(SAMPLE)

# Checking types and compiling take one core each, so they go side by side.
test: ## lint, then all tests on both forms of the market
	@$(MAKE) --no-print-directory --jobs=3 lint build system
	@$(MAKE) --no-print-directory test-suite

test-quick: build ## what a change breaks most often, in about a minute: no slow tests, on one form of the market
	@$(BIN)/pytest -q $(PARALLEL) -m 'not slow and not sources'

test-suite: build
	@$(MAKE) --no-print-directory test-interpreted
	@$(MAKE) --no-print-directory test-compiled

test-pythons: ## all tests on every supported Python found here, or on PYTHONS="/path/to/python3.12 ..."
	@for python in $(PYTHONS); do \
		version=$$($$python -c 'import platform; print(platform.python_version())') || exit 1; \
		echo "== Python $$version"; \
		$(MAKE) --no-print-directory test-suite PYTHON=$$python VENV=build/venv-$$version || exit 1; \
	done

lint: $(TOOLS) ## ruff and mypy
	@echo "== lint"
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet || { echo "not formatted: run $(BIN)/ruff format"; exit 1; }
	@$(BIN)/mypy

test-interpreted: $(TOOLS) ## tests of market and exchange on their Python sources; every branch must be reached
	@echo "== tests, market interpreted"
	@LAISSEZ_MARKET=interpreted $(BIN)/pytest -q $(PARALLEL) -m 'not once or sources' --cov=laissez.market --cov=laissez.exchange --cov-report=term

test-compiled: build ## all tests, on the compiled market
	@if [ -e $(BUILT) ]; then \
		echo "== tests, market compiled"; \
		LAISSEZ_MARKET=compiled $(BIN)/pytest -q $(PARALLEL) -m 'not sources'; \
	else \
		echo "no C compiler: what would run on the compiled market runs interpreted"; \
		LAISSEZ_MARKET=interpreted LAISSEZ_HISTORIES=1200 $(BIN)/pytest -q $(PARALLEL) tests/check/test_histories.py; \
		LAISSEZ_MARKET=interpreted $(BIN)/pytest -q $(PARALLEL) -m 'once and not sources'; \
	fi

# Some tests ask a real Prometheus, those of the console drive a real Chromium. They are installed where that can be done, without being started as a
# service (run level 1 is for repairs).
system: ## what the tests need of the system, where it can be installed
	@for tool in prometheus chromium; do \
		if command -v $$tool > /dev/null; then :; \
		elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
			echo "== installing $$tool, for its tests"; \
			export RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive; \
			{ timeout 60 apt-get update && timeout 120 apt-get install -y --no-install-recommends $$tool; } > /dev/null 2>&1 \
				|| echo "$$tool could not be installed: its tests are skipped"; \
		else \
			echo "$$tool is not installed: its tests are skipped (apt-get install $$tool)"; \
		fi; \
	done

bench: build ## measure how fast the market and the service are here
	@$(BIN)/laissez bench market
	@$(BIN)/laissez bench service

docs: $(SITE_TOOLS) ## build the documentation as a site with search: build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(SITE_TOOLS)/bin/mkdocs build --strict
	@echo "built: open build/site/index.html"

reference: $(TOOLS) ## write the generated parts of docs/reference anew: cli.md, settings.md, journal.md
	@cd tests && for page in cli settings journal; do ../$(BIN)/python -m docs.test_$$page || exit 1; done

build: $(BUILT) ## compile the market in place, if there is a C compiler

# Whoever installs needs none of these tools: they have an environment of their own, and are locked like everything else.
lock: $(TOOLING) ## lock the newest versions that pyproject.toml allows, with their hashes
	@echo 'setuptools>=77.0.3' | $(COMPILE) pyproject.toml - --extra server --output-file $(LOCKS)/run.lock
	@$(COMPILE) pyproject.toml --extra server --extra sim --extra test --constraint $(LOCKS)/run.lock --output-file $(LOCKS)/develop.lock
	@printf 'mypy\n' | $(COMPILE) - --constraint $(LOCKS)/develop.lock --output-file $(LOCKS)/build.lock
	@printf 'mkdocs-material\n' | $(COMPILE) - --constraint $(LOCKS)/develop.lock --output-file $(LOCKS)/docs.lock
	@printf 'pip-audit\nuv\n' | $(COMPILE) - --output-file $(LOCKS)/tools.lock

audit: $(TOOLING) ## look all locked packages up in a database of known vulnerabilities
	@$(TOOLING)/bin/python $(LOCKS)/audit.py

clean: ## remove everything that make has made, except the sample market
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache src/*.egg-info src/laissez/*.so $(addsuffix /*.so,$(PACKAGES))
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The virtual environment, with the package in it as an editable install and nothing that only developers need. What others made comes as the
# very files that were locked, and only built ones: to build one here would bring tools that are not. The market is compiled by another rule, so
# the install needs no compiler of its own (--no-build-isolation), which makes it quick.
# Python compiles to bytecode what is used, when it is used: compiling all of it here would take a third of the time.
PIP_INSTALL := pip install --quiet --disable-pip-version-check --no-compile --no-deps
LOCKED := --require-hashes --only-binary :all: --requirement
OURS := --no-build-isolation --editable
COMPILE := UV_CUSTOM_COMPILE_COMMAND='make lock' $(TOOLING)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes

$(RUNTIME): pyproject.toml setup.py $(LOCKS)/run.lock
	@if [ -z "$(PYTHON)" ] || ! "$(PYTHON)" -c "$(IN_RANGE)"; then \
		echo "LaissezCloud needs Python 3.11, 3.12 or 3.13; $(if $(PYTHON),$(PYTHON) is not one,none was found on PATH)."; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.12"; exit 1; fi
	@if [ -e $(VENV) ] && ! $(BIN)/python -c "$(IN_RANGE)" 2>/dev/null; then rm -rf $(VENV); fi
	@echo "== installing into $(VENV)"
	@[ -x $(BIN)/pip ] || "$(PYTHON)" -m venv $(VENV)
	@$(BIN)/$(PIP_INSTALL) $(LOCKED) $(LOCKS)/run.lock
	@LAISSEZ_BUILD=interpreted $(BIN)/$(PIP_INSTALL) $(OURS) .
	@touch $@

$(TOOLS): $(RUNTIME) src/pyproject.toml $(LOCKS)/develop.lock
	@echo "== installing the tools for developers (half a minute or so the first time)"
	@$(BIN)/$(PIP_INSTALL) $(LOCKED) $(LOCKS)/develop.lock
	@$(BIN)/$(PIP_INSTALL) $(OURS) src
	@touch $@

$(TOOLING): $(LOCKS)/tools.lock
	@rm -rf $@ && "$(PYTHON)" -m venv $@
	@$@/bin/$(PIP_INSTALL) $(LOCKED) $(LOCKS)/tools.lock

$(SITE_TOOLS): $(LOCKS)/docs.lock
	@rm -rf $@ && "$(PYTHON)" -m venv $@
	@$@/bin/$(PIP_INSTALL) $(LOCKED) $(LOCKS)/docs.lock

# No stamp is left where there is no compiler, so that one installed later is noticed.
$(BUILT): $(TOOLS) $(wildcard src/laissez/units.py $(addsuffix /*.py,$(PACKAGES)))
	@rm -f $@
	@if $(BIN)/python -B -c 'import setup, sys; sys.exit(not setup.compiler_works())'; then \
		echo "== compiling the market"; \
		LAISSEZ_BUILD=compiled $(BIN)/python setup.py --quiet build_ext --inplace && touch $@; \
	else \
		echo "no C compiler: the market runs interpreted"; \
		rm -f src/laissez/*.so $(addsuffix /*.so,$(PACKAGES)); \
	fi
