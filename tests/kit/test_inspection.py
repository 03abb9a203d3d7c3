"""What an author slips on is said in one line, with file and line, before anything runs: by doctor, build and verify."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.assignment import UsageError, list_assignments
from grader.authoring import inspection
from grader.authoring.inspection import inspect_assignment
from grader.console import GRADED, USAGE

pytestmark = pytest.mark.recorded

INPUTS = {
    "*": ("tests/kit/toy/**",),
    "test_no_assignment_of_the_kit_has_a_slip": (
        "command:doctor",
        "grader/**",
        "assignments/{name}/**",
        "solutions/{name}/**",
        "tests/*/*{name}.py",
        "tests/*/*/{name}.json",
    ),
    "test_doctor_says_all_at_once": ("command:doctor",),
    "test_doctor_has_nothing_to_say_of_the_toy": ("command:doctor",),
    "test_an_answer_that_is_not_a_number_names_its_case": ("command:build",),
    "test_build_says_why_a_case_has_no_answer": ("command:build",),
    "test_build_notices_an_answer_that_depends_on_the_seed": ("command:build",),
    "test_a_damaged_file_is_made_anew": ("command:build", "command:verify"),
    "test_build_and_verify_begin_with_it": ("command:build", "command:verify"),
    "test_release_says_which_source_cannot_be_read": ("command:release",),
}
TOML, SOLUTION, DRIVERS = "assignments/toy/assignment.toml", "solutions/toy/submitted.py", "tests/drivers/toy.py"
CASES, MISTAKES, ALTERNATIVES = "solutions/toy/cases.py", "solutions/toy/mistakes.py", "solutions/toy/alternatives.py"
VISIBLE, HIDDEN = "tests/visible/test_toy.py", "tests/hidden/test_toy.py"
QUESTION = (
    '\n[[questions]]\nid = "more"\ntitle = "More"\nfunction = "spread"\ntask = "more"\npoints = { visible = 0, hidden = 1 }\n'
)
OWN = QUESTION.replace('"spread"', '"more"').replace("hidden = 1", "hidden = 0")
FUNCTION = '\n\ndef more(values):\n    """More."""\n    # BEGIN SOLUTION more\n    return 1\n    # END SOLUTION\n'

# By what it is: the file, what is replaced (None: added at the end; False: the file is deleted), by what; and the slip's line.
SLIPS = {
    "a case no check uses": (
        CASES,
        None,
        '\n\n@case("total", question="total")\ndef spare(rng):\n    return {"values": [1.0]}\n',
        f"{CASES}:35: no visible check uses the case spare",
    ),
    "a check of a case that is not there": (
        VISIBLE,
        '"three_values"',
        '"three_vales"',
        f"{VISIBLE}:7: there is no case 'three_vales' in cases.py; did you mean 'three_values'?",
    ),
    "a visible check of a hidden case": (
        VISIBLE,
        '"three_values"',
        '"no_values"',
        f"{VISIBLE}:7: the case 'no_values' is hidden, and not for visible checks",
    ),
    "a check without points": (HIDDEN, '@points(1, question="total")\n', "", f"{HIDDEN}:5: test_nothing_to_add needs @points("),
    "a check of no question": (
        HIDDEN,
        '@points(1, question="total")',
        '@points(1, question="totl")',
        f"{HIDDEN}:6: test_nothing_to_add is about 'totl', which is not a question in assignment.toml; did you mean 'total'?",
    ),
    "a check that pytest does not run": (
        HIDDEN,
        "def test_nothing_to_add",
        "def nothing_to_add",
        f"{HIDDEN}:6: nothing_to_add has @points, but its name does not begin with test",
    ),
    "a view that is not there": (
        HIDDEN,
        "from views import spread_alone",
        "from views import spread_alon as spread_alone",
        f"{HIDDEN}:2: views has no 'spread_alon'; did you mean 'spread_alone'?",
    ),
    "a name that the kit has not": (
        VISIBLE,
        "from grader.judge import points",
        "from grader.judge import points, pionts",
        f"{VISIBLE}:1: grader.judge has no 'pionts'; did you mean 'points'?",
    ),
    "a function that the solution has not": (
        DRIVERS,
        "submitted.total(values)}\n\n\ndef spread",
        "submitted.totl(values)}\n\n\ndef spread",
        f"{DRIVERS}:2: submitted.totl: submitted.py of the solution does not define it; did you mean 'total'?",
    ),
    "an input that the driver does not take": (
        CASES,
        '{"values": []}',
        '{"values": [], "scle": 1.0}',
        f"{CASES}:15: case no_values gives 'scle', which its driver total does not take",
    ),
    "an input that the driver needs": (
        CASES,
        '{"values": []}',
        "{}",
        f"{CASES}:15: case no_values does not give 'values', which its driver total needs",
    ),
    "inputs of chance": (
        CASES,
        '{"values": []}',
        '{"values": [__import__("random").random()]}',
        f"{CASES}:15: case no_values has other inputs each time: draw them from its argument",
    ),
    "too many numbers": (
        CASES,
        '{"values": []}',
        '{"values": [0.0] * 200_000}',
        f"{CASES}:15: case no_values holds 200,000 numbers, at most 125,000: use smaller arrays",
    ),
    "a check without words": (
        HIDDEN,
        '    """The sum of nothing is 0."""\n',
        "",
        f"{HIDDEN}:6: test_nothing_to_add needs a doc",
    ),
    "two checks of a name": (VISIBLE, "def test_many", "def test_three", f"{VISIBLE}:11: a second check is called test_three"),
    "two cases of a name": (CASES, "def many_values", "def three_values", f"{CASES}:10: a second case is called three_values"),
    "a NaN": (
        CASES,
        '{"values": []}',
        '{"values": __import__("numpy").array([float("nan")])}',
        f"{CASES}:15: case no_values: values holds NaN or infinity",
    ),
    "a case that raises": (
        CASES,
        '{"values": []}',
        '{"values": [1 / 0]}',
        f"{CASES}:15: case no_values cannot be made: Zero",
    ),
    "a case of no driver": (
        CASES,
        '@case("together"',
        '@case("togther"',
        f"{CASES}:30: case both_of_four calls the driver 'togther', which toy.py in tests/drivers does not define",
    ),
    "a case of no question": (
        CASES,
        '@case("together", question="both")',
        '@case("together", question="bth")',
        f"{CASES}:30: case both_of_four: there is no question 'bth'",
    ),
    "two mistakes of a name": (
        MISTAKES,
        "def last_value_left_out",
        "def begins_with_one",
        f"{MISTAKES}:12: begins_with_one is the name of two entries; rename one",
    ),
    "cases that raise": (CASES, None, "\n\nSIZE = 1 / 0\n", f"{CASES}:34: solutions/toy/cases.py cannot be imported: Zero"),
    "a mistake of no question": (
        MISTAKES,
        '@mistake("total", hint="What is',
        '@mistake("totl", hint="What is',
        f"{MISTAKES}:7: begins_with_one: there is no question 'totl'",
    ),
    "a declaration misspelled": (
        MISTAKES,
        '@mistake("total", hint="What is',
        '@mistakes("total", hint="What is',
        f"{MISTAKES}:6: @mistakes declares nothing; write @mistake(...)",
    ),
    "an edit that is not found": (
        MISTAKES,
        '{" * scale": ""}',
        '{" ** scale": ""}',
        f"{MISTAKES}:33: scale_ignored: ' ** scale' is not in the solution's function: copy",
    ),
    "an edit found twice": (MISTAKES, '{" * scale": ""}', '{"values": ""}', f"{MISTAKES}:33: scale_ignored: 'values' occurs "),
    "a hint that is missing": (MISTAKES, ', hint="What is scale for?"', "", f"{MISTAKES}:33: scale_ignored has no hint"),
    "a hint of two lines": (
        MISTAKES,
        "What is scale for?",
        "What is\\nscale for?",
        f"{MISTAKES}:33: the hint of scale_ig",
    ),
    "a hint that asks nothing": (
        MISTAKES,
        "What is scale for?",
        "Use scale.",
        f"{MISTAKES}:33: the hint of scale",
    ),
    "an alternative of no question": (ALTERNATIVES, '@alternative("total")', '@alternative("totl")', f"{ALTERNATIVES}:16: "),
    "needs that name nothing": (
        TOML,
        '["total", "spread"]',
        '["total", "spred"]',
        f"{TOML}:26: both needs 'spred', which is not a question; did you mean 'spread'?",
    ),
    "a key that is not known": (
        TOML,
        'task = "return the sum',
        'tsk = "return the sum',
        f"{TOML}:10: there is no key 'tsk' here; did you mean 'task'?",
    ),
    "a limit that is not known": (
        TOML,
        None,
        "\n[limits]\nsecond = 5\n",
        f"{TOML}:29: there is no key 'second' here; did you mean 'seconds'?",
    ),
    "points of another suite": (
        TOML,
        "{ visible = 2, ",
        "{ visibel = 2, ",
        f"{TOML}:11: there is no key 'visibel' here; did you mean 'visible'?",
    ),
    "a limit that is no number": (
        TOML,
        None,
        "\n[limits]\nseconds = -5\n",
        f"{TOML}:29: limits.seconds: expected a number greater than 0, found -5",
    ),
    "invalid TOML": (TOML, 'title = "Total"', "title = Total", f"{TOML}:8: not valid TOML"),
    "points that do not add up": (
        TOML,
        "visible = 2",
        "visible = 3",
        f"{TOML}:7: total: its visible checks are worth 2 points, but `points` says 3",
    ),
    "a question without mistakes": (TOML, None, OWN, f"{TOML}:29: more has no mistake in mistakes.py"),
    "a question without visible checks": (TOML, None, QUESTION, f"{TOML}:29: more has no visible check"),
    "a function misspelled": (
        TOML,
        'function = "spread"',
        'function = "spred"',
        f"{TOML}:14: spread is about 'spred', which submitted.py does not define at its top level; did you mean 'spread'?",
    ),
    "a blank of no question": (
        SOLUTION,
        "BEGIN SOLUTION spread",
        "BEGIN SOLUTION spred",
        f"{SOLUTION}:16: there is no",
    ),
    "a solution that is not closed": (
        SOLUTION,
        "* scale\n    # END SOLUTION",
        "* scale",
        f"{SOLUTION}:16: the solution of spread has no closing line # END SOLUTION",
    ),
    "a function without a blank": (
        SOLUTION,
        "# BEGIN SOLUTION spread\n    return (max(values) - min(values)) * scale\n    # END SOLUTION",
        "return (max(values) - min(values)) * scale",
        f"{SOLUTION}:14: spread has no lines # BEGIN SOLUTION",
    ),
    "a solution that is not Python": (SOLUTION, "    return result", "    return = result", f"{SOLUTION}:10: not valid Python"),
    "drivers that are not Python": (DRIVERS, "def total(", "def total((", f"{DRIVERS}:1: not valid Python"),
    "checks that are not Python": (VISIBLE, "def test_three", "de test_three", f"{VISIBLE}:5: not valid Python"),
    "no cases": (CASES, False, "", f"{CASES}:0: it is missing"),
    "no drivers": (DRIVERS, False, "", f"{DRIVERS}:0: it is missing"),
    "no hidden checks": (HIDDEN, False, "", f"{HIDDEN}:0: it is missing"),
    "no mistakes": (MISTAKES, False, "", f"{MISTAKES}:0: it is missing: nothing shows that"),
    "no solution": (SOLUTION, False, "", f"{SOLUTION}:0: it is missing"),
    "a survivor misspelled": (
        "solutions/toy/survivors.toml",
        None,
        "[[survivor]]\nquestio = 1\nchange = 'a'\nreason = 'r'\nquestion = 'total'\nequivalent = true\n",
        "solutions/toy/survivors.toml:2: entry 1: questio: there is no key 'questio' here; did you mean 'question'?",
    ),
    "survivors below another key": (
        "solutions/toy/survivors.toml",
        None,
        "[[survivors]]\nquestion = 'total'\n",
        "solutions/toy/survivors.toml:1: there is no key 'survivors'; each entry begins with [[survivor]]",
    ),
    "a survivor in single brackets": (
        "solutions/toy/survivors.toml",
        None,
        "[survivor]\nquestion = 'total'\n",
        "solutions/toy/survivors.toml:1: expected a list; write [[survivor]] in double brackets",
    ),
    "a wrong type in the second of two survivors": (
        "solutions/toy/survivors.toml",
        None,
        "[[survivor]]\nquestion = 'total'\nchange = 'a'\nreason = 'r'\nequivalent = true\n\n"
        "[[survivor]]\nquestion = 'total'\nchange = 'b'\nreason = 'r'\nequivalent = 'no'\n",
        "solutions/toy/survivors.toml:11: entry 2: equivalent: expected a valid boolean, found 'no'",
    ),
    "a value missing in an exception": (
        "solutions/toy/collateral.toml",
        None,
        "\n[[collateral]]\nmistake = 'product'\n",
        "solutions/toy/collateral.toml:2: entry 1: reason: expected a value, found none; add a line `reason = ...`",
    ),
    "a misspelled key in an exception": (
        "solutions/toy/collateral.toml",
        None,
        "[[collateral]]\nreason = 'r'\nmistakes = 'product'\n",
        "solutions/toy/collateral.toml:3: entry 1: mistakes: there is no key 'mistakes' here; did you mean 'mistake'?",
    ),
    "an exception for an unknown mistake": (
        "solutions/toy/collateral.toml",
        None,
        "[[collateral]]\nreason = 'r'\nmistake = 'produkt'\n",
        "solutions/toy/collateral.toml:3: there is no mistake 'produkt' in mistakes.py; did you mean 'product'?",
    ),
    "survivors that are a number": (
        "solutions/toy/survivors.toml",
        None,
        "survivor = 3\n",
        "solutions/toy/survivors.toml:1: expected a list; write [[survivor]] in double brackets",
    ),
    "a text for the mistakes of a check": (
        "solutions/toy/catches.toml",
        None,
        "[visible]\ntest_three = 'product'\n",
        "solutions/toy/catches.toml:2: visible.test_three: expected",
    ),
    "a suite misspelled": (
        "solutions/toy/catches.toml",
        None,
        "[visibel]\ntest_three = []\n",
        "solutions/toy/catches.toml:1: visibel: there is no key 'visibel' here; did you mean 'visible'?",
    ),
    "exceptions below another key": (
        "solutions/toy/collateral.toml",
        None,
        "[[collaterals]]\nmistake = 'product'\n",
        "solutions/toy/collateral.toml:1: there is no key 'collaterals'; each entry begins with [[collateral]]",
    ),
    "a stub behind its solution": (
        "assignments/toy/submitted.py",
        None,
        "# more\n",
        "assignments/toy/submitted.py:0: stale: solutions/toy/submitted.py makes a different stub",
    ),
}

# As SLIPS, but all that is said, word by word: whoever slips once reads one line.
ONE_LINE = {
    "points in quotes": (
        VISIBLE,
        '@points(1, question="spread")',
        '@points("1", question="spread")',
        f"{VISIBLE}:17: test_spread: @points: number is the text '1', expected a number",
    ),
    "points without a number": (
        VISIBLE,
        '@points(1, question="spread")',
        '@points(question="spread")',
        f"{VISIBLE}:17: test_spread: @points has no number; write @points(number, question=...)",
    ),
    "points without a question": (
        VISIBLE,
        '@points(1, question="spread")',
        "@points(1)",
        f"{VISIBLE}:17: test_spread: @points has no question; write @points(number, question=...)",
    ),
    "points without arguments": (
        VISIBLE,
        '@points(1, question="spread")',
        "@points",
        f"{VISIBLE}:17: test_spread: @points needs its arguments; write @points(number, question=...)",
    ),
    "points with a misspelled argument": (
        VISIBLE,
        '@points(1, question="spread")',
        '@points(1, qestion="spread")',
        f"{VISIBLE}:17: test_spread: @points takes number and question, not 'qestion'; did you mean 'question'?",
    ),
    "points that are negative": (
        VISIBLE,
        '@points(1, question="spread")',
        '@points(-1, question="spread")',
        f"{VISIBLE}:17: test_spread: @points: number is -1, expected a number that is not negative",
    ),
    "points of a name that is not there": (
        VISIBLE,
        '@points(1, question="spread")',
        '@points(one, question="spread")',
        f"{VISIBLE}:16: the name 'one' is not defined; define or import it",
    ),
    "other points than assignment.toml says": (
        VISIBLE,
        '@points(1, question="spread")',
        '@points(1.5, question="spread")',
        f"{TOML}:14: spread: its visible checks are worth 1.5 points, but `points` says 1; change one of them",
    ),
    "a check that catches.toml names, and pytest does not run": (
        HIDDEN,
        "def test_nothing_to_add",
        "def nothing_to_add",
        f"{HIDDEN}:6: nothing_to_add has @points, but its name does not begin with test: pytest does not run it",
    ),
    "a view that a check does not import": (
        VISIBLE,
        'expect("spread_of_three")',
        'expect("spread_of_three", only("spread"))',
        f"{VISIBLE}:19: the name 'only' is not defined; import it from grader.judge.views",
    ),
    "a view that the kit has not": (
        HIDDEN,
        "from views import",
        "from grader.judge.views import onyl\nfrom views import",
        f"{HIDDEN}:2: grader.judge.views has no 'onyl'; did you mean 'only'?",
    ),
    "a module that the kit has not": (
        VISIBLE,
        "from grader.judge import",
        "from grader.judges import",
        f"{VISIBLE}:1: grader has no 'judges'; did you mean 'judge'?",
    ),
    "a module that is misspelled": (
        DRIVERS,
        "def total(",
        "import nump as np\n\n\ndef total(",
        f"{DRIVERS}:1: there is no module 'nump'; did you mean 'numpy'?",
    ),
    "a module that is not installed": (
        DRIVERS,
        "def total(",
        "import numba\n\n\ndef total(",
        f"{DRIVERS}:1: there is no module 'numba'; correct its name, or install it and list it in `requirements` of "
        "assignment.toml",
    ),
    "a limit below what machines need": (
        TOML,
        "[[questions]]",
        "[limits]\nseconds = 0.01\n\n[[questions]]",
        f"{TOML}:7: limits.seconds: expected at least 0.1, because machines differ, found 0.01",
    ),
    "a run that ends before a call": (
        TOML,
        "[[questions]]",
        "[limits]\nseconds = 5.0\nbudget = 2\n\n[[questions]]",
        f"{TOML}:8: limits.budget: expected more than `seconds` (5), because it is for all calls, found 2",
    ),
    "a name that numpy has not": (
        SOLUTION,
        "def total(",
        "from numpy import expp\n\n\ndef total(",
        f"{SOLUTION}:4: numpy has no 'expp'; did you mean 'exp'?",
    ),
    "an attribute that numpy has not": (
        SOLUTION,
        "def total(",
        "import numpy as np\n\nNOTHING = np.linalg.nrom([0.0])\n\n\ndef total(",
        f"{SOLUTION}:6: numpy.linalg has no 'nrom'; did you mean 'norm'?",
    ),
    "an attribute that torch has not": (
        SOLUTION,
        "def total(",
        "from torch import nn\n\nLAYER = nn.Lineear\n\n\ndef total(",
        f"{SOLUTION}:6: torch.nn has no 'Lineear'; did you mean 'Linear'?",
    ),
    "an attribute in a mistake": (
        MISTAKES,
        "math.prod(values)",
        "math.prd(values)",
        f"{MISTAKES}:24: math has no 'prd'; did you mean 'prod'?",
    ),
    "a name in the text of an edit": (
        MISTAKES,
        '" * scale": ""',
        '" * scale": " * scael"',
        f"{MISTAKES}:33: scale_ignored: its edits use the name 'scael', which is not defined; did you mean 'scale'?",
    ),
    "an assertion of a tuple": (
        VISIBLE,
        'student.expect("spread_of_three")',
        'assert (student.call("spread"), "is there")',
        f"{VISIBLE}:19: this assertion is always true, because it tests a tuple; remove its parentheses",
    ),
    "a text for a view": (
        VISIBLE,
        'expect("spread_of_three")',
        'expect("spread_of_three", "spread")',
        f"{VISIBLE}:19: the view is a text; write only('spread') to compare this fact alone",
    ),
    "an import of the solutions": (
        HIDDEN,
        "from views import",
        "from solutions.toy.cases import three\nfrom views import",
        f"{HIDDEN}:2: 'solutions' is not there when a submission is graded; write here what you need of it",
    ),
    "a mark above the docstring": (
        SOLUTION,
        '    """Return the largest value minus the smallest, times `scale`."""\n    # BEGIN SOLUTION spread\n',
        '    # BEGIN SOLUTION spread\n    """Return the largest value minus the smallest, times `scale`."""\n',
        f"{SOLUTION}:15: the mark is above the docstring of spread, so students would not read it; move it below",
    ),
    "a name in the solution": (
        SOLUTION,
        "return result",
        "return reslt",
        f"{SOLUTION}:10: the name 'reslt' is not defined; define or import it",
    ),
    "a name in a case": (
        CASES,
        '{"values": []}',
        '{"values": np.zeros(0)}',
        f"{CASES}:16: the name 'np' is not defined; define or import it",
    ),
    "a declaration that is not imported": (
        MISTAKES,
        "import altered, mistake",
        "import mistake",
        f"{MISTAKES}:27: the name 'altered' is not defined; import it from grader.proof.catalogue",
    ),
    "mistakes that import a module of the kit under another name": (
        MISTAKES,
        "from grader.proof.catalogue",
        "from grader.proof.catalog",
        f"{MISTAKES}:3: grader.proof has no 'catalog'; did you mean 'catalogue'?",
    ),
    "a mistake that would fail by its author's slip": (
        MISTAKES,
        "return math.prod(values)",
        "return np.prod(values)",
        f"{MISTAKES}:24: the name 'np' is not defined; define or import it",
    ),
    "an alternative without its import": (
        ALTERNATIVES,
        "from functools import reduce\n",
        "",
        f"{ALTERNATIVES}:16: the name 'reduce' is not defined; define or import it",
    ),
    "a mark in small letters": (
        SOLUTION,
        "# BEGIN SOLUTION spread",
        "# begin solution spread",
        f"{SOLUTION}:16: '# begin solution spread' is not a mark; write # BEGIN SOLUTION spread",
    ),
    "a mark that is misspelled": (
        SOLUTION,
        "# END SOLUTION",
        "# END SOLUTON",
        f"{SOLUTION}:11: '# END SOLUTON' is not a mark; write # END SOLUTION",
    ),
    "a mark without its question": (
        SOLUTION,
        "# BEGIN SOLUTION spread",
        "# BEGIN SOLUTION",
        f"{SOLUTION}:16: '# BEGIN SOLUTION' is not a mark; write # BEGIN SOLUTION QUESTION with the id of its question",
    ),
    "a mark of another question": (
        SOLUTION,
        "# BEGIN SOLUTION spread",
        "# BEGIN SOLUTION total",
        f"{SOLUTION}:16: # BEGIN SOLUTION total is in spread, which is about spread; write # BEGIN SOLUTION spread",
    ),
    "no mark above a solution": (
        SOLUTION,
        "    # BEGIN SOLUTION spread\n",
        "",
        f"{SOLUTION}:17: found # END SOLUTION without a line # BEGIN SOLUTION QUESTION above it",
    ),
    "no marks": (
        SOLUTION,
        "    # BEGIN SOLUTION spread\n    return (max(values) - min(values)) * scale\n    # END SOLUTION\n",
        "    return (max(values) - min(values)) * scale\n",
        f"{SOLUTION}:14: spread has no lines # BEGIN SOLUTION spread and # END SOLUTION, so the stub would contain its "
        "solution; write them around what students write",
    ),
    "a hint of two lines": (
        MISTAKES,
        '"What is scale for?"',
        '"What is scale for?\\nIs it 1?"',
        f"{MISTAKES}:33: the hint of scale_ignored has 2 lines; write one question on one line",
    ),
    "a hint in a list": (
        MISTAKES,
        '"What is scale for?"',
        '["What is scale for?"]',
        f"{MISTAKES}:33: scale_ignored: hint is a list, expected one text in quotes",
    ),
    "a hint that gives the line away": (
        MISTAKES,
        '"What is scale for?"',
        '"Is it `return (max(values) - min(values)) * scale`?"',
        f"{MISTAKES}:33: the hint of scale_ignored contains the solution's line 'return (max(values) - min(values)) * scale'; "
        "ask a question that leads to it",
    ),
    "a number in quotes": (
        TOML,
        "visible = 2",
        'visible = "2"',
        f"{TOML}:11: questions.0.points.visible: expected a number, found the text '2'",
    ),
    "a truth value in quotes": (
        TOML,
        None,
        '\n[hints]  # for students\nvisible = "false"\n',
        f"{TOML}:29: hints.visible: expected true or false, found the text 'false'",
    ),
    "a misspelled key that is needed": (
        TOML,
        'title = "Total"',
        'tilte = "Total"',
        f"{TOML}:8: there is no key 'tilte' here; did you mean 'title'?",
    ),
    "a misspelled table": (
        TOML,
        None,
        "\n[limit]\nseconds = 5.0\n",
        f"{TOML}:28: there is no key 'limit' here; did you mean 'limits'?",
    ),
    "points that are one number": (
        TOML,
        "{ visible = 2, hidden = 1 }",
        "3",
        f"{TOML}:11: questions.0.points: expected {{ visible = 3, hidden = 2 }}, with your numbers; found 3",
    ),
    "two questions of one id": (
        TOML,
        'id = "spread"',
        'id = "total"',
        f"{TOML}:14: a second question has the id 'total'; the first is in line 7",
    ),
    "another name than its folder": (
        TOML,
        'name = "toy"',
        'name = "toys"',
        f"{TOML}:1: name is 'toys', but the folder is called 'toy'; write name = \"toy\"",
    ),
}

# By what it is: the file, what is replaced, by what; and the error of `build`, which must write nothing.
UNANSWERED = {
    "a fact that no answer has": (
        HIDDEN,
        "from views import spread_alone",
        'from grader.judge.views import only\n\nspread_alone = only("spred")',
        f"{HIDDEN}:16: the answer of case default_scale has no fact 'spred' (did you mean 'spread'): correct it here, or "
        "in the driver spread (tests/drivers/toy.py)",
    ),
    "a driver that raises": (
        DRIVERS,
        'return {"total": submitted.total(values)}\n\n\ndef spread',
        'return {"total": submitted.total(values)["sum"]}\n\n\ndef spread',
        f"{DRIVERS}:1: the driver 'total' fails on the solution in case three_values: "
        "TypeError: 'float' object is not subscriptable; correct the driver, or the inputs of the case",
    ),
    "a driver that returns no dict": (
        DRIVERS,
        'return {"total": submitted.total(values)}\n\n\ndef spread',
        "return submitted.total(values)\n\n\ndef spread",
        f"{DRIVERS}:1: the driver 'total' returns a value of type float in case three_values; let it return its facts, in a "
        "dict by name",
    ),
    "a clock": (
        DRIVERS,
        '{"total": submitted.total(values)}\n\n\ndef spread',
        '{"total": submitted.total(values), "time": __import__("time").time() % 1}\n\n\ndef spread',
        f"{DRIVERS}:1: called twice for case three_values, the driver 'total' returns two answers, which differ in time; "
        "remove what differs between calls, such as the clock or a random generator without a seed",
    ),
    "infinity": (
        SOLUTION,
        "return result",
        'return __import__("numpy").array(result) / 0',
        f"{CASES}:5: case three_values: the solution answers with NaN or infinity in total, which cannot be stored; correct "
        "the solution, choose other inputs, or let the driver report whether the number is finite",
    ),
    "a solution that raises": (
        SOLUTION,
        "return result",
        "return result[0]",
        f"{SOLUTION}:10: the solution fails in case three_values, which its driver 'total' calls: TypeError: 'float' object is "
        "not subscriptable",
    ),
}


@pytest.fixture
def toy(built_toy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built_toy, tmp_path / "toy"))


def slip(root: Path, file: str, old: Any, new: str) -> None:
    path = root / file
    if old is False:
        path.unlink()
        return
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    assert old is None or old in text, f"{file} has no {old!r}"
    path.write_text(text + new if old is None else text.replace(old, new, 1), encoding="utf-8")


def inspect(root: Path) -> list[str]:
    return [
        f"{found.path.relative_to(root).as_posix()}:{found.line}: {found.text}" for found in inspect_assignment(root, "toy")
    ]


def test_nothing_is_found_where_nothing_is_wrong(toy: Path) -> None:
    """Catches: a line about what is right, after which nobody reads the others."""
    assert inspect(toy) == []


@pytest.mark.parametrize("what", SLIPS)
def test_each_slip_has_a_line(toy: Path, what: str) -> None:
    """Catches: a slip without a word, a traceback, or a message that does not say where."""
    file, old, new, expected = SLIPS[what]
    slip(toy, file, old, new)
    if what == "a question without mistakes":
        slip(toy, SOLUTION, None, FUNCTION)
    if what == "a question without visible checks":
        slip(toy, HIDDEN, None, '\n\n@points(1, question="more")\ndef test_more(student):\n    """More."""\n')
    found = inspect(toy)
    assert [line for line in found if line.startswith(expected)], found
    assert len([line for line in found if "stale: " not in line]) <= 2, found


@pytest.mark.parametrize("what", ONE_LINE)
def test_one_slip_has_one_line(toy: Path, what: str) -> None:
    """Catches: a slip that nothing notices, or that is said again in its consequences, or without its place."""
    file, old, new, expected = ONE_LINE[what]
    slip(toy, file, old, new)
    stale = (": stale: ", ": no visible check uses the case ")
    assert [line for line in inspect(toy) if not any(words in line for words in stale)] == [expected]


@pytest.mark.parametrize("what", UNANSWERED)
def test_build_says_why_a_case_has_no_answer(
    toy: Path, what: str, own_servers: None, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Catches: a line without its place, of which nobody knows whose file is wrong, and half a build before it."""
    file, old, new, expected = UNANSWERED[what]
    slip(toy, file, old, new)
    slip(toy, SOLUTION, "times `scale`", "`scale` times")  # of which a build would make another stub
    before = {path: path.read_bytes() for path in (*toy.rglob("*.json"), toy / "assignments" / "toy" / "submitted.py")}
    assert command_line("build", "toy", root=toy) == USAGE
    assert capfd.readouterr().err == f"error: nothing was built: {expected}\n"
    assert {path: path.read_bytes() for path in before} == before


