"""What a student reads after a common exception of torch, NumPy or gymnasium: what it means, and which values met."""

from __future__ import annotations

import pytest

from grader.assignment import Question, QuestionPoints
from grader.judge.exceptions import explain_exception
from grader.judge.failure import explain_failure
from grader.sandbox.forked import ForkedSandbox

pytestmark = pytest.mark.recorded

QUESTION = Question(id="function", title="A", function="function", task="b", points=QuestionPoints(visible=1, hidden=0))
HEAD = """import numpy as np
import torch

values = torch.zeros(5, 1)
rewards = torch.ones(4)
array = np.ones(5)
layer = torch.nn.Linear(3, 2)
weight = torch.nn.Parameter(torch.ones(3))


class Environment:
    def step(self, action):
        return 1, 2.0, True, False, {}

    def reset(self):
        return 1, {}


class Learner:
    def __init__(self):
        self.window = 3

    def act(self, state):
        return state + window


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = torch.nn.Linear(1, 1)

    def act(self):
        return actor


env = Environment()


"""

# What a function does, a part of the sentence that explains it, and what the report says of the values in its line.
COMMON = {
    "shapes do not broadcast": (
        "values[:, 0] + rewards",
        "they are 5 and 4 (dimension 0)",
        "`rewards` is a float32 tensor of shape [4]",
    ),
    "arrays do not broadcast": (
        "array + np.ones(4)",
        "the shapes are (5,) and (4,)",
        "`array` is a float64 NumPy array of shape [5]",
    ),
    "shapes do not multiply": ("layer(torch.ones(2, 4))", "here they are 4 and 3", ""),
    "a column for a number": (
        "float(values)",
        "Only a tensor with one element",
        "`values` is a float32 tensor of shape [5, 1]",
    ),
    "item of many": ("values.item()", "and this one has 5", "of shape [5, 1]"),
    "an array for a number": ("float(array)", "This line expects a number and gets an array", "of shape [5]"),
    "a name of np.random": (
        "np.random.default_rng(0).randn(3)",
        "standard_normal(size), random(size), integers(low, high)",
        "",
    ),
    "a memory without its cell": (
        "torch.nn.LSTMCell(1, 3)(values, torch.zeros(5, 3))",
        "needs the pair (h, c)",
        "`values` is a float32 tensor of shape [5, 1]",
    ),
    "logits for probabilities": (
        "torch.distributions.Categorical(torch.tensor([[-1.0, 2.0]]))",
        "The first argument of a Categorical is `probs`",
        "",
    ),
    "a leaf in place": ("weight.add_(1)", "in `with torch.no_grad():`", "`weight` is a float32 parameter of shape [3]"),
    "a row of a leaf in place": ("weight.__setitem__(0, 2.0)", "in `with torch.no_grad():`", "`weight`"),
    "changed before backward": (
        "x = weight * 2\n    loss = (x * x).sum()\n    x += 1\n    loss.backward()",
        "changed in place afterwards",
        "`loss` is a float32 tensor of shape []",
    ),
    "backward twice": (
        "loss = (weight * weight).sum()\n    loss.backward()\n    loss.backward()",
        "second backward()",
        "`loss`",
    ),
    "no gradient": ("loss = values.mean()\n    loss.backward()", "does not depend on any parameter", "`loss`"),
    "backward of a vector": ("loss = weight * 2\n    loss.backward()", "a loss that is one number", "of shape [3]"),
    "NumPy of what has a gradient": ("weight.numpy()", "elsewhere, use .detach().numpy()", "`weight`"),
    "dtypes": ("layer(torch.from_numpy(np.ones((2, 3))))", "NumPy defaults to float64", ""),
    "an array in place of a tensor": ("layer(np.ones((2, 3)))", "gets a NumPy array", ""),
    "index out of range": ("values[5]", "There is no index 5: dimension 0 has 5 entries", "`values`"),
    "index of a list": ("held = [1, 2]\n    held[2]", "The list is shorter", "`held` is a list of 2 (int)"),
    "no such dimension": ("rewards.sum(dim=1)", "no dimension 1, only -1 to 0", "`rewards`"),
    "no such axis": ("np.sum(array, axis=1)", "no axis 1", "`array`"),
    "a step has five values": (
        "a, b, c, d = env.step(0)",
        "returns five values: observation, reward, terminated, truncated",
        "",
    ),
    "a reset has two": ("a, b, c = env.reset()", "returns two values: observation, info", ""),
    "a different number of values": ("a, b, c = values[:2]", "The left side has 3 names", "`values`"),
    "stacking other shapes": ("torch.stack([values, rewards])", "Only equal shapes can be stacked", "`rewards`"),
    "concatenating numbers": ("torch.cat([values.sum(), values.sum()])", "use torch.stack", "`values`"),
    "index without a column": ("torch.ones(3, 2).gather(1, torch.zeros(3).long())", "use index[:, None]", ""),
    "index of floats": ("torch.ones(3, 2).gather(1, torch.zeros(3, 1))", "convert actions with .long()", ""),
    "an ambiguous condition": ("bool(values > 0)", "this one has a value for each element", "`values`"),
    "nan in a distribution": ("torch.distributions.Normal(values / values, 1.0)", "The distribution gets nan", "`values`"),
    "a negative deviation": (
        "torch.distributions.Normal(values, -rewards[:1])",
        "a standard deviation is positive",
        "`values`",
    ),
    "an array is asked for what tensors have": ("array.detach()", "NumPy arrays have no `.detach`", "`array`"),
    "a tensor is asked for what arrays have": ("values.astype(float)", "use torch's own (.to for .astype", "`values`"),
    "nothing was returned": ("found = None\n    found.shape", "a function without `return`", "`found` is None"),
    "arithmetic of lists": ("[1.0, 2.0] * 1.5", "no elementwise arithmetic", ""),
    "reshaped to another size": ("values.view(2, 3)", "as many elements as the old one", "`values`"),
    "maximum with a dimension": ("values.max(dim=0) - 1", "take `.values`", "`values`"),
    "an entry of a truth": ("truth = 1 > 0\n    truth[0]", "This is a single value", "`truth` is True"),
    "an entry of a number": ("array[0][0]", "This is a single value", "`array`"),
    "an argument that is not there": ("Learner().act(1, window=2)", "`Learner.act` has no argument `window`", ""),
    "a batch of one row, squeezed": (
        "torch.nn.functional.nll_loss(torch.zeros(1, 3), torch.tensor(0), reduction='none')",
        "first argument: 1; of the second: 0.",
        "",
    ),
    "a sample of more than there is": (
        "np.random.default_rng(0).choice(3, 5, replace=False)",
        "The sample is larger than the number of entries",
        "",
    ),
    "a logarithm of a negative number": ("import math\n    math.log(1 - 10)", "for which it is not defined", ""),
    "an element of a column": (
        "t = 1\n    rewards[:2] + values[t].expand(3)",
        "do not broadcast",
        "`values[t]` is a float32 tensor of shape [1]",
    ),
}


