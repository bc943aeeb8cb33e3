# README.md names `make demo` and `make wheel`, CONTRIBUTING.md begins with `make test`; each sets up all it needs.
# `make help` lists the others.
PYTHON  ?= python3
SCALE   ?= 1
# a value from the row of a Spark line in project/lines.txt
of       = $(shell tools/line.sh $(1) $(2))
LINES   := $(call of,names)
PRIMARY := $(call of,primary)
OTHERS  := $(filter-out $(PRIMARY),$(LINES))
# lines whose Spark jars come with pyspark; compiling for them needs the virtual environment first
FROM_PYSPARK := $(foreach line,$(LINES),$(if $(filter pyspark,$(call of,$(line),jars)),$(line)))
SOURCES := $(shell find scala project -name '*.scala' -o -name '*.sbt' -o -name '*.properties' | grep -v /target/) \
           project/lines.txt build.sbt VERSION

BIN     := .venv/$(PRIMARY)/bin
# suffix of the primary line's sbt projects
SUFFIX  := $(call of,$(PRIMARY),project)
PYTEST   = bin/pytest -q --durations 12
READY   := .build/jar-$(PRIMARY) .venv/$(PRIMARY)/ready
ARCHIVE := .build/classes-$(PRIMARY).jsa
# two targets at a time; the output of each target in one piece, if this make can do that
BESIDE   = $(MAKE) --no-print-directory -j2
TOGETHER = $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.PHONY: help require demo demo-data jars test test-scala test-python test-all test-generated test-lines \
        scala-lines test-around test-delta test-iceberg test-postgresql test-wheel test-recipes pairs figures \
        transcripts lint format generate notebook wheel docs clean
.SECONDARY:

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

require:
	@tools/require.sh $(PYTHON)

# one virtual environment per Spark line, with that line's pyspark: first the packages of the demo, …
.venv/%/demo: pyproject.toml project/lines.txt | require
	@tools/require.sh $(PYTHON) $(call of,$*,python)
	@echo "setting up .venv/$* …"
	@test -d .venv/$* || $(PYTHON) -m venv .venv/$*
	@.venv/$*/bin/pip install -q --disable-pip-version-check "pyspark==$(call of,$*,pyspark)" -e '.[cli,demo]'
	@touch $@

# … then the packages of tests and lint
.venv/%/ready: .venv/%/demo
	@.venv/$*/bin/pip install -q --disable-pip-version-check "pyspark==$(call of,$*,pyspark)" -e '.[dev]'
	@touch $@

# classes that the JVMs of the Python tests map instead of loading them one by one
.build/classes-%.jsa: .venv/%/demo tools/class_archive.py
	@.venv/$*/bin/python tools/class_archive.py $@ 2> /dev/null || { rm -f $@; echo "no class archive for Spark $*"; }

# the jar of one line
.build/jar-%: $(SOURCES) | require
	./sbt "bundleJar $*"
	@mkdir -p .build && touch $@

# the jars of all lines, built by one run of sbt
.build/jars: $(SOURCES) | require
	./sbt bundleJars
	@mkdir -p .build && touch $(LINES:%=.build/jar-%) $@

.build/jars: | $(FROM_PYSPARK:%=.venv/%/demo)
$(FROM_PYSPARK:%=.build/jar-%): .build/jar-%: | .venv/%/demo

jar-%: .build/jar-% ;

jars: .build/jars ## the jar of every Spark line, into python/dovetail/jars; `make jar-4.1` builds one

demo: ## TPC-DS (SCALE=1) under plain Spark and under Dovetail, side by side
	@$(BESIDE) .build/jar-$(PRIMARY) demo-data
	$(BIN)/dovetail demo --scale $(SCALE)

# runs in parallel with the compiler, which keeps one core busy
demo-data: .venv/$(PRIMARY)/demo
	@$(BIN)/python -c "from dovetail.demo.data import dataset; dataset('tpcds', $(SCALE))"

