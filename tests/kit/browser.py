"""Measure pages in a real browser, where one is installed."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kit.patience import PATIENCE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
MEASURE = """<!doctype html><title>?</title><iframe style="border: 0; width: {width}px; height: 800px" srcdoc="{page}"></iframe>
<script>
onload = () => {{
  const read = document.querySelector("iframe").contentDocument;
  for (const one of read.querySelectorAll("details")) one.open = true;
  const right = [...read.querySelectorAll("body *:not(.scroll *)")].map(one => one.getBoundingClientRect().right);
  document.title = [read.documentElement.scrollWidth, Math.ceil(Math.max(...right)), read.querySelectorAll("h1").length].join();
}}
</script>"""


def measure_width(page: str, width: int, folder: Path) -> int:
    """Return how many pixels a page takes from left to right, with all that can be unfolded open.

    What scrolls sideways by itself does not count.

    Args:
        page: The text of a page with one `h1`.
        width: The pixels that it is given.
        folder: For files of the browser.
    """
    assert CHROMIUM is not None
    path = folder / "measure.html"
    path.write_text(MEASURE.format(width=width, page=html.escape(page)), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--disable-gpu", "--no-sandbox", f"--user-data-dir={folder / 'profile'}"]
    command += ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
    command += ["--disable-sync", "--window-size=1500,900", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title, done.stderr
    whole, right, headings = map(int, title[1].split(","))
    assert headings == 1, "the page was not there yet"
    return max(whole, right)
