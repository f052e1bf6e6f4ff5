# Needs Python >= 3.11, git and make. Nothing has to be activated or exported.
#   make quickstart   set up and evaluate a real model
#   make quick        set up and run what needs no database and no other process: between two edits
#   make test         set up and run every check but the slow tests, the same each time
#   make test-all     the same with the slow tests: what .ci/run runs
#   make docs         build the documentation site into build/docs/site
#   make benchmarks   measure everything that docs/reference/benchmarks.md shows; BENCHMARKS='--help' for options
#   make scale        one run of each size through four workers, killed half-way; SCALE='--sizes 1000000' for a million
#   make search       look further: new counterexamples at random, and what repeats a test at larger sizes
#   make mutants      draw mutants of the product and print those that no test detects; MUTANTS='--help' for options
#   make release      build a release of HEAD into build/release; RELEASE='--key FILE --source URL' signs it

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
PINS := .ci/constraints.txt

# uv needs a third of pip's time. It does not read pip's configuration: where that names an index or a proxy, pip
# installs, as it does where uv fails. With --quiet `config list` prints nothing.
define install
@{ case "$$($(BIN)/python -m pip config list)" in *.index-url=* | *.no-index=* | *.proxy=*) false ;; esac && \
	$(PIP) install --no-compile --constraint $(PINS) uv && \
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint $(PINS) $(1); } 2> .venv/uv.log || { \
	test ! -s .venv/uv.log || echo "make: uv failed (.venv/uv.log says why); installing with pip"; \
	$(PIP) install --no-compile --constraint $(PINS) 'pip>=25.1' && \
	$(PIP) install --no-compile --constraint $(PINS) $(1); }
endef

# An image often sets it. Without bytecode every process, and commands of tests are processes, compiles the program anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: quickstart quick test test-all docs search lint benchmarks scale mutants release clean

quickstart: .venv/weights
	@echo "make: evaluating the embedded model (configs/quickstart.yaml)"
	@$(BIN)/failproof-es start configs/quickstart.yaml
	@echo "(failproof-es is $(BIN)/failproof-es here; '. $(BIN)/activate' lets this shell call it by its name)"

# Twice as many processes as cores: tests with a server or with processes wait for much of their time.
# tests/timing.py orders the files: long files begin first, and no core waits for one at the end.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min(8, len(os.sched_getaffinity(0)) * 2))' 2>/dev/null || echo logical)
# The plug-in of schemathesis costs each process half a second, and nothing here uses it.
COLLECT = $(BIN)/python -m pytest -q --ignore=tests/benchmarks -p no:schemathesis
PYTEST = $(COLLECT) -n $(WORKERS) --maxprocesses=8 --dist loadfile --no-loadscope-reorder --durations=25

quick: .venv/dev
	@echo "make: ruff, and pytest on tests/unit without long tests"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/python -m pytest -q tests/unit -m 'not slow and not long and not wide' -n logical --maxprocesses=8 --dist worksteal -p no:schemathesis

# The type checker keeps one core busy for a minute, so it works beside the tests. Another core compiles the tests first:
# once, and not in each process of pytest. The output of the checks comes last; either can fail the target.
define check
@$(MAKE) --no-print-directory lint > .venv/lint.log 2>&1 & lint=$$!; \
	trap 'kill $$lint 2> .venv/killed.log; exit 130' INT TERM; \
	$(COLLECT) --collect-only > .venv/collected.log 2>&1; \
	echo "make: pytest$(2), and the other checks beside it"; \
	$(PYTEST) $(1); tests=$$?; \
	wait $$lint; checks=$$?; cat .venv/lint.log; \
	test $$tests = 0 || echo "make: pytest failed, see above" >&2; \
	test $$checks = 0 || echo "make: ruff, mypy or lint-imports failed" >&2; \
	test $$tests = 0 && test $$checks = 0
endef

test: .venv/dev .venv/weights
	$(call check,-m 'not slow and not wide', without the slow tests (make test-all runs them))

test-all: .venv/dev .venv/weights
	$(call check,-m 'not wide' --hypothesis-profile=many)

docs: .venv/docs
	@echo "make: building the documentation site"
	@$(BIN)/python -m tools.build_site build/docs

search: .venv/dev .venv/weights
	@echo "make: pytest, properties with random examples, and wide tests"
	@$(PYTEST) -m 'hypothesis or wide' --hypothesis-profile=search
	@echo "make: simulated histories from a random seed on"
	@$(BIN)/python -m tests.simulation --histories 4000 --first $$(date +%s)

lint: .venv/dev
	@echo "make: ruff, mypy, lint-imports"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports > .venv/imports.log || { cat .venv/imports.log; exit 1; }

benchmarks: .venv/dev .venv/weights
	@echo "make: benchmarks; the table at the end, and build/benchmarks/ for docs/reference/benchmarks.md"
	@$(BIN)/python -m tests.benchmarks $(BENCHMARKS)

scale: .venv/dev
	@echo "make: scale; the table at the end, and build/benchmarks/ for docs/concepts/scale.md"
	@$(BIN)/python -m tests.benchmarks.scale $(SCALE)

mutants: .venv/dev .venv/weights
	@echo "make: mutants; first the tests once with probes; the survivors at the end, the results in build/mutants/"
	@$(BIN)/python -m tools.mutants $(MUTANTS)

release: .venv/dev
	@echo "make: building a release of HEAD into build/release"
	@$(BIN)/python -m tools.releasing build $(RELEASE)

clean:
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

.venv/created:
	@test -n "$(PYTHON)" || { echo "make: no Python >= 3.11 found; install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "make: $(PYTHON) is no Python >= 3.11; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "make: creating .venv with $(PYTHON)"
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "make: $(PYTHON) cannot create virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/installed: .venv/created pyproject.toml $(PINS)
	@echo "make: installing failproof-es"
	$(call install,--editable '.[all]')
	@touch $@

.venv/dev: .venv/installed
	@echo "make: installing what the checks need"
	$(call install,--group dev)
	@touch $@

.venv/docs: .venv/installed
	@echo "make: installing what the documentation site needs"
	$(call install,--group docs)
	@touch $@

.venv/weights: .venv/installed
	@echo "make: installing the weights of smollm2"
	@$(BIN)/failproof-es models install smollm2
	@touch $@
