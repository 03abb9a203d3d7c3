# ruff: noqa: E501 (students write long lines)
"""Similarity of a class: copies in disguise stand above independent work, what everybody has makes no pairs, nothing breaks it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from grader.course.similarity import LEVEL, MOST, MOST_TOKENS, SimilarPair, find_similar_pairs

pytestmark = pytest.mark.recorded

INPUTS = ("assignments/policy_gradient/submitted.py",)

ROOT = Path(__file__).resolve().parents[2]
STUB = (ROOT / "assignments" / "policy_gradient" / "submitted.py").read_text(encoding="utf-8")

RETURNS = {
    "ann": """
        returns, future = [], 0.0
        for reward, done in zip(reversed(buffer.rewards.tolist()), reversed(buffer.terminateds.tolist())):
            if done:
                future = 0.0
            future = reward + discount * future
            returns.append(future)
        returns.reverse()
        return torch.tensor(returns, dtype=torch.float32).unsqueeze(1)
    """,
    "bob": """
        size = len(buffer.rewards)
        out = np.zeros((size, 1), dtype=np.float32)
        running = 0
        i = size - 1
        while i >= 0:
            running = buffer.rewards[i].item() + (1 - int(buffer.terminateds[i])) * discount * running
            out[i, 0] = running
            i -= 1
        return torch.from_numpy(out)
    """,
    "cho": """
        pieces = []
        ends = [k + 1 for k, over in enumerate(buffer.terminateds) if over]
        for begin, end in zip([0] + ends, ends + [len(buffer.rewards)]):
            powers = discount ** torch.arange(end - begin)
            part = buffer.rewards[begin:end]
            pieces += [(part[k:] * powers[: len(part) - k]).sum() for k in range(len(part))]
        return torch.stack(pieces).reshape(-1, 1).float()
    """,
    "dev": """
        def from_row(row):
            if row == buffer.final_size:
                return 0.0
            rest = 0.0 if buffer.terminateds[row] else from_row(row + 1)
            return float(buffer.rewards[row]) + discount * rest

        return torch.FloatTensor([[from_row(row)] for row in range(buffer.final_size)])
    """,
    "eve": """
        table = pandas.DataFrame({"r": buffer.rewards.numpy(), "episode": buffer.terminateds.cumsum(0).numpy()})
        table["episode"] = table["episode"].shift(fill_value=0)
        groups = table.groupby("episode")["r"]
        sums = groups.transform(lambda r: lfilter([1], [1, -discount], r[::-1])[::-1])
        return torch.as_tensor(sums.to_numpy(), dtype=torch.float32)[:, None]
    """,
}
TRAIN = {
    "ann": """
        losses = []
        for epoch in range(epochs):
            for rows in torch.randperm(buffer.final_size).split(size):
                batch = {"observation": buffer.observations[rows], "action": buffer.actions[rows], "returns": returns[rows]}
                loss = actor_loss = get_actor_loss(policy=policy, **batch)
                if value_net is not None:
                    critic_loss = get_critic_loss(value_net=value_net, **batch)
                    loss = actor_loss + multiplier * critic_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
                optimizer.step()
                losses.append(loss.item())
        return losses
    """,
    "bob": """
        history = {"actor": [], "critic": []}
        loader = DataLoader(TensorDataset(buffer.observations, buffer.actions, returns), batch_size=size, shuffle=True)
        for number, (o, a, r) in enumerate(itertools.chain.from_iterable(itertools.repeat(loader, epochs))):
            optimizer.zero_grad(set_to_none=True)
            terms = [get_actor_loss(policy, o, a, r)]
            history["actor"].append(float(terms[0]))
            if value_net:
                terms.append(multiplier * get_critic_loss(value_net, o, r))
                history["critic"].append(float(terms[1]) / multiplier)
            sum(terms).backward()
            optimizer.step()
        return history["actor"], history["critic"]
    """,
    "cho": """
        for _ in range(epochs):
            order = np.random.permutation(len(returns))
            start = 0
            while start < len(order):
                picked = torch.from_numpy(order[start : start + size])
                start += size
                update(policy, value_net, optimizer, multiplier, buffer.observations[picked], buffer.actions[picked], returns[picked])


    def update(policy, critic, optimizer, weight, seen, done, target):
        first = get_actor_loss(policy, seen, done, target)
        second = 0 if critic is None else get_critic_loss(critic, seen, target)
        total = first + weight * second
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    """,
    "dev": """
        def closure():
            optimizer.zero_grad()
            parts = (
                get_actor_loss(policy=policy, observation=chunk[0], action=chunk[1], returns=chunk[2]),
                get_critic_loss(value_net=value_net, observation=chunk[0], returns=chunk[2]) if value_net else torch.zeros(()),
            )
            record.append([part.item() for part in parts])
            objective = torch.stack(parts) @ torch.tensor([1.0, multiplier])
            objective.backward()
            return objective

        record = []
        for _ in range(epochs):
            shuffle = torch.argsort(torch.rand(buffer.final_size))
            columns = [column[shuffle].chunk(-(-buffer.final_size // size)) for column in (buffer.observations, buffer.actions, returns)]
            for chunk in zip(*columns):
                optimizer.step(closure)
        return np.transpose(record)
    """,
    "eve": """
        sampler = BatchSampler(RandomSampler(returns), batch_size=size, drop_last=False)
        scaler = torch.amp.GradScaler(enabled=False)
        result = []
        for index in (index for _ in range(epochs) for index in sampler):
            with torch.autocast("cpu", enabled=False):
                cost = get_actor_loss(policy, buffer.observations[index], buffer.actions[index], returns[index])
                if value_net is not None:
                    cost += get_critic_loss(value_net, buffer.observations[index], returns[index]).mul(multiplier)
            policy.zero_grad()
            scaler.scale(cost).backward()
            scaler.step(optimizer)
            scaler.update()
            result.append(cost.detach())
        return torch.stack(result).tolist()
    """,
}


def written(returns: str, train: str) -> str:
    """Return a whole submission of two functions."""
    parameters = "buffer, returns, policy, value_net, optimizer, size, epochs, multiplier"
    heads = ("def get_returns(buffer, discount=0.95):", f"def train({parameters}):")
    bodies = (textwrap.indent(textwrap.dedent(body).strip(), "    ") for body in (returns, train))
    return "import torch\n\n\n" + "\n\n\n".join(f"{head}\n{body}" for head, body in zip(heads, bodies, strict=True)) + "\n"


CLASS = {name: written(RETURNS[name], TRAIN[name]) for name in RETURNS}
GIVEN = ["import torch\n\n\ndef get_returns(buffer, discount=0.95):\n    raise NotImplementedError('return R_t')\n"]


def renamed(text: str) -> str:
    for number, name in enumerate(
        ("returns", "future", "done", "reward", "losses", "rows", "batch", "loss", "actor_loss", "epoch")
    ):
        text = re.sub(rf"(?<![\w.\"]){name}(?![\w\"])", f"value{number}", text)
    return text


def reordered(text: str) -> str:
    head, *functions = re.split(r"\n\n\n(?=def )", text.strip())
    return "\n\n\n".join([head, *reversed(functions)]) + "\n"


def reformatted(text: str) -> str:
    """Return it with tabs, line breaks after commas, other quotes and numbers, docstrings and the line ends of an old Mac."""
    text = text.replace("    ", "\t").replace(", ", ",\n\t\t\t\t").replace('"', "'").replace("0.0", "0.00")
    return re.sub(r"(def .*(?:\n\t\t\t\t.*)*:)\n", r'\1\n\t"""Do it.\n\n\tWell."""\n\n', text).replace("\n", "\r")


def padded(text: str) -> str:
    """Return it with a comment on every line, and after every fourth a statement that does nothing."""
    lines = []
    for number, line in enumerate(text.splitlines()):
        lines.append(f"{line}  # step {number}" if line else line)
        if number % 4 == 3 and line.startswith("    ") and not line.endswith((":", "{", "(")):
            lines.append(f"{line[: len(line) - len(line.lstrip())]}unused = {number}")
    return "\n".join(lines)


def everything(text: str) -> str:
    return reformatted(padded(reordered(renamed(text))))


def test_independent_submissions_make_no_pairs() -> None:
    assert find_similar_pairs(CLASS, GIVEN) == []


@pytest.mark.parametrize("disguise", [str, renamed, reordered, reformatted, padded, everything])
def test_copies_in_disguise_are_found(disguise) -> None:
    assert disguise is str or disguise(CLASS["ann"]) != CLASS["ann"]
    pairs = find_similar_pairs(CLASS | {"zoe": disguise(CLASS["ann"])}, GIVEN)
    assert [(pair.first, pair.second) for pair in pairs] == [("ann", "zoe")]
    assert pairs[0].score == 1 if disguise in (str, renamed, reordered, reformatted) else pairs[0].score > 0.5


def test_a_function_that_was_copied_is_found() -> None:
    pairs = find_similar_pairs(CLASS | {"zoe": written(renamed(RETURNS["eve"]), renamed(TRAIN["ann"]))}, GIVEN)
    by_pair = {(pair.first, pair.second): pair.score for pair in pairs}
    assert set(by_pair) == {("ann", "zoe"), ("eve", "zoe")}
    assert all(LEVEL <= score < 0.9 for score in by_pair.values())


def test_names_of_libraries_tell_people_apart() -> None:
    other = re.sub(r"(?<=\.)\w+", lambda found: f"{found[0]}_too", CLASS["ann"])
    assert all(pair.score < 0.5 for pair in find_similar_pairs(CLASS | {"zoe": other}, GIVEN))


def test_passages_are_lines_of_both() -> None:
    zoe = "# Mine.\n# All of it.\n" + reordered(CLASS["ann"])
    (pair,) = find_similar_pairs(CLASS | {"zoe": zoe}, GIVEN)
    first, second = CLASS["ann"].splitlines(), zoe.splitlines()
    assert len(pair.passages) >= 2
    for (start, end), (other, other_end) in pair.passages:
        assert first[start - 1 : end] == second[other - 1 : other_end]
    covered = {line for (start, end), _ in pair.passages for line in range(start, end + 1)}
    assert len(covered) > 0.8 * len([line for line in first if line])


def test_what_was_given_does_not_count() -> None:
    assert find_similar_pairs({f"s{number}": STUB for number in range(300)}, [STUB]) == []
    trivial = ("return None", "pass", "return 0", "return torch.zeros(1)", "x = 1", "return []")
    fill = re.compile(r"raise NotImplementedError\((?s:.*?)\"\s*\)")
    filled = {f"s{number}": fill.sub(trivial[number % len(trivial)], STUB) for number in range(300)}
    assert filled["s0"] != STUB
    assert find_similar_pairs(filled, [STUB]) == []
    assert find_similar_pairs({name: filled[name] for name in ("s0", "s6")}, [STUB]) == []


def test_short_solutions_are_too_little_to_judge_by() -> None:
    line = "def loss(net, x, y):\n    return nn.functional.mse_loss(net(x), y)\n"
    assert find_similar_pairs({"ann": line, "bob": line, "cho": ""}) == []


def test_what_much_of_a_class_writes_makes_no_pairs() -> None:
    """A third of the class has a loop from the lecture; a ring of twelve has one solution, each in its own disguise."""
    names = [f"s{number:03}" for number in range(120)]
    sources = {name: "def own():\n" + "".join(f"    a.f{name}(a.g{k})\n" for k in range(40)) for name in names}
    for name in names[::3]:
        sources[name] += "\n\n" + CLASS["bob"]
    assert find_similar_pairs(sources) == []
    disguises = (str, renamed, reordered, reformatted)
    ring = names[1:36:3]
    sources |= {name: disguises[place % 4](CLASS["ann"]) for place, name in enumerate(ring)}
    pairs = find_similar_pairs(sources)
    assert len(ring) == 12
    assert {(pair.first, pair.second) for pair in pairs} == {(a, b) for a in ring for b in ring if a < b}
    assert {pair.score for pair in pairs} == {1.0}


def test_order_of_submissions_makes_no_difference_and_ties_go_by_id() -> None:
    sources = CLASS | {"yan": renamed(CLASS["bob"]), "zoe": reordered(CLASS["ann"]), "abe": padded(CLASS["cho"])}
    pairs = find_similar_pairs(sources, GIVEN)
    assert pairs == find_similar_pairs(dict(reversed(sources.items())), GIVEN)
    assert [(pair.first, pair.second) for pair in pairs] == [("ann", "zoe"), ("bob", "yan"), ("abe", "cho")]


def test_every_process_finds_the_same() -> None:
    script = (
        "from tests.kit.test_similarity import *\n"
        "print(find_similar_pairs(CLASS | {'abe': padded(CLASS['cho']), 'zoe': everything(CLASS['ann'])}, GIVEN))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert b"SimilarPair(" in outputs.pop()


def test_pairs_are_limited() -> None:
    """A ring of 25 in a class of 125 are 300 pairs."""
    others = {f"t{number:03}": "" for number in range(100)}
    pairs = find_similar_pairs({f"s{number:02}": CLASS["ann"] for number in range(25)} | others)
    assert len(pairs) == MOST == 200
    assert (pairs[0].first, pairs[0].second) == ("s00", "s01")


def test_a_ring_hides_no_other_copies() -> None:
    """A ring of 25 are 300 pairs, more than are returned; a copy that is less alike is among them all the same."""
    others = {f"t{number:03}": "" for number in range(100)}
    ring = {f"s{number:02}": CLASS["ann"] for number in range(25)}
    pair = {"u1": CLASS["bob"], "u2": CLASS["bob"].replace("size = len(buffer.rewards)", "size = int(buffer.rewards.shape[0])")}
    pairs = find_similar_pairs(ring | pair | others)
    assert len(pairs) == MOST
    assert (pairs[-1].first, pairs[-1].second) == ("u1", "u2")
    assert {name for found in pairs for name in (found.first, found.second)} == ring.keys() | pair.keys()


SIZE = 1 << 20
HOSTILE = {
    "no text": "",
    "null bytes": "\0" * SIZE,
    "deep nesting": "(" * SIZE,
    "one long name": "a" * SIZE,
    "one long line": "x = f(y).z; " * (SIZE // 12),
    "bytes that are no text": b"\xff\xfe\x80".decode("utf-8", "surrogateescape") * (SIZE // 3),
    "invalid syntax": "def def class ) ] } return '\n" * (SIZE // 30),
    "a text that never ends": '"""' + "x\n" * (SIZE // 2),
    "openings of texts": '\\"""\n' * (SIZE // 5),
    "quotes behind backslashes": '"""' + '\\"""' * (SIZE // 4),
    "backslashes in a text": '"' + "\\" * SIZE,
    "quotes": "\"'" * (SIZE // 2),
    "texts and spaces": ('"x"' + " " * 1000) * (SIZE // 1003),
    "carriage returns": "\r" * SIZE,
    "definitions": "def " * (SIZE // 4),
    "numbers": "1e" * (SIZE // 2),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_change_nothing_for_others(name: str) -> None:
    pairs = find_similar_pairs(CLASS | {"mal": HOSTILE[name], "zoe": renamed(CLASS["ann"])}, GIVEN)
    assert [(pair.first, pair.second, pair.score) for pair in pairs] == [("ann", "zoe", 1.0)]


def test_nothing_of_a_source_is_run(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n" + CLASS["ann"]
    (pair,) = find_similar_pairs({"ann": trap, "bob": CLASS["bob"], "zoe": trap})
    assert isinstance(pair, SimilarPair)
    assert not (tmp_path / "ran").exists()


def test_only_the_beginning_of_an_endless_text_is_compared() -> None:
    endless = "pass\n" * MOST_TOKENS + CLASS["ann"]
    assert find_similar_pairs(CLASS | {"zoe": endless}, GIVEN) == []


def test_no_class_and_one_submission() -> None:
    assert find_similar_pairs({}) == []
    assert find_similar_pairs({"ann": CLASS["ann"]}) == []
