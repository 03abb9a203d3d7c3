"""Run cells of a notebook on works, as a program: `python -m tests.kit.notebook_cells NAME LEFT_OUT...`.

It first runs all cells on the solution, but for those left out, and writes which functions and methods
each enters: a JSON object with lists of names by cell. Then it reads works, one JSON object a line: the text of a
submission, the ids of the wanted cells, and a seed. It writes for each, in the same order, what these
cells said: an object by cell with `text`, `axes` and `stopped`.

Each work runs in a fork, so it leaves nothing behind, and libraries are imported only once. What would
only cost time is fake: matplotlib, of which the drawn lines are kept, and IPython. The game of
recurrent_a2c counts as not installed. Torch and NumPy are seeded before each cell, so what a cell says
does not depend on which cells ran before it.
"""

from __future__ import annotations

import ast
import contextlib
import dis
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20  # of CPU time, for all cells of a work
MISSING = ("ale_py",)
WORK = "submitted.py"
FAKES = ("matplotlib", "matplotlib.pyplot", "matplotlib.patches", "matplotlib.ticker", "IPython", "IPython.display")


class Cell(NamedTuple):
    """A code cell.

    Attributes:
        needs: Global names that it uses and does not define before.
        defines: Global names that it defines.
    """

    id: str
    source: str
    needs: frozenset[str]
    defines: frozenset[str]


def read_cells(notebook: Path) -> list[Cell]:
    """Return the code cells of a notebook, without its magics."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [describe_cell(cell["id"], "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]


def describe_cell(name: str, source: str) -> Cell:
    """Return a cell; each of its magics becomes `pass`."""
    lines = source.splitlines()
    source = "\n".join(f"{line[: -len(line.lstrip())]}pass" if line.lstrip().startswith("%") else line for line in lines)
    needs: set[str] = set()
    defines: set[str] = set()
    code = compile(source, name, "exec")
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_NAME" and instruction.argval not in defines:
            needs.add(instruction.argval)
        elif instruction.opname == "STORE_NAME":
            defines.add(instruction.argval)
    inner = {
        instruction.argval
        for part in _list_inner(code)
        for instruction in dis.get_instructions(part)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    return Cell(name, source, frozenset(needs | (inner - defines)), frozenset(defines))


def _list_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _list_inner(constant)


def with_needed(cells: Sequence[Cell], wanted: set[str]) -> list[Cell]:
    """Return the wanted cells and, before them, those that define what they need."""
    chosen: dict[str, Cell] = {}
    for place in range(len(cells) - 1, -1, -1):
        cell = cells[place]
        later = [one for one in cells[place + 1 :] if one.id in chosen]
        if cell.id in wanted or any(
            _is_open(name, cells[place + 1 :], one) for one in later for name in one.needs & cell.defines
        ):
            chosen[cell.id] = cell
    return [cell for cell in cells if cell.id in chosen]


def _is_open(name: str, between: Sequence[Cell], user: Cell) -> bool:
    """Return whether no cell before the user defines the name anew."""
    return all(name not in cell.defines for cell in between[: between.index(user)])


Definition = ast.FunctionDef | ast.ClassDef


def list_definitions(text: str) -> dict[str, Definition]:
    """Return functions, classes and their methods by name, such as `Agent.act`; a class before its methods."""
    found: dict[str, Definition] = {}
    for node in ast.parse(text).body:
        if isinstance(node, Definition):
            found[node.name] = node
            methods = node.body if isinstance(node, ast.ClassDef) else []
            found |= {f"{node.name}.{method.name}": method for method in methods if isinstance(method, ast.FunctionDef)}
    return found


def list_changed(solution: str, work: str, function: str) -> set[str]:
    """Return which functions or methods of the solution a work changes, of those in the function or class that it replaces.

    Where more of a class differs than methods that both have, all of its methods count as changed.
    """
    one, other = list_definitions(solution), list_definitions(work)
    within = [name for name in one if name == function or name.startswith(f"{function}.")]
    methods = within[1:]
    frames = [_without_methods(definitions[function]) for definitions in (one, other)]
    if not methods or frames[0] != frames[1] or not all(name in other for name in methods):
        return {*within}
    return {name for name in methods if ast.dump(one[name]) != ast.dump(other[name])}


def _without_methods(node: Definition) -> str:
    body = [part for part in node.body if not isinstance(part, ast.FunctionDef)]
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return "".join(map(ast.dump, [*node.decorator_list, *bases, *body]))


class Fake:
    """Takes every call, and is empty."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Fake()

    def __call__(self, *_arguments: Any, **_options: Any) -> Fake:
        return Fake()

    def __getitem__(self, _key: Any) -> Fake:
        return Fake()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


class Axes(Fake):
    """Records the heights of what is drawn, and its labels."""

    def __init__(self) -> None:
        self.drawn: list[list[float]] = []
        self.labels: list[str] = []

    def plot(self, *arguments: Any, label: str | None = None, **_options: Any) -> Fake:
        """Record a line."""
        numbers = [argument for argument in arguments if not isinstance(argument, str)]
        self._record(numbers[-1], label)
        return Fake()

    def bar(self, _places: Any, heights: Any, label: str | None = None, **_options: Any) -> Fake:
        """Record bars."""
        self._record(heights, label)
        return Fake()

    def get_ylim(self) -> tuple[float, float]:
        return 0.0, 1.0

    def get_legend_handles_labels(self) -> tuple[list[Any], list[str]]:
        return [], []

    def _record(self, heights: Any, label: str | None) -> None:
        import numpy as np

        self.drawn.append(np.asarray(heights, dtype=float).ravel().tolist())
        self.labels.append(label or "")


