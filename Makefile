# The two commands of the README are `make demo` and `make test`; both set up all they need. `make help` lists the others.
PYTHON   ?= python3
SCALE    ?= 1
LINES    := 3.5 4.0 4.1 4.2
PRIMARY  := 4.1
# sbt's row of the primary line, and of the others (Scala 2.12 for 3.5)
ROW      := Spark41
ROWS     := Spark352_12 Spark40 Spark42
SOURCES  := $(shell find scala project -name '*.scala' -o -name '*.sbt' -o -name '*.properties' | grep -v /target/) build.sbt VERSION

VENV      = .venv/$(1)
BIN       = .venv/$(PRIMARY)/bin

.PHONY: help demo test test-scala test-lines test-python test-iceberg test-delta lint format generate wheel docs jars clean require
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
	DOVETAIL_TEST_QUERIES=80 ./sbt kernelSpark352_12/test $(ROWS:%="spark%/testOnly *RuleSuite *FailureSuite *DifferentialSuite")
	@for line in $(filter-out $(PRIMARY),$(LINES)); do \
	  echo "== Python on Spark $$line"; .venv/$$line/bin/pytest -q tests/python -m "not primary and not wheel" || exit 1; done

test-python: .build/jars .venv/$(PRIMARY)/ready ## Python suite on Spark 4.1
	$(BIN)/pytest -q tests/python

# a release of Iceberg, and the newest Spark line it has a runtime for
ICEBERG      := 1.10.0
ICEBERG_LINE := 4.0
ICEBERG_JAR   = .build/iceberg-spark-runtime-$(ICEBERG_LINE)_2.13-$(ICEBERG).jar

$(ICEBERG_JAR): | require
	mvn -q -B dependency:copy -Dartifact=org.apache.iceberg:iceberg-spark-runtime-$(ICEBERG_LINE)_2.13:$(ICEBERG) -DoutputDirectory=.build

test-iceberg: .build/jars .venv/$(ICEBERG_LINE)/ready $(ICEBERG_JAR) ## joins of Iceberg tables; not part of `make test`, for it fetches 47 MB
	DOVETAIL_ICEBERG_JAR=$(CURDIR)/$(ICEBERG_JAR) .venv/$(ICEBERG_LINE)/bin/pytest -q -m iceberg tests/python/iceberg

# a release of Delta Lake, and the Spark line it is for
DELTA        := 4.0.0
DELTA_LINE   := 4.0
DELTA_JARS    = .build/delta-spark_2.13-$(DELTA).jar .build/delta-storage-$(DELTA).jar

.build/delta-%-$(DELTA).jar: | require
	mvn -q -B dependency:copy -Dartifact=io.delta:delta-$*:$(DELTA) -DoutputDirectory=.build

test-delta: .build/jars .venv/$(DELTA_LINE)/ready $(DELTA_JARS) ## joins of Delta Lake's tables; not part of `make test`, for it fetches 8 MB
	DOVETAIL_DELTA_JARS=$(CURDIR)/$(firstword $(DELTA_JARS)),$(CURDIR)/$(lastword $(DELTA_JARS)) .venv/$(DELTA_LINE)/bin/pytest -q -m delta tests/python/delta

lint: .venv/$(PRIMARY)/ready ## formatters in check mode, ruff, mypy
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