# What a function does with a name that is not there, and the sentence that helps.
NAMES = {
    "a module's": ("torch.argmx(values)", "Did you mean `argmax`?"),
    "a variable's": ("total = valeus.sum()", "Did you mean `values`?"),
    "an attribute's, of the student's class": ("Learner().act(1)", "Did you mean `self.window`?"),
    "of the student's class": ("Learner().widnow", "indented inside the class Learner? The closest name is `window`."),
    "a layer of the student's network": ("Network().actr", "The closest name is `actor`."),
    "a layer, without self": ("Network().act()", "Did you mean `self.actor`?"),
    "a builtin": ("rnage(3)", "Did you mean `range`?"),
    "of another class": ("layer.in_feature", "Did you mean `in_features`?"),
    "of another class, like no other": ("layer.zzz", "`Linear` is not a class of your file"),
}


def explain(sandbox: ForkedSandbox, body: str, before: str = HEAD) -> str:
    """Return what a student reads when their function does this."""
    path = sandbox.folders[0] / "submitted.py"
    path.write_text(f"{before}def function():\n    {body}\n")
    reply = sandbox.call("run", {}, path)
    return explain_failure(reply, QUESTION, 5.0, 512, "").message


@pytest.mark.parametrize("name", COMMON)
def test_common_exceptions_are_explained(sandbox: ForkedSandbox, name: str) -> None:
    """Catches: a message of torch that a beginner cannot read, alone, and a sentence that names neither shapes nor a remedy."""
    body, sentence, value = COMMON[name]
    told = explain(sandbox, body)
    assert sentence in told
    assert value in told


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_not_there_has_a_neighbor(sandbox: ForkedSandbox, name: str) -> None:
    """Catches: a student who is asked about the indentation of a class that the kit gave, and not told the right name."""
    body, sentence = NAMES[name]
    assert sentence in explain(sandbox, body)


