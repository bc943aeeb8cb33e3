"""The examples in docstrings give the results that they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import dovetail
from dovetail import cli, report

PACKAGES = (dovetail, cli, report)
MODULES = sorted(
    f"{package.__name__}.{module.name}"
    for package in PACKAGES
    for module in pkgutil.iter_modules(package.__path__)
    if not module.ispkg and module.name != "__main__"
)

# Smallest number of examples in all modules together. If a change hides examples from doctest, the test fails.
LEAST_EXAMPLES = 30


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(name) for name in MODULES]
    assert sum(len(test.examples) for module in modules for test in finder.find(module)) >= LEAST_EXAMPLES
