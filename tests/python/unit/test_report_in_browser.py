"""The HTML report in Chromium, light and dark: it fits the page, labels do not cover each other, text can be read."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import explained
import pytest

from dovetail.explanation import Explanation

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Smallest contrast that WCAG 2.2 AA allows for text of ordinary size.
CONTRAST = 4.5

# A query in one line, which is longer than any window.
QUERY = "SELECT * FROM a" + " JOIN b USING (k)" * 30

MEASURE = Path(__file__).with_name("measure_page.js")


@pytest.mark.primary
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the PATH: apt-get install chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "made"), [(1300, "bushy"), (480, "bushy"), (1300, "star"), (1300, "snowflake")])
def test_report_can_be_read(tmp_path: Path, scheme: str, width: int, made: str) -> None:
    data = {"bushy": explained.bushy(), "star": explained.star(30), "snowflake": explained.snowflake()}[made]
    found = in_browser(tmp_path, Explanation(QUERY, "html", data).text, scheme, width)
    assert found == {
        "dim": [],
        "covered": [],
        "overflow": 0,
        "pictures": 4 if made == "bushy" else 2,
        "dark": scheme == "dark",
        "outside": 0,
    }


def in_browser(tmp_path: Path, page: str, scheme: str, width: int) -> dict[str, Any]:
    """The result of the script MEASURE on a page."""
    script = MEASURE.read_text(encoding="utf-8").replace("CONTRAST", str(CONTRAST))
    file = tmp_path / "report.html"
    file.write_text(page.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    preferred = 0 if scheme == "dark" else 1  # Blink's numbers
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    options += [f"--blink-settings=preferredColorScheme={preferred}", f"--window-size={width},900"]
    done = subprocess.run(
        [str(CHROMIUM), *options, file.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    match = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match is not None, done.stderr[-2000:]
    measured: dict[str, Any] = json.loads(html.unescape(match[1]))
    return measured
