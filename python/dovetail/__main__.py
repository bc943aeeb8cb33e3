"""Entry point of `dovetail` and `python -m dovetail`; says what to install if a library is missing."""

from __future__ import annotations

import sys

_MISSING = """dovetail: the command line needs {module}, which is not installed.
  pip install 'dovetail-spark[cli]'
To print the path of the jar without the command line:
  python -c 'import dovetail; print(dovetail.jar_path())'
"""


def main() -> None:
    """Runs the command line; exit code 2 if typer or rich is missing."""
    try:
        from dovetail.cli import app
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in ("typer", "rich", "click"):
            raise
        sys.stderr.write(_MISSING.format(module=missing.name))
        sys.exit(2)
    app()


if __name__ == "__main__":
    main()
