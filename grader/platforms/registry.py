"""All platforms by name: commands and formats follow from this."""

from __future__ import annotations

from grader.platforms import autolab, classroom, gradescope, prairielearn

PLATFORMS = {"gradescope": gradescope, "prairielearn": prairielearn, "classroom": classroom, "autolab": autolab}
