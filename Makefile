# The two commands of the README are `make demo` and `make test`; both set up all they need. `make help` lists the others.
PYTHON   ?= python3
SCALE    ?= 1
# Spark lines, from the one list of them (project/spark-lines.tsv); a ROW is the suffix of sbt's projects of a line
LINES    := $(shell tools/line.sh lines)
PRIMARY  := $(shell tools/line.sh role=primary)
OTHERS   := $(filter-out $(PRIMARY),$(LINES))
row       = $(shell tools/line.sh $(1) row)
ROW      := $(call row,$(PRIMARY))
ROWS     := $(foreach line,$(OTHERS),$(call row,$(line)))
# lines of which Maven Central has no Spark: the jars inside pyspark are their class path
UNMAVEN  := $(shell tools/line.sh jars=pyspark)
SOURCES  := $(shell find scala project -name '*.scala' -o -name '*.sbt' -o -name '*.properties' -o -name '*.tsv' \
            | grep -v /target/) build.sbt VERSION

BIN       = .venv/$(PRIMARY)/bin

.PHONY: help demo test test-all test-scala test-python test-slow test-lines test-wheel test-iceberg test-delta
.PHONY: pairs lint format generate wheel docs jars clean require
.SECONDARY:

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

require:
	@tools/require.sh $(PYTHON)

# one virtual environment per Spark line
.venv/%/ready: pyproject.toml project/spark-lines.tsv | require
	@echo "setting up .venv/$* …"
	@test -d .venv/$* || $(PYTHON) -m venv .venv/$*
	@.venv/$*/bin/pip install -q --disable-pip-version-check "pyspark==$$(tools/line.sh $* pyspark)"
	@.venv/$*/bin/pip install -q --disable-pip-version-check -e '.[cli,demo,dev]'
	@touch $@

.build/jar-$(PRIMARY): $(SOURCES) | require
	./sbt bundlePrimaryJar
	@mkdir -p .build && touch $@

.build/jars: $(SOURCES) $(UNMAVEN:%=.venv/%/ready) | require
	./sbt bundleJars
	@mkdir -p .build && touch .build/jar-$(PRIMARY) $@

jars: .build/jars ## the jar of every Spark line, into python/dovetail/jars

demo: .build/jar-$(PRIMARY) .venv/$(PRIMARY)/ready ## TPC-DS (SCALE=1) under plain Spark and under Dovetail, side by side
	$(BIN)/dovetail demo --scale $(SCALE)

test: test-scala test-python ## the whole suite on the primary Spark line
	@echo "all tests passed on Spark $(PRIMARY)"

test-all: test test-slow test-lines test-wheel test-delta test-iceberg ## and the slow tests, all Spark lines, the wheel, Delta, Iceberg
	@echo "all tests passed on Spark $(LINES)"

# one start of sbt: tests, and the jar that the Python suite needs
test-scala: | require ## kernel and Spark module on the primary line
	./sbt kernel$(ROW)/test spark$(ROW)/test bundlePrimaryJar
	@mkdir -p .build && touch .build/jar-$(PRIMARY)

test-python: .build/jar-$(PRIMARY) .venv/$(PRIMARY)/ready ## Python suite on the primary line, without what is marked slow
	$(BIN)/pytest -q --durations 12 tests/python -m "not slow and not wheel"

test-slow: .build/jar-$(PRIMARY) .venv/$(PRIMARY)/ready ## Python tests that are marked slow, on the primary line
	$(BIN)/pytest -q --durations 12 tests/python -m "slow and not wheel"

test-lines: .build/jars $(LINES:%=.venv/%/ready) ## rules, answers and Python on the other Spark lines
	DOVETAIL_TEST_QUERIES=40 ./sbt kernelSpark352_12/test $(ROWS:%="spark%/testOnly *RuleSuite *FailureSuite *DifferentialSuite")
	@for line in $(OTHERS); do echo "== Python on Spark $$line"; \
	  .venv/$$line/bin/pytest -q --durations 12 tests/python -m "not primary and not wheel" || exit 1; done

test-wheel: .build/jars $(LINES:%=.venv/%/ready) ## the wheel, installed into a new environment of each line
	@for line in $(LINES); do echo "== the wheel on Spark $$line"; \
	  .venv/$$line/bin/pytest -q tests/python/wheel -m wheel || exit 1; done

# Runs a folder of tests on the lines that a release is known for; Spark fetches it from Maven Central by itself.
test-with = @for line in $(LINES); do release=$$(tools/line.sh $$line $(1)); [ -n "$$release" ] || continue; \
  echo "== $$release"; DOVETAIL_$(2)=$$release .venv/$$line/bin/pytest -q -m $(1) tests/python/$(1) || exit 1; done

test-delta: .build/jars $(LINES:%=.venv/%/ready) ## joins of Delta Lake's tables on each line that has a release (fetches 120 MB)
	$(call test-with,delta,DELTA)

test-iceberg: .build/jars $(LINES:%=.venv/%/ready) ## joins of Iceberg's tables on each line that has a release (fetches 140 MB)
	$(call test-with,iceberg,ICEBERG)

pairs: .build/jar-$(PRIMARY) .venv/$(PRIMARY)/ready ## TPC-H and every fourth query of TPC-DS, scale 1, in all modes; fails if a query fails
	cd benchmarks && for suite in "tpch" "tpcds --every 4"; do \
	  ../$(BIN)/python -m dovetail_bench.times --suite $$suite --scale 1 --results ../.build/pairs || exit 1; done

lint: .venv/$(PRIMARY)/ready ## formatters in check mode, ruff, mypy, packages that look down only
	$(BIN)/python tools/floors.py
	./sbt kernel$(ROW)/scalafmtCheckAll spark$(ROW)/scalafmtCheckAll bench/scalafmtCheckAll
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/$(PRIMARY)/ready ## formats everything
	./sbt kernel$(ROW)/scalafmtAll spark$(ROW)/scalafmtAll bench/scalafmtAll
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

generate: .build/jar-$(PRIMARY) .venv/$(PRIMARY)/ready ## Python Config and docs/reference/configs.md, from the registry of settings
	$(BIN)/python python/generate_config.py

wheel: .build/jars .venv/$(PRIMARY)/ready ## dist/dovetail_spark-*.whl, with the jar of every Spark line
	$(BIN)/python -m build --wheel -o dist .

docs: .venv/docs/ready ## the documentation site, into .build/site; fails on a broken link
	NO_MKDOCS_2_WARNING=1 .venv/docs/bin/mkdocs build --strict

.venv/docs/ready: pyproject.toml | require
	@test -d .venv/docs || $(PYTHON) -m venv .venv/docs
	@.venv/docs/bin/pip install -q --disable-pip-version-check -e '.[docs]'
	@touch $@

clean: ## removes what was built, not what was downloaded
	rm -rf dist .build/jar* python/dovetail/jars scala/*/target benchmarks/jmh/target target project/target
