"""A submission that leaves a mark wherever it runs unconfined: the judge looks for it before the first call, and after."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

# Modules that libraries, or Python at its start, import if they exist.
BY_CHANCE = (
    *("sitecustomize", "usercustomize", "gym", "gymnasium", "IPython", "tqdm", "pandas", "cupy", "jax", "numba", "pygame"),
    *("tensorboard", "dill", "opt_einsum"),
)
SOURCE = '''
for place in {places!r}:
    try:
        with open(place, "a") as file:
            file.write(__name__ + "\\n")
    except OSError:
        pass
print({token!r}, flush=True)


def __getattr__(name):
    """Return a function for any imported name."""
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *arguments, **options: None
'''


class Tripwire:
    """One such submission.

    Args:
        folders: Folders where server and judge can write, and a confined worker must not.

    Attributes:
        source: Its source code.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        token = secrets.token_hex(8)
        self._token = token
        self._places = [folder / f"ran-{token}" for folder in folders]
        self.source = SOURCE.format(places=[str(place) for place in self._places], token=token)

    def find_mark(self) -> str:
        """Return the name of the module that ran unconfined; "" if none did."""
        texts = [place.read_text(encoding="utf-8", errors="replace") for place in self._places if place.exists()]
        return next((text.partition("\n")[0] for text in texts), "")

    def has_run(self, output: str) -> bool:
        """Return whether the call that printed this output ran the submission."""
        return self._token in output

    def remove_marks(self) -> None:
        """Remove all marks."""
        for place in self._places:
            place.unlink(missing_ok=True)
