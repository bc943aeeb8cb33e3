"""A driver of `memory`, from outside: starts `memory_worker`, sends requests, and starts another one if it is lost."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from dovetail.errors import DovetailError
from dovetail_bench.memory_worker import FAILED, LOST, OK, TIMED_OUT

# Seconds beyond a query's own limit after which a driver that does not answer is killed.
GRACE = 30
# Seconds that a driver may take to start, and seconds that statements without a limit may take.
START = 300
STATEMENTS = 600
# Bytes at the end of a driver's log that are searched for its last error.
LAST_WORDS = 20_000


class Driver:
    """A driver with some memory. As a context manager, it stops at the end. `quick` is for runs of seconds."""

    def __init__(self, memory: str, cores: int, work: Path, quick: bool) -> None:
        self.memory = memory
        self.started = 0
        self.version = ""
        self._cores, self._work, self._quick = cores, work, quick
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def _log(self) -> Path:
        return self._work / f"driver-{self.memory}-{self.started}.log"

    def run(self, sql: str, conf: Mapping[str, str], statements: Sequence[str], limit: float) -> dict[str, Any]:
        """Runs a query. Every answer has a `state`. A driver on which a query failed is not used again.

        An OutOfMemoryError may leave a JVM that also fails the next query, which is not the fault of that query.
        """
        found = self._ask({"sql": sql, "conf": conf, "statements": statements, "limit": limit}, limit + GRACE)
        if found["state"] != OK:
            self.stop()
        return found

    def execute(self, statements: Sequence[str], conf: Mapping[str, str]) -> None:
        """Executes statements that must succeed. A driver on which they fail is not used again."""
        found = self._ask({"statements": statements, "conf": conf}, STATEMENTS)
        if found["state"] != OK:
            self.stop()
            raise DovetailError(f"{statements[-1][:300]}: {found['state']}: {found.get('error')}")

    def _ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        process = self._process or self._start()
        assert process.stdin is not None  # noqa: S101  it is a pipe
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        return self._answer(seconds)

    def _answer(self, seconds: float) -> dict[str, Any]:
        """Merges all lines up to the one with the state into one answer."""
        found: dict[str, Any] = {}
        while "state" not in found:
            try:
                line = self._lines.get(timeout=seconds)
            except queue.Empty:
                return {**found, "state": TIMED_OUT, "error": "the driver did not answer", "seconds": seconds}
            found |= json.loads(line) if line else {"state": LOST, "error": "", "seconds": 0.0}
        if found["state"] == LOST:
            found["error"] = self._last_words() or found["error"]
        return found

    def _start(self) -> subprocess.Popen[str]:
        self.started += 1
        self._lines = queue.Queue()
        module = "dovetail_bench.memory_worker"
        command = [sys.executable, "-m", module, "--memory", self.memory, "--cores", str(self._cores)]
        command += ["--quick"] if self._quick else []
        with self._log.open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                command,
                cwd=self._work,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
                # a separate process group, which includes the JVM
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._process = process
        assert process.stdout is not None  # noqa: S101  it is a pipe
        threading.Thread(target=_read, args=(process.stdout, self._lines), daemon=True).start()
        hello = self._answer(START)
        if hello["state"] != OK:
            self.stop()
            raise DovetailError(f"a driver of {self.memory} does not start: {self._tail()}")
        self.version = str(hello["version"])
        return process

    def stop(self) -> None:
        """Kills the process and its JVM."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _last_words(self) -> str:
        lines = re.findall(r".*(?:OutOfMemoryError|Cannot allocate|maxResultSize).*", self._tail())
        return lines[-1].strip()[:300] if lines else ""

    def _tail(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-LAST_WORDS:]


def _read(lines: IO[str], into: queue.Queue[str]) -> None:
    """Passes lines on to a queue, and an empty line at the end."""
    with suppress(ValueError):
        for line in lines:
            into.put(line)
    into.put("")


__all__ = ["FAILED", "LOST", "OK", "TIMED_OUT", "Driver"]
