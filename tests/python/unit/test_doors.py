"""Only two modules of the package access Spark: _sql.py for SQL text and settings, _py4j.py for objects of the JVM."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import dovetail

PACKAGE = Path(dovetail.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# Attributes and classes of pyspark by which Python code reaches the JVM or the context of a classic session.
JVM = frozenset(
    (
        "SparkContext",
        "_active_spark_context",
        "_ensure_initialized",
        "_gateway",
        "_jconf",
        "_jdf",
        "_jsc",
        "_jsparkSession",
        "_jvm",
        "_sc",
        "java_gateway",
        "py4j",
        "sparkContext",
    )
)


def asked(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Attributes that the code reads, in any way, and modules and names that it imports, with their line numbers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr, node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            yield from ((str(word.value), node.lineno) for word in node.args if isinstance(word, ast.Constant))
        elif isinstance(node, ast.ImportFrom):
            yield from ((name, node.lineno) for name in (node.module or "").split("."))
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((name, node.lineno) for alias in node.names for name in alias.name.split("."))


def uses_of_the_jvm(source: str) -> list[str]:
    """Names of the JVM in some code, each with its line."""
    return [f"{name}, line {line}" for name, line in asked(ast.parse(source)) if name in JVM]


def uses_of_the_session(source: str) -> list[str]:
    """Calls of `….sql(…)` and of `….conf.…(…)` in some code, each with its line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            if node.func.attr == "sql" or (isinstance(of, ast.Attribute) and of.attr == "conf"):
                found.append(f"{ast.unparse(node.func)}, line {node.lineno}")
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_only_the_doors_are_used(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    assert file.name == "_py4j.py" or uses_of_the_jvm(source) == []
    assert file.name == "_sql.py" or uses_of_the_session(source) == []


def test_both_doors_are_there_and_used() -> None:
    assert len(FILES) > 30
    assert uses_of_the_jvm((PACKAGE / "_py4j.py").read_text(encoding="utf-8"))
    assert uses_of_the_session((PACKAGE / "_sql.py").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "code",
    [
        "spark._jvm.java.lang.System",
        "spark.sparkContext.setLogLevel('OFF')",
        "getattr(spark, '_jsc', None)",
        "hasattr(SparkSession, '_jsparkSession')",
        "from pyspark import SparkContext",
        "from py4j.protocol import Py4JError",
        "import pyspark, py4j.java_gateway",
        "SparkContext._gateway",
        "frame._jdf.queryExecution()",
    ],
)
def test_a_use_of_the_jvm_is_found(code: str) -> None:
    assert uses_of_the_jvm(code)


def test_what_is_no_use_is_not_found() -> None:
    assert uses_of_the_jvm("from dovetail import _py4j, _sql\n_py4j.stages(spark, 'py4j')") == []
    assert uses_of_the_session("self.sql + builder.config('a', 'b') + statement.sql") == []
    assert uses_of_the_session("spark.sql('x')\nspark.conf.get('y')") == ["spark.sql, line 1", "spark.conf.get, line 2"]
