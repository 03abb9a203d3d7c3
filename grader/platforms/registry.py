"""The platforms by name; whatever offers one for each of them reads this."""

from __future__ import annotations

from grader.platforms import autolab, classroom, gradescope, prairielearn

PLATFORMS = {"gradescope": gradescope, "prairielearn": prairielearn, "classroom": classroom, "autolab": autolab}
