# `make demo` and `make test` set up everything they need in .venv, on a machine with Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := runs/demo-$(shell date +%Y%m%d-%H%M%S)

.PHONY: demo test lint bench clean

demo: $(READY)  ## Explore Montezuma's Revenge until the first key, then film the way to it.
	$(BIN)/goexplore explore ALE/MontezumaRevenge-v5 --until-score 100 --minutes 10 --out $(DEMO)
	$(BIN)/goexplore render $(DEMO)

test: lint  ## Everything that must hold before a commit lands.
	$(BIN)/pytest --numprocesses logical --dist loadfile

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/goexplore bench explore

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV): one to three minutes, once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV)
