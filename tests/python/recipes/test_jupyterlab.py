"""The notebook of the documentation in a new JupyterLab: drawings and tables keep their style, light and dark.

A user who opens a notebook of somebody else has not trusted it yet. JupyterLab then removes drawings and styles; the
rest must be readable, and say what to do.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from environment import Environment, free_port
from page import Page
from test_report_in_browser import CHROMIUM, CONTRAST, MEASURE

pytestmark = [
    pytest.mark.recipes,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH: apt-get install chromium"),
]

PAGE = Page("notebooks.md")

NOTEBOOK = Path(__file__).resolve().parents[3] / "docs" / "notebooks" / "quickstart.ipynb"

# Background color of reports by the theme of the notebook. The browser's preference does not matter.
PAPER = {"Light": "rgb(255, 255, 255)", "Dark": "rgb(21, 26, 33)"}

# Time limit in milliseconds of the browser's virtual clock, which skips times in which nothing happens.
BROWSER_MS = 60_000
BROWSER_SECONDS = 240


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment.of(tmp_path_factory.mktemp("lab"), PAGE.block("bash", "pip install").splitlines()[0])


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_reports_survive_the_style_of_jupyterlab(installed: Environment, tmp_path: Path, theme: str) -> None:
    trusted = measured(installed, tmp_path, theme, trust=True)
    assert {key: trusted[key] for key in ("dim", "covered", "overflow", "pictures", "hint", "paper", "align")} == {
        "dim": [],
        "covered": [],
        "overflow": 0,
        "pictures": NOTEBOOK.read_text(encoding="utf-8").count("<svg"),
        "hint": False,
        "paper": [PAPER[theme]],
        "align": ["left"],
    }


def test_a_notebook_that_is_not_trusted_says_so(installed: Environment, tmp_path: Path) -> None:
    found = measured(installed, tmp_path, "Light", trust=False)
    assert (found["pictures"], found["hint"], found["apart"]) == (0, True, True)


def measured(installed: Environment, home: Path, theme: str, trust: bool) -> dict[str, Any]:
    """The results of `measure_page.js` and `measure_lab.html` on the notebook."""
    notebook, port = home / NOTEBOOK.name, free_port()
    shutil.copy(NOTEBOOK, notebook)
    settings = home / "settings" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"theme": f"JupyterLab {theme}"}), encoding="utf-8")
    own = {f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "HOME": str(home)}
    if trust:
        installed.shell(f"jupyter trust {notebook.name}", home, **own)

    cells = sum(cell["cell_type"] == "code" for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"])
    script = MEASURE.read_text(encoding="utf-8").replace("CONTRAST", str(CONTRAST))
    page = Path(__file__).with_name("measure_lab.html").read_text(encoding="utf-8")
    for name, value in {"NOTEBOOK": notebook.name, "CELLS": str(cells), "SCRIPT": json.dumps(script)}.items():
        page = page.replace(name, value)
    static = home / "static"
    static.mkdir()
    (static / "measure.html").write_text(page, encoding="utf-8")
    options = f"--no-browser --allow-root --port {port} --IdentityProvider.token= "
    options += f"--ServerApp.extra_static_paths={static}"
    with installed.server(PAGE.block("bash", "jupyter lab").splitlines()[-1] + f" {options}", port, home, **own):
        return opened(f"http://127.0.0.1:{port}/static/measure.html", home)


def opened(url: str, home: Path) -> dict[str, Any]:
    """Opens the page made from measure_lab.html, and returns its result."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={home / 'profile'}", "--dump-dom"]
    options += [f"--virtual-time-budget={BROWSER_MS}", "--window-size=1600,7200"]
    done = subprocess.run(
        [str(CHROMIUM), *options, url], capture_output=True, text=True, timeout=BROWSER_SECONDS, check=False
    )
    match = re.search(r'<pre id="result">(.+?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, f"{done.stdout[-1000:]}\n{done.stderr[-2000:]}"
    result: dict[str, Any] = json.loads(html.unescape(match[1]))
    return result
