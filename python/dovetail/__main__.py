"""Entry point of `dovetail` and `python -m dovetail`. Ctrl-C ends it with one line, even during the import."""

from __future__ import annotations

import sys

# Exit code of an interrupted command: 128 plus the number of the signal, as in shells.
INTERRUPTED = 130


def main() -> None:
    """Runs the command line and ends the process."""
    try:
        from dovetail.cli import main as run

        code = run()
    except KeyboardInterrupt:
        sys.stderr.write("dovetail: interrupted\n")
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
