"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import dovetail

MODULES = sorted(module.name for module in pkgutil.iter_modules(dovetail.__path__) if not module.ispkg)

# Of all modules together, so that a change which makes doctest find none is seen.
LEAST_EXAMPLES = 20


@pytest.mark.parametrize("name", [name for name in MODULES if name != "__main__"])
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"dovetail.{name}"))
    assert result.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(f"dovetail.{name}") for name in MODULES if name != "__main__"]
    assert sum(len(test.examples) for module in modules for test in finder.find(module)) >= LEAST_EXAMPLES
