# Everything here works on a fresh machine with Python 3.11 or newer: `make demo`, `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
RESULTS ?= build/gpu-test
CAPTURES ?= build/captures
EXAMPLE := examples/matvec.cu
# Python keeps what it compiled: else every run of the tests starts by compiling all of them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-exhaustive attack fuzz gpu-test captures browser-test lint types docs rules reports screenshots \
	lock wheel clean help gate-report corpus-report predict-report predict-others predict-times init-others fleet-report

help:
	@echo "make demo    diagnose a kernel from its source, without a GPU"
	@echo "make test    run the tests, in two and a half minutes on two cores"
	@echo "make test-all  run the slow tests as well, as CI does"
	@echo "make test-exhaustive  run all kernels of the corpus and all exports through tests that CI runs on a part of them"
	@echo "make attack  hidden regressions, forged values, hostile sources, and 20,000 mutants: reports/attack.md (ATTACK_SEED)"
	@echo "make fuzz    try files that are nearly right for ten minutes (FUZZ_SECONDS, FUZZ_SEED)"
	@echo "make gpu-test  run the tests that need a GPU, ncu and nvcc; leaves a report in $(RESULTS)"
	@echo "make captures  measure every capture of this repository again, into $(CAPTURES)"
	@echo "make browser-test  open the HTML reports in headless Chromium (needs chromium and npm)"
	@echo "make lint    ruff: rules and format; the direction of imports"
	@echo "make types   mypy --strict"
	@echo "make docs    run the commands that the documentation shows, and build it as a site into build/docs"
	@echo "make rules   write reports/rules.md from the rules"
	@echo "make reports  write the HTML reports into build/reports, and their digests into reports/pages.toml"
	@echo "make screenshots  take pictures of the HTML reports into build/reports/screenshots (needs chromium)"
	@echo "make gate-report  write reports/gate-h200.md from the captures of known changes"
	@echo "make corpus-report  score the corpus again, into reports/corpus-h200.md and build/reports/corpus-h200.html"
	@echo "make predict-report  predict every kernel, beside what an H200 measured, into reports/predict-h200.md"
	@echo "make predict-others CHECKOUTS=DIR  predict kernels of other people, into reports/predict-others.md"
	@echo "make predict-times CHECKOUTS=DIR  compare times predicted for them with measured ones"
	@echo "make init-others CHECKOUTS=DIR  specify kernels of other people, into reports/init-others.md"
	@echo "make fleet-report  measure a store of 5.5 million launches and 10,000 captures, into build/fleet"
	@echo "make lock    pin what actions and releases install again, with hashes, into requirements/"
	@echo "make wheel   build dist/*.whl (by way of the source archive)"
	@echo "make clean   remove the environment and everything built"

# Exit code 3 says that only a GPU tells all of it.
demo: $(VENV)/.predict
	$(BIN)/kernelprof diagnose $(EXAMPLE) --predict || [ $$? -eq 3 ]
	@printf '%s\n' '' 'Try next (. $(BIN)/activate):' \
		'  kernelprof doctor                      # what this machine can measure' \
		'  kernelprof diagnose kernel.cu          # a kernel of yours' \
		'  kernelprof diagnose report.ncu-rep     # a capture of yours'

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-all: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-exhaustive: $(VENV)/.dev
	EXHAUSTIVE=1 $(BIN)/python -m pytest -n 2 --dist worksteal

attack: $(VENV)/.dev
	EXHAUSTIVE=1 $(BIN)/python -m pytest -n 2 -q tests/comparison/gate/test_hidden.py tests/fuzz \
	  tests/test_worker.py tests/test_limits.py tests/test_tools.py tests/server tests/prediction/test_confined.py
	$(BIN)/python -m tests.fuzz.attack

fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz

gpu-test: $(VENV)/.dev
	KERNELPROF_GPU_RESULTS=$(RESULTS) $(BIN)/python -m pytest tests/gpu -rA --durations=0

captures: $(VENV)/.dev
	BUDGET_S=3600 PYTHON=$(abspath $(BIN)/python) tests/kernels/capture.sh $(CAPTURES)/kernels
	$(MAKE) gpu-test RESULTS=$(CAPTURES)/gpu-test
	$(BIN)/python -m kernelprof ladder run --captures $(CAPTURES)/ladder -o $(CAPTURES)/ladder.md
	$(BIN)/python -m kernelprof ladder run bf16 --captures $(CAPTURES)/ladder-bf16 -o $(CAPTURES)/ladder-bf16.md
	$(BIN)/python -m benchmarks.ladder run $(CAPTURES)/ladder.json --full-set --sweep \
		-o $(CAPTURES)/ladder-measured.json

