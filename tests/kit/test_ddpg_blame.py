"""Which question of `ddpg` a mistake is charged to: its own, and no other. Docstrings name what went wrong before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.assignment import SUITES, AssignmentFiles
from grader.judge.run import Grader
from grader.proof.trials import recall_calls, replies_to_variant, try_variant, write_coverage

pytestmark = pytest.mark.recorded

INPUTS = ("grading:ddpg",)

ROOT = Path(__file__).resolve().parents[2]
HOME = AssignmentFiles(ROOT, "ddpg")
SOLUTION = (HOME.solution / "submitted.py").read_text(encoding="utf-8")
FULL = {question.id: question.points.visible + question.points.hidden for question in HOME.assignment.questions}
UPDATES = "DDPGAgent.update_model.critic", "DDPGAgent.update_model.actor"
PARTS = [name for name in FULL if name not in ("one_update", "learning", "trained_actor")]

BATCH_OF_COLUMNS = {
    '"rews": self.rews_buf[rows]': '"rews": self.rews_buf[rows].reshape(-1, 1)',
    '"done": self.done_buf[rows]': '"done": self.done_buf[rows].reshape(-1, 1)',
}
IN_A_ROW = {"return self.out(x)\n        # END": "return self.out(x).squeeze(-1)\n        # END"}
Lost = Callable[[dict[str, str]], dict[str, float]]

OPPOSITE = {"self.done_buf[self.ptr] = done": "self.done_buf[self.ptr] = 1 - done"}


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lost]:
    """Return the points that each question loses by edits of the solution; those that lose none are left out."""
    coverage = tmp_path_factory.mktemp("coverage") / "replies"
    with Grader(HOME, SUITES) as grader:
        write_coverage(grader, SOLUTION, frozenset(PARTS), coverage)

        def lost(edits: dict[str, str]) -> dict[str, float]:
            text = SOLUTION
            for old, new in edits.items():
                assert text.count(old) == 1, old
                text = text.replace(old, new)
            with recall_calls(grader, replies_to_variant(coverage, text)):
                report = try_variant(grader, text, set(PARTS)).report
            found = {question.id: FULL[question.id] - question.points for question in report.questions if question.id in PARTS}
            return {name: points for name, points in found.items() if points}

        yield lost


@pytest.mark.parametrize(
    "edits",
    [
        {"self.actor_optimizer.step()": "self.actor_optimzer.step()"},
        {"        self._target_soft_update()\n": "        self.target_soft_update()\n"},
        {"-self.critic(state, self.actor(state)).mean()": "-self.critic(self.actor(state)).mean()"},
        {"return actor_loss.detach(), critic_loss.detach()": "return 1 / 0"},
    ],
)
def test_what_stops_behind_the_critics_step_is_the_actors(lost: Lost, edits: dict[str, str]) -> None:
    """A right half of `update_model` lost its 13 points by a typing error in the other one."""
    assert lost(edits) == {UPDATES[1]: FULL[UPDATES[1]]}


@pytest.mark.parametrize(
    "edits",
    [
        BATCH_OF_COLUMNS,
        OPPOSITE,
        {'"done": self.done_buf[rows]': '"done": self.done_buf[rows].astype(bool)'},
        {'"acts": self.acts_buf[rows]': '"acts": self.acts_buf[rows].squeeze()'},
    ],
)
def test_batches_that_the_update_is_not_made_for_are_the_buffers(lost: Lost, edits: dict[str, str]) -> None:
    """A right `update_model` lost up to 23 points because its batches came from a buffer of another form."""
    assert set(lost(edits)) == {"ReplayBuffer.sample_batch"}


def test_values_that_the_update_is_not_made_for_are_the_critics(lost: Lost) -> None:
    """A right `update_model` lost 14 points because values without an axis make `[B, B]` of its loss."""
    assert set(lost(IN_A_ROW)) == {"Critic"}


@pytest.mark.parametrize(
    "edits",
    [
        OPPOSITE | {"(1 - done) * next_value": "done * next_value"},
        BATCH_OF_COLUMNS
        | {
            'samples["rews"], device=self.device).unsqueeze(1)': 'samples["rews"], device=self.device)',
            'samples["done"], device=self.device).unsqueeze(1)': 'samples["done"], device=self.device)',
        },
        IN_A_ROW
        | {
            'samples["rews"], device=self.device).unsqueeze(1)': 'samples["rews"], device=self.device)',
            'samples["done"], device=self.device).unsqueeze(1)': 'samples["done"], device=self.device)',
        },
    ],
)
def test_parts_that_agree_are_right_in_the_update(lost: Lost, edits: dict[str, str]) -> None:
    """Who keeps `1 - done`, columns or rows, and knows it, learns as well as anybody."""
    assert not {*lost(edits)} & {"Critic", *UPDATES}


def test_an_update_that_is_wrong_with_any_buffer_is_wrong(lost: Lost) -> None:
    """Two mistakes at once must not be taken for an agreement."""
    charged = lost(OPPOSITE | {"self.gamma * (1 - done) * next_value": "self.gamma * next_value"})
    assert charged[UPDATES[0]] >= 8


def test_targets_that_are_updated_wrongly_in_place_are_the_actors(lost: Lost) -> None:
    """Targets copied inside `update_model` cost five points of the critic, whose targets had moved, and none of the actor."""
    copied = [f"self.{name}_target.load_state_dict(self.{name}.state_dict())\n        " for name in ("actor", "critic")]
    charged = lost({"        self._target_soft_update()\n        return": f"        {''.join(copied)}return"})
    assert set(charged) <= set(UPDATES)
    assert charged[UPDATES[1]] > 0
    assert charged.get(UPDATES[0], 0) <= 1  # with τ = 0 a target stays


def test_one_way_of_two_is_worth_something(lost: Lost) -> None:
    """A right `action` got nothing while `reverse_action` was still to be written."""
    begin = SOLUTION.index("return np.clip(2 * (action - low)")
    line = SOLUTION[begin : SOLUTION.index("\n", begin)]
    assert 0 < lost({line: "raise NotImplementedError"})["ActionNormalizer"] < FULL["ActionNormalizer"]


@pytest.mark.parametrize(
    ("edits", "question"),
    [
        ({"return torch.tanh(self.out(x))": "return torch.tanh(self.out(x)).squeeze()"}, "Actor"),
        (
            {
                "        self.hidden2 = nn.Linear(128, 128)\n        self.out = nn.Linear(128, out_dim)": ""
                "        self.hidden2, self.norm = nn.Linear(128, 128), nn.LayerNorm(128)\n"
                "        self.out = nn.Linear(128, out_dim)",
                "x = F.relu(self.hidden1(state))\n        x = F.relu(self.hidden2(x))\n        return torch.tanh": ""
                "x = self.norm(self.hidden1(state))\n        x = self.hidden2(x)\n        return torch.tanh",
            },
            "Actor",
        ),
        ({"self.rng.choice(self.size, self.batch_size,": "self.rng.choice(self.size, min(self.size, self.batch_size),"},
         "ReplayBuffer.sample_batch"),
        ({"        if not self.is_test:\n            self.transition +=": "        self.total_step += 1\n"
          "        if not self.is_test:\n            self.transition +="}, "DDPGAgent.step"),
        ({"            if not self.is_test:\n                action": "            if self.rng.random() < 0.1:\n"
          "                action = self.rng.uniform(-1.0, 1.0, len(self.noise.mu))\n"
          "            elif not self.is_test:\n                action"}, "DDPGAgent.select_action"),
        ({"        self.critic_optimizer = optim": "        self.actor_optimizer.param_groups[0]['lr'] = 1e-2\n"
          "        self.critic_optimizer = optim"}, "DDPGAgent.networks"),
    ],
)  # fmt: skip
def test_what_got_everything_before(lost: Lost, edits: dict[str, str], question: str) -> None:
    """Actors that cannot push a pendulum, norms in place of ReLU, small batches, steps counted twice, ε-greedy, other rates."""
    assert set(lost(edits)) == {question}
