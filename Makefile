# Needs Python 3.11 or newer and make, nothing else. `make run` to try it, `make test` to check it.
SHELL := /bin/sh
VENV ?= .venv
PY := $(VENV)/bin/python
# What `make run` needs, and that with what checks it.
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
# Twice the cores it is meant for: tests wait for clocks and other processes, while others compute.
WORKERS ?= 4
# Whether the long part of the suite runs: `with` it, `without` it, it `only`.
SLOW ?= without
CANDIDATES := python3.14 python3.13 python3.12 python3.11 python3
# The first Python that is new enough, and of those one that can make a venv.
NEW := import sys; sys.exit(sys.version_info < (3, 11))
WHOLE := import ensurepip, venv; $(NEW)
choose = $(shell for p in $(CANDIDATES); do if $$p -c '$(1)' >/dev/null 2>&1; then command -v $$p; break; fi; done)
PYTHON ?= $(or $(call choose,$(WHOLE)),$(call choose,$(NEW)))

# Bytecode is kept whatever the environment says: the tests start hundreds of processes of the same code.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := run
.PHONY: run embeddings setup test lint types compiled browser programs soak bench lock

run: $(RUNTIME)
	@exec $(PY) -m bot demo

setup: $(STAMP)

define venv
	@if ! $(PY) -c '$(NEW)' >/dev/null 2>&1; then \
	  if [ -z "$(PYTHON)" ]; then \
	    echo "Python 3.11 or newer is needed: install it, or name one with make PYTHON=/path/to/python3"; exit 1; fi; \
	  if ! $(PYTHON) -c '$(WHOLE)' >/dev/null 2>&1; then \
	    echo "$(PYTHON) is too old, or lacks venv (on Debian and Ubuntu: apt-get install python3-venv)"; exit 1; fi; \
	  echo "Making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv --clear $(VENV); fi
endef
# The locks are complete, so pip need not resolve.
PIP := $(PY) -m pip install --disable-pip-version-check --require-hashes --no-deps --only-binary :all:

$(RUNTIME): requirements/run.txt
	$(venv)
	@echo "Installing what the product needs (once, about a minute)"
	@$(PIP) -r $<
	@touch $@

$(STAMP): requirements/dev.txt
	$(venv)
	@echo "Installing $<"
	@$(PIP) --quiet -r $<
	@touch $(RUNTIME) $@

# Optional: files are found by what they say in other words, too (docs/configuration.md).
embeddings: $(RUNTIME)
	@$(PIP) --quiet -r requirements/embeddings.txt

# What does not wait for each other is done side by side: installing, then checking.
test:
	@$(MAKE) --no-print-directory -j2 setup programs
	@$(MAKE) --no-print-directory -j3 lint types compiled
	$(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --slow $(SLOW) $(ARGS)

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m tests.dead_code

# The tests' assertions are rewritten here, and not by each of pytest's workers once more. What cannot be collected is
# told by the run itself.
compiled: setup
	@$(PY) -m pytest --collect-only -q >/dev/null 2>&1 || true

# mypy gives up with status 2 where a worker of it takes 3 s to start, as on a full machine: then one process does it.
types: setup
	$(PY) -m mypy || { [ $$? = 2 ] && $(PY) -m mypy --num-workers 0; }

# Browser tests want Chromium, and best its headless shell, which takes half of the time. Without any and without the
# right to install it they are skipped, and say so.
browser:
	@if ! command -v chromium-headless-shell >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "Installing Chromium for the browser tests"; apt-get update -qq >/dev/null; \
	    for it in chromium-headless-shell chromium; do \
	      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$it >/dev/null && break; \
	    done || echo "Chromium could not be installed"; fi; \
	  command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || \
	    command -v google-chrome || echo "There is no Chromium: the browser tests will be SKIPPED"; fi

# Tests of OCR, of a screen and of its clipboard want these. The same: without them they are skipped, and say so.
programs: browser
	@missing=$$(for pair in tesseract:tesseract-ocr Xvfb:xvfb xclip:xclip; do \
	  command -v $${pair%%:*} >/dev/null || echo $${pair##*:}; done); \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "Installing for the tests:" $$missing; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } \
	      >/dev/null || echo "Not installed, so tests will be SKIPPED:" $$missing; \
	  else echo "Missing, so tests will be SKIPPED:" $$missing; fi; fi

soak: setup
	$(PY) -m pytest -m soak --timeout 0 $(ARGS)

bench: setup
	$(PY) -m benchmarks $(ARGS)

# Versions stay as they are unless pyproject.toml or ARGS=--upgrade says otherwise. The file names no index.
UV ?= $(or $(wildcard $(VENV)/bin/uv),uv)
lock:
	@command -v $(UV) >/dev/null || { echo "uv is needed to lock: install it, or name it with make UV=/path/to/uv"; exit 1; }
	@$(call locked,run,)
	@$(call locked,embeddings,--extra embeddings --constraint requirements/run.txt)
	@$(call locked,dev,--extra dev --constraint requirements/embeddings.txt)

locked = $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
  $(2) $(ARGS) --output-file requirements/$(1).txt pyproject.toml && \
  ! grep -nE '[a-z]+://' requirements/$(1).txt || { echo "requirements/$(1).txt names an address: see the lines above"; exit 1; }