browser-test: $(VENV)/.browser web/node_modules/.package-lock.json
	KERNELPROF_BROWSER_TESTS=required $(BIN)/python -m pytest tests/html -n 2 --durations=5

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.docs
	EXHAUSTIVE=1 $(BIN)/python -m pytest -n 2 tests/test_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

rules: $(VENV)/.runtime
	$(BIN)/python -m kernelprof.report.documents.rule > reports/rules.md.new
	mv reports/rules.md.new reports/rules.md

# A test runs these commands and compares digests: the same input gives the same bytes.
reports: $(VENV)/.predict
	mkdir -p build/reports
	$(BIN)/python -m kernelprof report src/kernelprof/recorded/h200/03_shared_tile -o reports/one-kernel.html
	$(BIN)/python -m kernelprof report tests/captures/source_page/transpose -o build/reports/source.html
	$(BIN)/python -m kernelprof diagnose examples/matvec.cu --predict --html build/reports/predicted.html
	$(BIN)/python -m kernelprof report tests/captures/gemm_series.full.raw.csv -o build/reports/many-kernels.html
	$(BIN)/python -m kernelprof report tests/captures/gemm_series.eight-metrics.raw.csv -o build/reports/inconclusive.html
	$(BIN)/python -m kernelprof ladder report reports/ladder-h200.json --captures src/kernelprof/recorded/h200 --html build/reports/ladder-h200.html
	$(BIN)/python -m kernelprof ladder report reports/ladder-bf16-h200.json --captures src/kernelprof/recorded/h200-bf16 --html build/reports/ladder-bf16-h200.html
	$(BIN)/python -m kernelprof compare src/kernelprof/recorded/h200/01_naive src/kernelprof/recorded/h200/02_coalesced --html build/reports/comparison.html
	$(BIN)/python -m kernelprof report tests/captures/validation/frameworks_nvtx.raw.csv.gz -o build/reports/frameworks.html
	$(BIN)/python -m kernelprof history tests/captures/h200_changes --html build/reports/history.html
	$(BIN)/python -m kernelprof gate tests/captures/h200_changes/tile/1 tests/captures/h200_changes/tile-barrier/1 --html build/reports/gate.html || [ $$? -eq 1 ]
	$(BIN)/python -m tests.support.pages

screenshots: $(VENV)/.browser reports
	$(BIN)/python web/screenshots.py

gate-report: $(VENV)/.dev
	$(BIN)/python -m tests.comparison.gate.report > reports/gate-h200.md.new
	mv reports/gate-h200.md.new reports/gate-h200.md

corpus-report: $(VENV)/.runtime
	mkdir -p build/reports
	$(BIN)/python -m benchmarks.corpus score --halves --peers reports/corpus-peers.json --format markdown -o reports/corpus-h200.md --html build/reports/corpus-h200.html
	$(BIN)/python -m tests.support.pages

# What is known of a source, as it and the predictor are now, stays in build/predict.
predict-report: $(VENV)/.dev
	$(BIN)/python -m benchmarks.predict run
	$(BIN)/python -m benchmarks.predict write -o reports/predict-h200.md

# CHECKOUTS holds the repositories that benchmarks/predict/others/repositories.toml names.
predict-others: $(VENV)/.dev
	$(BIN)/python -m benchmarks.predict.others $(CHECKOUTS) > reports/predict-others.md.new
	mv reports/predict-others.md.new reports/predict-others.md

predict-times: $(VENV)/.dev
	$(BIN)/python -m benchmarks.predict.others.times $(CHECKOUTS) > reports/predict-times-h200.md.new
	mv reports/predict-times-h200.md.new reports/predict-times-h200.md

init-others: $(VENV)/.dev
	$(BIN)/python -m benchmarks.init $(CHECKOUTS) > reports/init-others.md.new
	mv reports/init-others.md.new reports/init-others.md

fleet-report: $(VENV)/.dev
	mkdir -p build/fleet
	$(BIN)/python -m benchmarks.fleet large -o build/fleet/large.json
	$(BIN)/python -m benchmarks.fleet many -o build/fleet/many.json

# For every Python and machine at once, with nothing in it that says where it came from.
lock: $(VENV)/.dev
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --upgrade --no-header \
		--only-binary :all: pyproject.toml requirements/build.in -o requirements/gate.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --only-binary :all: \
		--extra predict --constraint requirements/gate.lock \
		pyproject.toml requirements/build.in -o requirements/predict.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --only-binary :all: \
		--constraint requirements/gate.lock requirements/tools.in -o requirements/tools.lock

wheel: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) dist build web/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	"kernelprof needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.predict: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[predict]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/.dev
	$(PIP) --editable '.[dev,docs]'
	@touch $@

$(VENV)/.browser: pyproject.toml | $(VENV)/.dev
	$(PIP) --editable '.[dev,browser]'
	@touch $@

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm ci --silent
	@touch $@
