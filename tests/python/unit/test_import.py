"""`import dovetail` is fast and needs no other package."""

from __future__ import annotations

import inspect

import dovetail
from dovetail import _table_statistics
from dovetail.jars import pyspark_version


def test_import_needs_no_pyspark_and_no_extra(run_python) -> None:  # type: ignore[no-untyped-def]
    done = run_python(
        """
        import sys

        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in {"pyspark", "rich", "typer", "duckdb", "pyarrow", "pandas", "numpy"}:
                    raise ModuleNotFoundError(name, name=name)

        sys.meta_path.insert(0, Absent())
        import dovetail
        print(dovetail.__version__, dovetail.jar_path(sys.argv[1]))
        try:
            dovetail.jar_path()
        except dovetail.errors.PySparkMissingError as error:
            print(error)
        """,
        f"{pyspark_version()}-amzn-1",
    )
    version, jar = done.stdout.splitlines()[0].split(" ", 1)
    assert version == dovetail.__version__
    assert jar == str(dovetail.jar_path())
    assert "pip install 'dovetail-spark[spark]'" in done.stdout


def test_import_takes_no_module_that_is_not_asked_for(run_python) -> None:  # type: ignore[no-untyped-def]
    done = run_python(
        """
        import sys
        import dovetail
        print(sorted(name for name in sys.modules if name.startswith("dovetail.")))
        print(dovetail.pins.Pin.__name__, dovetail.enable.__name__, "enable" in dir(dovetail))
        try:
            dovetail.nosuch
        except AttributeError as error:
            print(error)
        """
    )
    assert done.stdout.splitlines() == ["[]", "Pin enable True", "module 'dovetail' has no attribute 'nosuch'"]


def test_every_public_name_is_documented() -> None:
    for name in dovetail.__all__:
        if name not in ("errors", "__version__"):
            assert inspect.getdoc(getattr(dovetail, name)), name


def test_every_class_of_statistics_is_public() -> None:
    module = _table_statistics.__name__
    classes = {name for name, kind in vars(_table_statistics).items() if getattr(kind, "__module__", "") == module}
    assert {name for name in classes if not name.startswith("_")} <= set(dovetail.__all__)


def test_signatures_are_the_contract() -> None:
    assert str(inspect.signature(dovetail.analyze)).startswith(
        "(spark: 'SparkSession', target: 'str | DataFrame', columns: 'Columns' = None, "
        "partitions: 'Partitions' = None, histogram: 'bool | None' = None, mode: 'str' = 'dovetail', "
        "progress: 'bool' = True, *, groups: 'Groups' = (), noscan: 'bool' = False)"
    )
    assert list(inspect.signature(dovetail.explain).parameters) == ["df_or_sql", "spark", "format", "actual"]
    assert list(inspect.signature(dovetail.enable).parameters) == ["builder", "config"]
