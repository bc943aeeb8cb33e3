"""Fixtures of the benchmarks' tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory for generated data; a small scale takes a second to generate."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def maven() -> str:
    """Maven, which fetches the query texts."""
    found = shutil.which("mvn")
    if found is None:
        pytest.skip("the query texts are fetched by Maven, which is not installed")
    return found