class Pyplot(types.ModuleType):
    """Fakes matplotlib.pyplot."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.axes: list[Axes] = []

    def subplots(self, rows: int = 1, columns: int = 1, **_options: Any) -> tuple[Fake, Any]:
        """Return a fake figure and its axes, as matplotlib does."""
        import numpy as np

        grid = np.empty((rows, columns), dtype=object)
        for place in np.ndindex(grid.shape):
            grid[place] = Axes()
        self.axes += grid.ravel().tolist()
        squeezed = np.squeeze(grid)
        return Fake(), squeezed if squeezed.ndim else squeezed.item()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Fake()


class Notebook:
    """The cells of an assignment's notebook, but for those left out, to be run on works.

    Attributes:
        entered: By cell, the functions and methods of the solution that it enters.
    """

    def __init__(self, name: str, left_out: Sequence[str]) -> None:
        folder = ROOT / "assignments" / name
        self.cells = [cell for cell in read_cells(folder / "notebook.ipynb") if cell.id not in left_out]
        self.pyplot = Pyplot("matplotlib.pyplot")
        for fake in FAKES:
            sys.modules[fake] = self.pyplot if fake == self.pyplot.__name__ else Pyplot(fake)
        sys.modules["matplotlib"].__dict__["pyplot"] = self.pyplot
        sys.modules.update(dict.fromkeys(MISSING))  # type: ignore[arg-type]
        sys.path.insert(0, str(folder))
        os.environ["NOTEBOOK_BUDGET"] = "short"
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # no thread, which a fork would lack
        self.entered = self._trace((ROOT / "solutions" / name / "submitted.py").read_text(encoding="utf-8"))

    def run(self, text: str, cells: Sequence[str], seed: int) -> dict[str, Any]:
        """Return what these cells say of a work."""
        return _fork(lambda: self._run(text, set(cells), seed))

    def _run(self, text: str, wanted: set[str], seed: int) -> dict[str, Any]:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        signal.alarm(20 * SECONDS)  # ends work that waits
        try:
            names = open_work(text)
        except Exception as error:
            return {"": {"text": "", "axes": [], "stopped": repr(error)}}
        said = {}
        for cell in with_needed(self.cells, wanted):
            before = len(self.pyplot.axes)
            printed, stopped = execute(cell, names, seed)
            drawn = [{"labels": axes.labels, "drawn": axes.drawn} for axes in self.pyplot.axes[before:]]
            if cell.id in wanted:
                said[cell.id] = {"text": printed, "axes": drawn, "stopped": stopped}
        return said

    def _trace(self, solution: str) -> dict[str, list[str]]:
        """Run all cells on the solution, in this process, which imports what they need."""
        lines = {
            line: name
            for name, node in list_definitions(solution).items()
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        entered: dict[str, set[str]] = {}

        def notice(frame: types.FrameType, _event: str, _argument: Any) -> None:
            if frame.f_code.co_filename == WORK and frame.f_code.co_firstlineno in lines:
                entered[cell.id].add(lines[frame.f_code.co_firstlineno])

        names = open_work(solution)
        for cell in self.cells:
            entered[cell.id] = set()
            sys.settrace(notice)
            try:
                _, stopped = execute(cell, names, 0)
            finally:
                sys.settrace(None)
            if stopped:
                raise RuntimeError(f"the solution stops in the cell {cell.id}: {stopped}")
        return {key: sorted(found) for key, found in entered.items()}


def open_work(text: str) -> dict[str, Any]:
    """Let a work be imported as `submitted`, and return the names of a fresh kernel."""
    module = sys.modules["submitted"] = types.ModuleType("submitted")
    module.__file__ = WORK
    exec(compile(text, WORK, "exec"), module.__dict__)
    return {"__name__": "__main__", "get_ipython": Fake}


def execute(cell: Cell, names: dict[str, Any], seed: int) -> tuple[str, str]:
    """Return what a cell prints, and the exception that stops it, if any."""
    import numpy as np
    import torch

    torch.manual_seed(seed)
    np.random.seed(seed)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec(compile(cell.source, cell.id, "exec"), names)
        except Exception as error:
            return output.getvalue(), "".join(traceback.format_exception_only(error)).strip()
    return output.getvalue(), ""


def _fork(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what a call returns in a fork of this process, in an empty folder, as JSON has it."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        folder = tempfile.mkdtemp()
        try:
            os.close(reading)
            os.chdir(folder)
            with open(writing, "w", encoding="utf-8") as reply:
                json.dump(call(), reply)
        except BaseException:
            traceback.print_exc()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as reply:
        text = reply.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"": {"text": "", "axes": [], "stopped": f"no end within {SECONDS} seconds"}}


def main(name: str, *left_out: str) -> None:
    """Run the works that are read from the standard input."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        notebook = Notebook(name, left_out)
        print(json.dumps(notebook.entered), flush=True)
        for line in sys.stdin:
            print(json.dumps(notebook.run(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
