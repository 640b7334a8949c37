# Two commands on a fresh machine: `make demo` and `make test`. They need Python 3.10 or newer and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# setuptools warns about every editable install that maps a folder, as ours does with signatures/ on purpose.
INSTALL := PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check
# For the virtual environment with an older TensorFlow.
PYTHON311 ?= python3.11
# How many processes run the tests; auto: one more than there are processors.
JOBS ?= auto
# How often each measurement is repeated.
PAIRS ?= 9
RUNS ?= 5
# How many broken dumps to try, and the seed they are made from.
COUNT ?= 2000
SEED ?= 1
# The tests start triage a few thousand times; without bytecode files each start would compile all of it again.
BYTECODE := PYTHONDONTWRITEBYTECODE=
SOURCES := setup.cfg setup.py pyproject.toml
# What `make test-frameworks` must not skip.
FRAMEWORKS := pytorch,jax,onnxruntime,xgboost,lightgbm,opencv

.PHONY: demo picture test test-frameworks test-commands windows test-windows lint docs triggers schema calibrate bench-start bench-run fuzz-minidump bench-minidump clean help

help:
	@echo "make demo            run a real TensorFlow crasher under triage"
	@echo "make test            install what the tests need and run them (JOBS=1: one after the other)"
	@echo "make test-frameworks install PyTorch, JAX and others (some gigabytes) and test their crashers"
	@echo "make test-commands   run the commands that reports show with an older TensorFlow (PYTHON311=python3.11)"
	@echo "make test-windows    test the Windows collector under wine (SHORT=1: a few cases)"
	@echo "make lint            check with ruff and mypy; check signatures, rooms, regular expressions and generated tables"
	@echo "make docs            update the table in CONTRIBUTING.md that is generated from docstrings"
	@echo "make picture         draw the report in the README anew, from a real run"
	@echo "make triggers        update the table of words by which container formats are recognised"
	@echo "make calibrate       fit the ranking to labelled reports (CASES=\"DIR …\" RELIABILITY=FILE)"
	@echo "make schema          update signatures/signature.schema.json, which editors use to complete and check signatures"
	@echo "make bench-start     measure how fast the commands answer"
	@echo "make bench-run       measure what running a program under triage costs (PAIRS=1: a short version)"
	@echo "make fuzz-minidump   analyze broken dumps (COUNT=200: a short version)"
	@echo "make bench-minidump  measure time and memory for a large and a small dump"
	@echo "make clean           remove everything that make created"

# Each stamp file is one step of the setup, repeated only when what it depends on has changed.
$(VENV)/.made:
	@echo "== making a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or newer is needed; try: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "The venv module is missing; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@$(INSTALL) --upgrade pip
	@touch $@

$(VENV)/.triage: $(VENV)/.made $(SOURCES)
	@echo "== installing triage"
	@$(INSTALL) --editable .
	@touch $@

$(VENV)/.tensorflow: $(VENV)/.triage
	@echo "== installing TensorFlow, the thing that is triaged (about 300 MB, a minute or two)"
	@$(INSTALL) --editable '.[tensorflow]'
	@touch $@

$(VENV)/.test: $(VENV)/.triage
	@echo "== installing what the tests need"
	@$(INSTALL) --editable '.[test]'
	@touch $@

$(VENV)/.lint: $(VENV)/.triage
	@echo "== installing the linters"
	@$(INSTALL) --editable '.[lint]'
	@touch $@

demo: $(VENV)/.tensorflow
	@echo "== triage run fixtures/crashers/oom_in_fit.py: a Keras fit whose batch is too large (some 20 seconds)"
	@$(BIN)/triage run fixtures/crashers/oom_in_fit.py; code=$$?; echo; \
		echo "== exit code $$code: the script's own, a segmentation fault"; test $$code -eq 139

test: $(VENV)/.test $(VENV)/.tensorflow
	@echo "== running the tests"
	@$(BYTECODE) $(BIN)/python -m pytest -n $(JOBS)

$(VENV)/.frameworks: $(VENV)/.test
	@echo "== installing PyTorch, JAX, ONNX Runtime, XGBoost, LightGBM and OpenCV (some gigabytes, several minutes)"
	@$(INSTALL) --editable '.[frameworks]'
	@touch $@

# Not part of `make test`, which skips these where the frameworks are not there.
test-frameworks: $(VENV)/.frameworks
	@echo "== running the crashers over other frameworks"
	@TRIAGE_REQUIRE="$(FRAMEWORKS)" $(BYTECODE) $(BIN)/python -m pytest -n $(JOBS) tests/test_frameworks.py

