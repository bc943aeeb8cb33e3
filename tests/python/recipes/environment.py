"""Makes a virtual environment as a page tells its reader to, and runs shell commands in it.

Tests of pages install what the page installs, except Dovetail itself, which comes from this tree.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# Time limit of a command. The longest one installs about a hundred packages without a cache.
COMMAND_SECONDS = 900

# Time limit for the start and the end of a server. A server needs about 15 s on a quiet machine.
SERVER_SECONDS = 180

# Seconds between two checks of a port.
LOOK_SECONDS = 0.2

# The wheel of Dovetail in the commands of a page.
WHEEL = "dist/dovetail_spark-*.whl"


class Environment:
    """A directory `bin` of programs, and how to run a shell with it.

    Attributes:
        bin: Directory that comes first on the PATH of all commands.
    """

    def __init__(self, bin: Path) -> None:
        self.bin = bin

    @classmethod
    def of(cls, home: Path, *pip_commands: str) -> Environment:
        """Makes a new environment, and runs these pip commands of a page in it."""
        venv.create(home, with_pip=True)
        made = cls(home / "bin")
        for command in pip_commands:
            assert command.startswith("pip install "), command
            words = [*(this_tree(word) for word in shlex.split(command)), "-q", "--disable-pip-version-check"]
            made.shell(shlex.join(words), home)
        return made

    def shell(self, command: str, cwd: Path, **env: str) -> str:
        """Runs a shell command and returns its stdout; the test fails if the command fails."""
        done = subprocess.run(
            self._words(command),
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
            cwd=cwd,
            env=self._environ(env),
        )
        if done.returncode != 0:
            pytest.fail(f"{command}\nexit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done.stdout

    @contextmanager
    def server(self, command: str, port: int, cwd: Path, **env: str) -> Iterator[None]:
        """Runs a command that listens on a port, until the block ends."""
        log = cwd / "server.log"
        with log.open("w", encoding="utf-8") as out:
            started = subprocess.Popen(
                self._words(command),
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=self._environ(env),
                start_new_session=True,
            )
        try:
            wait_for(port, started, log)
            yield
        finally:
            # the shell, spark-submit and the JVM are in a separate process group
            os.killpg(started.pid, signal.SIGTERM)
            started.wait(timeout=SERVER_SECONDS)

    @staticmethod
    def _words(command: str) -> Sequence[str]:
        return ["bash", "-e", "-o", "pipefail", "-c", command]

    def _environ(self, more: dict[str, str]) -> dict[str, str]:
        """This process's environment without variables that lead to this tree's pyspark; the JVM's options stay."""
        hidden = ("SPARK_", "PYSPARK_", "PYTHONPATH", "DOVETAIL_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(hidden) or k == "SPARK_SUBMIT_OPTS"}
        return {**kept, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", **more}


def this_tree(word: str) -> str:
    """An argument of pip, with this tree in place of Dovetail's wheel."""
    return f"--editable={ROOT}" if word == WHEEL else word


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port


def wait_for(port: int, started: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when something listens on the port; the test fails if the process ends first."""
    until = time.monotonic() + SERVER_SECONDS
    while time.monotonic() < until and started.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(LOOK_SECONDS)
        else:
            return
    pytest.fail(f"nothing listens on port {port}\n{log.read_text(encoding='utf-8')[-4000:]}")