test: ## the whole suite, Scala and Python beside each other, on the primary Spark line
	@$(BESIDE) $(READY) $(ARCHIVE)
	@echo "testing Scala and Python on Spark $(PRIMARY); each prints when it is done"
	@$(BESIDE) $(TOGETHER) test-scala test-python
	@echo "all tests passed on Spark $(PRIMARY)"

# generated cases of the suites on the primary line; `make test-generated` and the other lines run more of them
FEWER = DOVETAIL_TEST_QUERIES=30 DOVETAIL_TEST_CHAINS=20 DOVETAIL_GRAPHS=150 DOVETAIL_PLANS=300 DOVETAIL_TEST_PLACES=4 \
        DOVETAIL_TEST_PUBLISHED=12

test-scala: | require ## kernel and Spark module on the primary Spark line
	$(FEWER) ./sbt "all kernel$(SUFFIX)/test spark$(SUFFIX)/test"

test-python: $(READY) $(ARCHIVE) ## Python suite on the primary Spark line
	.venv/$(PRIMARY)/$(PYTEST) -m "not ($(AROUND) or wheel or delta or iceberg or postgresql or recipes)" tests/python

# marks of the tests that test-all adds on the primary line: other kinds of session or catalog, jars of other lines
AROUND = connect or hive or lines or slow

test-all: test test-generated test-lines test-around ## all tests
test-all: test-delta test-iceberg test-postgresql test-wheel test-recipes
	@echo "all tests passed on Spark $(LINES)"

# tests that depend on Spark; the other tests of the benchmarks run on the primary line only
EVERY_LINE = $(addprefix tests/python/,unit spark connect hive benchmarks/test_answers_on_every_line.py)

# Scala suites that run on all other lines, and those with tests for what is new in the newest line
LINE_SUITES   = *RuleSuite *FailureSuite *DifferentialSuite
NEWEST_SUITES = *.StatisticsSuite *.ReducerSuite

# lines whose Python tests run; the Scala tests run on all other lines
PYTHON_LINES ?= $(OTHERS)

test-generated: $(READY) $(ARCHIVE) ## all generated cases of the Scala suites, all TPC-DS answers
	./sbt kernel$(SUFFIX)/test \
	  "spark$(SUFFIX)/testOnly *DifferentialSuite *RunTimeOrderSuite *FunctionRegistrySuite *PublishSuite"
	DOVETAIL_ANSWERS_EVERY=1 .venv/$(PRIMARY)/$(PYTEST) tests/python/benchmarks/test_answers.py

test-lines: .build/jars $(PYTHON_LINES:%=.venv/%/ready) ## rules, answers and Python on the other Spark lines
	@$(BESIDE) $(TOGETHER) scala-lines $(PYTHON_LINES:%=python-line-%)

scala-lines: $(FROM_PYSPARK:%=.venv/%/demo)
	DOVETAIL_TEST_QUERIES=40 ./sbt kernel$(call of,$(firstword $(LINES)),project)/test \
	  $(foreach line,$(OTHERS),"spark$(call of,$(line),project)/testOnly $(LINE_SUITES) \
	    $(if $(filter $(line),$(lastword $(LINES))),$(NEWEST_SUITES))")

python-line-%: .build/jars .venv/%/ready
	@echo "== Python on Spark $*"
	.venv/$*/$(PYTEST) -m "not primary" $(EVERY_LINE)

test-around: .build/jars .venv/$(PRIMARY)/ready $(ARCHIVE) ## Connect, a Hive metastore, wrong jars: primary line
	.venv/$(PRIMARY)/$(PYTEST) -m "$(AROUND)" tests/python