def test_build_notices_an_answer_that_depends_on_the_seed(
    toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Catches: a solution with a random answer, of which `verify` blames the alternatives."""
    slip(toy, SOLUTION, "return result", 'return result + __import__("random").random()')
    assert command_line("build", "toy", root=toy) == USAGE
    assert f"error: {VISIBLE}:5: the solution passes this check with one seed" in capfd.readouterr().err


def test_a_damaged_file_is_made_anew(toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    """Catches: a generated file that only somebody who deletes it by hand can get rid of."""
    file = toy / "tests" / "visible" / "mistakes" / "toy.json"
    right = file.read_text(encoding="utf-8")
    file.write_text(right[:100], encoding="utf-8")
    assert command_line("verify", "toy", "--quick", root=toy) == 1
    said = "tests/visible/mistakes/toy.json: damaged; run `python -m grader build toy`"
    assert capfd.readouterr().out.splitlines()[0] == f"FAULT toy: {said}"
    assert command_line("build", "toy", root=toy) == GRADED
    assert "tests/visible/mistakes/toy.json was damaged: it is made anew" in capfd.readouterr().out
    assert file.read_text(encoding="utf-8") == right


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (TOML, 'id = "spread"', 'id = "range"', f"{TOML}:14: the question is called 'range' here, and 'spread' in all"),
        (SOLUTION, "def spread", "def range_of", f"{SOLUTION}:14: the function is called 'range_of' here, and 'spread' in all"),
    ],
)
def test_what_was_renamed_in_one_file_has_one_line(toy: Path, file: str, old: str, new: str, expected: str) -> None:
    """Catches: a line for each of the other files, and none that names `rename`."""
    slip(toy, file, old, new)
    if file == TOML:
        slip(toy, TOML, '["total", "spread"]', '["total", "range"]')
    (found,) = inspect(toy)
    assert found.startswith(expected)
    assert f"`python -m grader rename toy spread {new.split()[-1].strip(chr(34))} --apply`" in found


@pytest.mark.parametrize("name", list_assignments(Path(__file__).resolve().parents[2]))
def test_no_assignment_of_the_kit_has_a_slip(name: str) -> None:
    """Catches: a false alarm, after which authors read no line of these."""
    assert [found.text for found in inspect_assignment(Path(__file__).resolve().parents[2], name)] == []


@pytest.mark.parametrize(
    ("file", "mark", "lines"),
    [(CASES, ', question="', (5, 20, 30)), (SOLUTION, "# BEGIN SOLUTION ", (6, 16))],
)
def test_all_slips_of_a_kind_are_found_at_once(toy: Path, file: str, mark: str, lines: tuple[int, ...]) -> None:
    """Catches: one unknown question a run, after a question was renamed by hand."""
    path = toy / file
    path.write_text(path.read_text(encoding="utf-8").replace(mark, f"{mark}old_"), encoding="utf-8")
    found = [line.split(":")[1] for line in inspect(toy) if "there is no question 'old_" in line]
    assert found == [str(line) for line in lines]


def test_large_answers_are_named(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: 54 MB of answers without a word."""
    monkeypatch.setattr(inspection, "LARGE", 100)
    assert any(line.startswith("tests/visible/answers/toy.json:0: 0.0 MB, which every clone") for line in inspect(toy))


def test_doctor_says_all_at_once(toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    """Catches: one slip a run, in six runs; a passer-by who is told that all is well."""
    for what in (
        "a check without points",
        "an edit found twice",
        "a check of a case that is not there",
        "a blank of no question",
    ):
        slip(toy, *SLIPS[what][:3])
    assert command_line("doctor", "--assignment", "toy", root=toy) == 1
    said = capfd.readouterr().out.splitlines()
    assert len(said) == 6, said  # the case that the check no longer names is used by none
    assert said[-1] == (
        "toy: faults found: 5. Next: correct these files, "
        "then run `python -m grader build toy`, then `python -m grader verify toy`"
    )
    assert all(line.partition(":")[2].partition(":")[0].isdecimal() for line in said[:-1])


def test_doctor_has_nothing_to_say_of_the_toy(
    toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Catches: an exit code that says there is something, and a name beside --assignment that would be left out."""
    assert command_line("doctor", "--assignment", "toy", root=toy) == GRADED
    assert capfd.readouterr().out == "toy: nothing found. Next: `python -m grader verify toy`\n"
    assert command_line("doctor", "toy", "--assignment", "toy", root=toy) == USAGE
    assert command_line("doctor", "--assignment", "nope", root=toy) == USAGE
    assert "there is no assignment 'nope'; there are: toy" in capfd.readouterr().err


def test_build_and_verify_begin_with_it(toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str]) -> None:
    """Catches: a slip that only doctor finds, and a build that has half its work done before it says so."""
    slip(toy, *SLIPS["an edit found twice"][:3])
    slip(toy, *SLIPS["a check of no question"][:3])
    slip(toy, SOLUTION, "times `scale`", "`scale` times")
    before = {path: path.read_bytes() for path in toy.rglob("*.json")}
    assert command_line("build", "toy", root=toy) == USAGE
    said = capfd.readouterr().err
    assert said.startswith(
        "error: nothing was built; faults found: 2\n  tests/hidden/test_toy.py:6: test_nothing_to_add is about 'totl'"
    )
    assert said.endswith("\nNext: correct these files, then run the same command again\n")
    assert {path: path.read_bytes() for path in toy.rglob("*.json")} == before
    assert command_line("verify", "toy", root=toy) == 1
    said = capfd.readouterr().out
    assert "FAULT toy: solutions/toy/mistakes.py:33: scale_ignored: 'values' occurs" in said
    assert "toy: not proven; faults found: 2" in said


def test_an_answer_that_is_not_a_number_names_its_case(toy: Path, command_line: Callable[..., int], capfd) -> None:
    """Catches: a traceback of the JSON writer, after which nobody knows which case it was."""
    slip(toy, SOLUTION, "    return result", '    return result if len(values) < 9 else float("nan")')
    assert command_line("build", "toy", root=toy) == USAGE
    assert "case many_values: the solution answers with NaN, with which no answer agrees" in capfd.readouterr().out
    assert "tests/visible/answers/toy.json:0: the answer of case many_values holds NaN, which equals no answer" in inspect(toy)
    slip(toy, SOLUTION, 'float("nan")', '__import__("numpy").array([float("nan")])')
    assert command_line("build", "toy", root=toy) == USAGE
    assert "case many_values: the solution answers with NaN or infinity in total, which" in capfd.readouterr().err


@pytest.mark.parametrize("file", [SOLUTION, MISTAKES, CASES, DRIVERS, VISIBLE])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xef\xbb\xbf# from Notepad\n", "1: it begins with a byte order mark (BOM); save it as UTF-8 without one"),
        (b"# -*- coding: latin-1 -*-\n# na\xefve\n", "2: it is not UTF-8: found the byte 0xef; save it as UTF-8"),
    ],
)
def test_a_file_in_another_encoding_is_a_slip(toy: Path, file: str, content: bytes, words: str) -> None:
    """Catches: a traceback of every command, for a file that an editor on Windows has saved."""
    (toy / file).write_bytes(content + (toy / file).read_bytes())
    assert inspect(toy) == [f"{file}:{words}"]


def test_release_says_which_source_cannot_be_read(
    toy: Path, command_line: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Catches: a bare error, without a word on whether something was written and which command comes next."""
    slip(toy, *SLIPS["a mistake of no question"][:3])
    assert command_line("release", "toy", "-o", str(toy / "out"), root=toy) == USAGE
    said = capfd.readouterr().err
    assert said.startswith("error: nothing was written: mistakes.py: begins_with_one: there is no question 'totl'")
    assert "Next: `python -m grader build toy`, then `python -m grader verify --quick toy`" in said


def test_an_assignment_that_is_not_there(toy: Path) -> None:
    """Catches: a traceback for a name that is misspelled."""
    with pytest.raises(UsageError, match="there is no assignment 'tow'"):
        inspect_assignment(toy, "tow")
