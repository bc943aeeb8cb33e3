"""The package's version, which is also part of the name of every bundled jar.

A source tree is asked first (its VERSION file is what the jars beside it were built from; the metadata of an editable
install may be older), then the metadata of the installed distribution.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

DISTRIBUTION = "dovetail-spark"


def _read_version() -> str:
    root = Path(__file__).resolve().parents[2]
    version_file = root / "VERSION"
    if version_file.is_file() and (root / "pyproject.toml").is_file():
        return version_file.read_text(encoding="utf-8").strip()
    return metadata.version(DISTRIBUTION)


__version__ = _read_version()