# runs the tests of one mark on each line that has a release; arguments: the mark, which is also the column of
# project/lines.txt, the Maven group, and the environment variable
test-with = @$(foreach line,$(LINES),$(if $(call of,$(line),$(1)), \
  echo "== $(1) on Spark $(line)"; \
  $(3)=$(2):$(call of,$(line),$(1)) .venv/$(line)/bin/pytest -q -m $(1) tests/python/$(1) \
    tests/python/spark/test_transcripts.py || exit 1;))

test-delta: .build/jars $(LINES:%=.venv/%/ready) ## tables of Delta Lake on each line that has a release; fetches 120 MB
	$(call test-with,delta,io.delta,DOVETAIL_DELTA)

test-iceberg: .build/jars $(LINES:%=.venv/%/ready) ## tables of Iceberg on each line that has a release; fetches 140 MB
	$(call test-with,iceberg,org.apache.iceberg,DOVETAIL_ICEBERG)

# the JDBC driver; it is the same for all lines, so project/lines.txt has no column for it
POSTGRESQL_DRIVER = org.postgresql:postgresql:42.7.4

test-postgresql: .build/jars $(LINES:%=.venv/%/ready) ## tables of a local PostgreSQL; skipped without one
	@$(foreach line,$(LINES),echo "== postgresql on Spark $(line)"; DOVETAIL_POSTGRESQL=$(POSTGRESQL_DRIVER) \
	  .venv/$(line)/$(PYTEST) -m postgresql tests/python/postgresql || exit 1;)

notebook: $(READY) ## runs docs/notebooks/quickstart.ipynb, and stores the outputs in the file
	$(BIN)/python tools/notebook.py

test-wheel: .build/jars .venv/$(PRIMARY)/ready ## the wheel in a new virtual environment, with the pyspark of each line
	@$(foreach line,$(LINES),echo "== the wheel beside pyspark $(call of,$(line),pyspark)"; \
	  DOVETAIL_WHEEL_PYSPARK=$(call of,$(line),pyspark) $(BIN)/pytest -q -m wheel tests/python/wheel || exit 1;)

test-recipes: $(READY) ## the documentation's recipes for dbt and other programs, run in those programs; fetches 2 GB
	$(BIN)/pytest -q -m recipes tests/python/recipes

# a small sample, because each query runs four times or more in each of four modes, and the target checks answers
pairs: $(READY) ## a sample of TPC-H and TPC-DS in all modes; fails if a query fails or an answer differs
	cd benchmarks && for suite in "tpch --every 4" "tpcds --every 13"; do \
	  ../$(BIN)/python -m dovetail_bench.times --suite $$suite --scale 0.1 --dirty \
	    --results ../.build/pairs || exit 1; done

figures: .venv/$(PRIMARY)/ready ## figures of README and docs, from benchmarks/results
	cd benchmarks && ../$(BIN)/python -m dovetail_bench.figures

transcripts: $(READY) ## what a user types and sees, path by path, into tests/transcripts; fetches 260 MB
	DOVETAIL_DELTA=io.delta:$(call of,$(PRIMARY),delta) DOVETAIL_ICEBERG=org.apache.iceberg:$(call of,$(PRIMARY),iceberg) \
	  $(BIN)/python tools/transcripts.py

lint: .venv/$(PRIMARY)/ready ## formatters in check mode, ruff, mypy, import directions between packages
	$(BIN)/python tools/floors.py
	./sbt kernel$(SUFFIX)/scalafmtCheckAll spark$(SUFFIX)/scalafmtCheckAll bench/scalafmtCheckAll scalafmtSbtCheck
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/$(PRIMARY)/ready ## formats everything
	./sbt kernel$(SUFFIX)/scalafmtAll spark$(SUFFIX)/scalafmtAll bench/scalafmtAll scalafmtSbt
	$(BIN)/ruff check --fix . && $(BIN)/ruff format .

generate: $(READY) ## Python Config and docs/reference/configs.md, from the registry of settings
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
	rm -rf dist .build/jars .build/jar-* python/dovetail/jars scala/*/target benchmarks/jmh/target target project/target