# The oldest TensorFlow that still installs, beside the one that `make test` runs the same commands with.
$(VENV)-tf215/.made:
	@echo "== installing TensorFlow 2.15 into $(VENV)-tf215 (about 250 MB)"
	@$(PYTHON311) -m venv --clear $(VENV)-tf215
	@$(VENV)-tf215/bin/python -m pip install --quiet --disable-pip-version-check 'tensorflow-cpu==2.15.*' 'numpy<2'
	@touch $@

test-commands: $(VENV)/.test $(VENV)/.tensorflow $(VENV)-tf215/.made
	@echo "== running the commands that only look with TensorFlow 2.15"
	@TRIAGE_COMMANDS_PYTHON="$(CURDIR)/$(VENV)-tf215/bin/python" TRIAGE_REQUIRE=tensorflow \
		$(BIN)/python -m pytest tests/diagnosis/advice/test_commands_that_look.py

# Sets up wine, mingw, two Windows Pythons and the crash programs; all but wine and mingw go to .windows/.
windows: $(VENV)/.test
	@$(BIN)/python tests/windows/set_up.py

test-windows: windows
	@echo "== running the tests under wine"
	@TRIAGE_REQUIRE=windows TRIAGE_WINDOWS=$(if $(SHORT),short,all) \
		TRIAGE_WINDOWS_PYTHON="$(if $(SHORT),,$(CURDIR)/.windows/python3.8:$(CURDIR)/.windows/python3.11)" \
		$(BIN)/python -m pytest tests/windows $(if $(SHORT),,tests/readers/minidump/test_walk_like_lldb.py) --durations=5

lint: $(VENV)/.lint
	@echo "== ruff"
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet .
	@echo "== mypy --strict"
	@$(BIN)/mypy
	@$(BIN)/mypy --platform win32 --config-file tests/windows/mypy.ini
	@echo "== signatures"
	@$(BIN)/triage signatures lint
	@echo "== rooms"
	@$(BIN)/python tests/rooms.py
	@echo "== regular expressions"
	@$(BIN)/python tests/expressions.py
	@echo "== clue kinds"
	@$(BIN)/python tests/clue_kinds.py
	@echo "== trigger words"
	@$(BIN)/python tests/container_triggers.py

docs: $(VENV)/.triage
	@$(BIN)/python tests/clue_kinds.py --write

triggers: $(VENV)/.triage
	@$(BIN)/python tests/container_triggers.py --write

calibrate: $(VENV)/.triage
	@test -n "$(CASES)" || { echo 'Which labelled reports? make calibrate CASES="DIR …"'; exit 2; }
	@$(BIN)/python -m triage.maintain.calibrate $(CASES) $(if $(RELIABILITY),--reliability "$(RELIABILITY)")

schema: $(VENV)/.triage
	@$(BIN)/python -m triage.knowledge.schema

# Measured on a wheel, as people install it: an editable install reads the YAML, a wheel has the index built in.
$(VENV)-bench/.made: $(SOURCES) $(shell find triage signatures -name '*.py' -o -name '*.yaml')
	@echo "== building a wheel and installing it into $(VENV)-bench"
	@$(PYTHON) -m venv --clear $(VENV)-bench
	@$(VENV)-bench/bin/python -m pip install --quiet --upgrade pip
	@$(VENV)-bench/bin/python -m pip install --quiet .
	@touch $@

picture: $(VENV)/.tensorflow
	@$(BIN)/python docs/make_picture.py

bench-start: $(VENV)-bench/.made
	@$(VENV)-bench/bin/python benchmarks/start.py

fuzz-minidump: $(VENV)/.triage
	@$(BIN)/python tests/fuzzing/fuzz_minidump.py --count $(COUNT) --seed $(SEED)

bench-minidump: $(VENV)-bench/.made
	@RUNS=$(RUNS) $(VENV)-bench/bin/python benchmarks/minidump.py

bench-run: $(VENV)-bench/.made $(VENV)/.tensorflow
	@PAIRS=$(PAIRS) TENSORFLOW_PYTHON="$(CURDIR)/$(BIN)/python" $(VENV)-bench/bin/python benchmarks/run.py

clean:
	rm -rf $(VENV) $(VENV)-bench $(VENV)-tf215 .windows build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
