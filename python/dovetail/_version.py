"""The package's version, which is also part of the name of every bundled jar.

In a source tree, the version is that of the VERSION file, from which the jars are built; the metadata of an editable
install may be older. Otherwise, it is that of the installed distribution.
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
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        # the package alone, for example in an archive for --py-files
        return "0+unknown"


__version__ = _read_version()