@pytest.mark.parametrize("claim", [{"closest": 3, "made_by": 7}, {"closest": "a" * 10**6, "made_by": "library"}, {}])
def test_what_a_worker_claims_of_names_is_only_text(claim: dict) -> None:
    """Likewise of names."""
    details = {"type": "AttributeError", "message": "'Agent' object has no attribute 'gama'"} | claim
    assert 20 < len(explain_exception(details)) < 400


def test_attributes_and_inner_expressions_are_known(sandbox: ForkedSandbox) -> None:
    """What a line of a method, or of a comprehension, uses are attributes and variables around it."""
    agent = (
        "import torch\n\nclass Agent(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.values = torch.zeros(5, 1)\n        self.scale = torch.nn.Parameter(torch.ones(2))\n"
        "    def act(self, other):\n        return [self.values[:, 0] + self.scale + other[index] for index in range(2)]\n\n"
    )
    told = explain(sandbox, "return Agent().act([1, 2])", agent)
    for value in (
        "`self.values` is a float32 tensor of shape [5, 1]",
        "`self.scale` is a float32 parameter of shape [2]",
        "`other` is a list of 2 (int)",
        "`other[index]` is 1",
    ):
        assert value in told


def test_nothing_of_the_submission_runs_for_it(sandbox: ForkedSandbox) -> None:
    """Catches: a property, an index or a text of the student's own that is computed once more after it has failed."""
    hostile = (
        "class Loud:\n    def __getattr__(self, name): print('ran', name); raise AttributeError(name)\n"
        "    def __getitem__(self, index): print('ran', index); return 1\n"
        "    def __repr__(self): print('ran repr'); return ''\n"
        "    @property\n    def held(self): print('ran held'); return 1\n\nloud = Loud()\n\n"
    )
    path = sandbox.folders[0] / "submitted.py"
    path.write_text(f"{hostile}def function():\n    return [][0] + loud[0] + loud.held + loud.other\n")
    reply = sandbox.call("run", {}, path)
    assert reply.status == "raised"
    assert "ran" not in reply.output


@pytest.mark.parametrize(
    "operands", [None, 7, "text", [1], [["a"]], [["a", 1]], [[None, None]], [["a" * 10**6, "b" * 10**6]] * 100, {"a": "b"}]
)
def test_what_a_worker_claims_is_only_text(operands: object) -> None:
    """The worker runs student code: what it says of values may be anything."""
    told = explain_exception({"type": "RuntimeError", "message": "no message of torch", "operands": operands})
    assert len(told) < 2000


def test_other_exceptions_stay_as_they_are() -> None:
    """Silence is better than an explanation of something else."""
    assert explain_exception({"type": "ValueError", "message": "learning rate must be positive"}) == ""
