# The commands of a developer's day.  `make demo` shows headrace at work, `make test` is what CI runs.

VENV   ?= .venv
PY     := $(VENV)/bin/python
ARGS   ?=
SECONDS ?= 300
MEDIUM  ?= files
MODE    ?= micro-batch
JOB     ?= machine

# Nothing listens beyond this machine, and workers run the interpreter of the virtual environment.
export SPARK_LOCAL_IP := 127.0.0.1
export PYSPARK_PYTHON := $(abspath $(PY))

.DEFAULT_GOAL := help
.PHONY: help java setup demo test check affected fmt golden docs bench chaos oracle oracle-venv flink-programs flink-scripts tpcds clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# ------------------------------------------------------------------------------------ setting up

java:
	@python=$$(scripts/find_python.sh) && "$$python" scripts/check_java.py

# Two stamps: the demo needs only what a user installs; everything else needs the tools as well.
$(VENV)/.installed: pyproject.toml constraints.txt
	@python=$$(scripts/find_python.sh) && { [ -x $(PY) ] || "$$python" -m venv $(VENV); }
	@echo 'installing headrace, PySpark and Arrow into $(VENV): about 700 MB, a minute or two'
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo 'installing the tools of developers into $(VENV)'
	@$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

setup: $(VENV)/.installed-dev  ## make the virtual environment

# ------------------------------------------------------------------------------------ every day

demo: java $(VENV)/.installed  ## a small streaming job on this machine
	@$(PY) examples/demo.py $(ARGS)

test: java setup check oracle-venv  ## what CI runs: check, unit tests, Spark tests
	$(PY) -m pytest tests/unit tests/properties tests/oracle -m "not slow and not spark" -q -n 2 --dist loadfile $(ARGS)
	$(PY) -m pytest tests/spark tests/kafka tests/oracle -m "not slow and (spark or not oracle)" -q -n 2 --dist loadfile $(ARGS)
	$(PY) -m pytest tests/cluster tests/chaos -m "not slow" -q $(ARGS)
	$(PY) -m pytest tests/continuous -m "not slow" -q $(ARGS)
	$(PY) -m pytest tests/dashboard -m "not slow" -q -n 2 --dist loadfile $(ARGS)

# What a change must keep without running anything: style, types, layers, names, signposts, pages.
check: setup  ## lint, types, structure; changes nothing, takes seconds
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo --no-cache
	$(PY) -m pytest tests/structure -q -n 0

# make affected ARGS='-m "not slow and not spark"'; ARGS=--list only tells the files.
affected: setup  ## the tests that import what this branch changes (ARGS=--list)
	$(PY) scripts/affected_tests.py $(ARGS)

fmt: setup  ## format and mend what ruff can mend
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

golden: setup  ## rewrite generated pages and golden files; review the diff
	$(PY) scripts/parity_page.py
	$(PY) scripts/options_page.py
	$(PY) scripts/sql_functions_page.py
	$(PY) scripts/sql_connectors_page.py
	$(PY) scripts/grafana_dashboard.py
	HEADRACE_GOLDEN=rewrite $(PY) -m pytest tests/unit -q -k golden

# ------------------------------------------------------------------------------------ now and then

docs: $(VENV)/.installed-docs  ## build the documentation into site/
	$(VENV)/bin/mkdocs build --strict

bench: java $(VENV)/.installed-bench  ## measure headrace against its neighbours (ARGS=--quick)
	$(PY) benchmarks/run.py $(ARGS)

# make chaos SECONDS=600 SEED=42; the seed of a run is its first line, and repeats its faults.
chaos: java setup  ## leave a job in peace, then kill everything that it stands on, for minutes (SECONDS=300 SEED=n JOB=sql|ha MEDIUM=kafka MODE=continuous)
ifeq ($(JOB),ha)
	PYTHONPATH=tests $(PY) -m chaos.leaders --seconds $(SECONDS) $(ARGS)
else
	PYTHONPATH=tests $(PY) -m chaos.runner --seconds $(SECONDS) --job $(JOB) --medium $(MEDIUM) --mode $(MODE) \
		$(if $(SEED),--seed $(SEED)) $(ARGS)
endif

# PyFlink's pins clash with ours, so it lives in a venv of its own.  Without it (offline, say) the
# tests that ask it directly are skipped with the reason; in CI that is a failure.
oracle-venv: setup
	-$(PY) tests/oracle/setup_venv.py

oracle: java setup oracle-venv  ## compare every answer with PyFlink's, asked again
	HEADRACE_ORACLE=full $(PY) -m pytest tests/oracle $(ARGS)

# make flink-programs FLINK_SRC=~/flink ARGS="part of a name"; a checkout of apache/flink, or its git directory.
flink-programs: setup  ## run Flink's declarative table programs and report (FLINK_SRC=... ARGS=...)
	FLINK_SRC=$(FLINK_SRC) PYTHONPATH=tests $(PY) -m flink_programs.report $(ARGS)

# make flink-scripts FLINK_SRC=~/flink ARGS="part of a script's name"; as above.
flink-scripts: setup  ## run Flink's SQL client scripts and report (FLINK_SRC=... ARGS=...)
	FLINK_SRC=$(FLINK_SRC) PYTHONPATH=tests $(PY) -m flink_scripts.report $(ARGS)

# make tpcds FLINK_SRC=~/flink ARGS="--streaming 14a 65"; without numbers all 103 queries.
tpcds: java setup  ## run Flink's texts of TPC-DS, judged by DuckDB (FLINK_SRC=... ARGS=--streaming)
	FLINK_SRC=$(FLINK_SRC) PYTHONPATH=tests $(PY) -m tpcds.report $(ARGS)

clean:  ## remove environments, caches and built pages
	rm -rf $(VENV) .venv-oracle site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
