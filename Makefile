# The two commands of the README are `make demo` and `make test`; both set up all they need. `make help` lists the others.
PYTHON   ?= python3
SCALE    ?= 1
LINES    := 3.5 4.0 4.1 4.2
PRIMARY  := 4.1
# sbt's row of the primary line, and of the others (Scala 2.12 for 3.5)
ROW      := Spark41
ROWS     := Spark352_12 Spark40 Spark42
SOURCES  := $(shell find scala project -name '*.scala' -o -name '*.sbt' -o -name '*.properties' | grep -v /target/) build.sbt VERSION

BIN       = .venv/$(PRIMARY)/bin

.PHONY: help demo test test-scala test-lines test-python test-iceberg test-delta pairs lint format generate wheel docs jars clean require
.SECONDARY:

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

require:
	@tools/require.sh $(PYTHON)

# one virtual environment per Spark line; the pyspark release of each line is in project/SparkLine.scala
.venv/%/ready: pyproject.toml project/SparkLine.scala | require
	@echo "setting up .venv/$* …"
	@test -d .venv/$* || $(PYTHON) -m venv .venv/$*
	@.venv/$*/bin/pip install -q --disable-pip-version-check "pyspark==$$(tools/line.sh $* pyspark)"
	@.venv/$*/bin/pip install -q --disable-pip-version-check -e '.[cli,demo,dev]'
	@touch $@

.build/jars: $(SOURCES) | require
	./sbt bundleJars
	@mkdir -p .build && touch $@

jars: .build/jars ## the jar of every Spark line, into python/dovetail/jars

demo: .build/jars .venv/$(PRIMARY)/ready ## TPC-DS (SCALE=1) under plain Spark and under Dovetail, side by side
	$(BIN)/dovetail demo --scale $(SCALE)

test: test-scala test-python test-lines ## all tests: the whole suite on Spark 4.1, a smaller one on 3.5, 4.0 and 4.2
	@echo "all tests passed"

test-scala: | require ## kernel and Spark module on Spark 4.1
	./sbt kernel$(ROW)/test spark$(ROW)/test

test-lines: .build/jars $(LINES:%=.venv/%/ready) ## rules, answers and Python on the other Spark lines
	DOVETAIL_TEST_QUERIES=40 ./sbt kernelSpark352_12/test $(ROWS:%="spark%/testOnly *RuleSuite *FailureSuite *DifferentialSuite")
	@for line in $(filter-out $(PRIMARY),$(LINES)); do \
	  echo "== Python on Spark $$line"; .venv/$$line/bin/pytest -q --durations 12 tests/python -m "not primary and not wheel" || exit 1; done

test-python: .build/jars .venv/$(PRIMARY)/ready ## Python suite on Spark 4.1
	$(BIN)/pytest -q --durations 12 tests/python

# Spark lines and the releases of Delta Lake and Iceberg for them, which Spark fetches from Maven Central by itself
DELTA   := 3.5/io.delta:delta-spark_2.12:3.3.3 4.0/io.delta:delta-spark_2.13:4.0.0 \
           4.1/io.delta:delta-spark_4.1_2.13:4.4.0 4.2/io.delta:delta-spark_4.2_2.13:4.4.0
ICEBERG := 3.5/org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0 4.0/org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0 \
           4.1/org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0
# a folder of tests, and the list of pairs it is run with
test-with = @for pair in $($(2)); do echo "== $$pair"; \
  DOVETAIL_$(2)=$${pair\#*/} .venv/$${pair%%/*}/bin/pytest -q -m $(1) tests/python/$(1) || exit 1; done

test-delta: .build/jars $(LINES:%=.venv/%/ready) ## joins of Delta Lake's tables on each line; not part of `make test`, for it fetches 120 MB
	$(call test-with,delta,DELTA)

test-iceberg: .build/jars $(LINES:%=.venv/%/ready) ## joins of Iceberg's tables on 3.5, 4.0 and 4.1; not part of `make test`, for it fetches 140 MB
	$(call test-with,iceberg,ICEBERG)

pairs: .build/jars .venv/$(PRIMARY)/ready ## TPC-H and every fourth query of TPC-DS, scale 1, under Spark, its CBO and Dovetail in turns; fails if a query fails
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

generate: .build/jars .venv/$(PRIMARY)/ready ## Python Config and docs/reference/configs.md, from the registry of settings
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
	rm -rf dist .build/jars python/dovetail/jars scala/*/target benchmarks/jmh/target target project/target
