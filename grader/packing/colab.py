"""The first cell of a released notebook: in Colab, it fetches the rest of the assignment."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from grader.assignment import Assignment, UsageError

NOTEBOOK_FILE = "notebook.ipynb"
# Colab runs its own, older kernel, and must keep it.
NOT_INSTALLED = ("ipykernel",)
SCHEMES = ("https", "http", "file")
WIDTH = 100  # of the code in notebooks
CELL = """\
# In Google Colab, this cell fetches the assignment. Elsewhere it does nothing.
# Colab deletes files when the session ends. So write your functions in cells that begin with
# `%%grade QUESTION`, and submit the notebook; or download {submission} before you leave.
import os
import subprocess
import sys
import urllib.request
import zipfile

if "google.colab" in sys.modules and not os.path.exists("grade.py"):
    if not os.path.exists({name!r}):  # never over what you have written
        urllib.request.urlretrieve(
            {url}, "{name}.zip"
        )
        with zipfile.ZipFile("{name}.zip") as archive:
            archive.extractall()
    os.chdir({name!r})
    sys.path.insert(0, os.getcwd())
    # What Colab has is kept, whatever its version.
    packages = [
{packages}
    ]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *packages], check=True)"""


def add_first_cell(content: Mapping[str, bytes], assignment: Assignment, url: str) -> bytes:
    """Return the released notebook with a first code cell that fetches the assignment where it runs in Colab.

    Args:
        content: The released files, by name.
        url: Where students can download the zip.

    Raises:
        UsageError: If there is no notebook, or Python cannot fetch the URL.
    """
    name = assignment.name
    if NOTEBOOK_FILE not in content:
        raise UsageError(f"nothing was written: {name} has no notebook, and --url is for notebooks")
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not parts.path.strip("/") or not url.isprintable() or re.search(r"[\s\"\\]", url):
        raise UsageError(f"--url {url!r}: expected the address of the zip, such as https://example.org/{name}.zip")
    packages = "\n".join(f'        "{each}",' for each in list_packages(content["requirements.txt"].decode()))
    text = CELL.format(name=name, url=_break(url), packages=packages, submission=assignment.submission)
    notebook: dict[str, Any] = json.loads(content[NOTEBOOK_FILE])
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "id": "colab", "metadata": {}, "outputs": []}
    notebook["cells"].insert(0, {**cell, "source": text.splitlines(keepends=True)})
    return (json.dumps(notebook, ensure_ascii=False, indent=1) + "\n").encode()


def extract_notebook(data: bytes, folder: Path, name: str) -> str:
    """Write the notebook in a released zip to `folder/NAME.ipynb`, and return a line about it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        text = archive.read(f"{name}/{NOTEBOOK_FILE}")
    path = folder / f"{name}.ipynb"
    path.write_bytes(text)
    return f"wrote {path}: students can open it in Colab, where its first cell fetches the zip"


def list_packages(requirements: str) -> list[str]:
    """Return the packages in requirements.txt without their versions, with their conditions."""
    lines = [line for line in requirements.splitlines() if line and not line.startswith(("-", "#"))]
    parts = [(re.split(r"[<>=!~;\s]", line, maxsplit=1)[0], line.partition(";")[2].strip()) for line in lines]
    return [f"{name}; {condition}" if condition else name for name, condition in parts if name not in NOT_INSTALLED]


def _break(url: str) -> str:
    """Return a URL as Python source, in pieces that fit the width of a notebook."""
    size = WIDTH - 16
    pieces = [url[at : at + size] for at in range(0, len(url), size)]
    return "\n            ".join(f'"{piece}"' for piece in pieces)
