# Needs nothing but make and Python 3.11 or newer. The first target that is made sets up .venv, once.
# Written for GNU make 3.81 and later, since that is what Macs have.

BIN := .venv/bin
READY := .venv/.ready
OTHERS := .venv-others

.PHONY: help run test test-slow test-others lint format bench kernel-counts mutants experiments recall wheel bundle clean

help:
	@echo 'make run        open the app; without a screen, show in the terminal what the project does'
	@echo 'make test       run the tests, without the slow ones'
	@echo 'make test-slow  run the slow tests'
	@echo 'make test-others  run the tests on PyTorch and mlx-lm, in a .venv-others of some gigabytes'
	@echo 'make lint       check style and types'
	@echo 'make format     put the code into the common style'
	@echo 'make bench      measure the speed, beside PyTorch, transformers and CTranslate2 in .venv-others'
	@echo 'make kernel-counts  count what the Metal kernels move, beside those of MLX'
	@echo 'make mutants    put defects into the Metal kernels and see that each is caught; some minutes'
	@echo 'make experiments  train every mistake anew and write assets/experiments.json; about an hour'
	@echo 'make recall     train a toy for each kind of positions and write assets/recall.json; about forty minutes'
	@echo 'make wheel      build dist/*.whl'
	@echo 'make bundle     build the app in dist/, for people without Python, and try it'
	@echo 'make clean      remove all that make has made, .venv and .venv-others too'
	@echo 'PYTHON=... names the Python for a new .venv'

$(READY): pyproject.toml setup.py
	@scripts/setup

run: $(READY)
	@scripts/run

# Each test process has one thread for its products, or they would fight for the processor.
test: $(READY)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -m 'not slow' -n auto --maxprocesses 4 --dist loadfile

test-slow: $(READY)
	@$(BIN)/python -m pytest -q -m slow

$(OTHERS)/.ready: pyproject.toml setup.py
	@scripts/setup-others

test-others: $(OTHERS)/.ready
	@OPENBLAS_NUM_THREADS=1 $(OTHERS)/bin/python -m pytest -q tests/third_party -n auto --maxprocesses 4 --dist loadfile

lint: $(READY)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@scripts/check-types

format: $(READY)
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: $(READY) $(OTHERS)/.ready
	@$(OTHERS)/bin/mlxdecoder bench --only training translation
	@$(BIN)/mlxdecoder bench --only cache prefix tracing app

kernel-counts: $(READY)
	@$(BIN)/python -m tests.kernels.counts

mutants: $(READY)
	@$(BIN)/python -m tests.kernels.mutants

experiments: $(READY)
	@$(BIN)/mlxdecoder mistakes train --all --out assets/experiments.json

recall: $(READY)
	@$(BIN)/mlxdecoder evaluate recall --train all --out assets/recall.json

wheel: $(READY)
	@$(BIN)/python -m build --outdir dist

bundle: $(READY)
	@scripts/make-bundle

clean:
	rm -rf .venv $(OTHERS) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
