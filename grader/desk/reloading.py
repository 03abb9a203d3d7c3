"""Load the submission again in a kernel, as soon as a cell begins after it was saved.

IPython's autoreload changes single functions of a module that is loaded. Then tracebacks point to wrong lines, and a decorated
function keeps its old body. Here the whole file is run again.
"""

# Some functions of IPython have no types.
# mypy: allow-untyped-calls

from __future__ import annotations

import contextlib
import gc
import linecache
import sys
import traceback
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, ClassVar

from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell

FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__annotations__", "__dict__")
# Equal values of these types may be one object, so nothing says whether a cell imported it.
SHARED = (bool, bytes, float, int, str, tuple, type(None), ModuleType)


class Reloader:
    """Keeps one module of a kernel as its file was saved last; `current` is the last one.

    Args:
        name: The module; it need not be imported yet.
    """

    current: ClassVar[Reloader | None] = None

    def __init__(self, shell: InteractiveShell, name: str) -> None:
        self._shell, self._name = shell, name
        self._module: ModuleType | None = None
        self._state: tuple[int, int] | None = None  # of the file that was run last
        self._failure = ""
        self._note()

    def open(self) -> None:
        """Begin to look at the file before each cell."""
        self._exclude()
        self._shell.events.register("pre_run_cell", self._before_cell)
        self._shell.events.register("post_run_cell", self._after_cell)

    def close(self) -> None:
        """Leave the module to others, such as autoreload."""
        self._shell.events.unregister("pre_run_cell", self._before_cell)
        self._shell.events.unregister("post_run_cell", self._after_cell)
        with contextlib.suppress(Exception):
            self._find_autoreload().skip_modules.pop(self._name, None)

    def _before_cell(self, info: ExecutionInfo) -> None:
        self._exclude()
        module = self._module
        if module is None or sys.modules.get(self._name) is not module:
            self._note()
            return
        state = _read_state(module)
        failed_before = self._failure
        if state is not None and state != self._state:
            self._state = state
            self._failure = _run_again(module, self._shell.user_ns)
        # A cell that another one runs, as `%%grade` does, has no history.
        if self._failure and (info.store_history or self._failure != failed_before):
            print(self._failure, file=sys.stderr)

    def _after_cell(self, _result: object) -> None:
        if sys.modules.get(self._name) is not self._module:
            self._note()

    def _note(self) -> None:
        """Note which module was imported, and from which state of its file."""
        self._module, self._failure = sys.modules.get(self._name), ""
        self._state = _read_state(self._module) if self._module else None

    def _exclude(self) -> None:
        """Let autoreload, if a cell has loaded it, leave this module alone."""
        with contextlib.suppress(Exception):  # its parts are not documented, and this reloader works beside it, too
            self._find_autoreload().mark_module_skipped(self._name)

    def _find_autoreload(self) -> Any:
        magics: Any = self._shell.magics_manager.registry.get("AutoreloadMagics")
        return magics._reloader


def _read_state(module: ModuleType) -> tuple[int, int] | None:
    """Return modification time and size of a module's file; None if it has none."""
    try:
        found = Path(module.__file__ or "").stat()
    except (AttributeError, OSError):
        return None
    return found.st_mtime_ns, found.st_size


def _run_again(module: ModuleType, namespace: dict[str, Any]) -> str:
    """Run a module's file in the module, and renew what a kernel's namespace has of it; return why this failed, if so."""
    path = str(module.__file__)
    content = vars(module)
    old = dict(content)
    linecache.cache.pop(path, None)
    try:
        code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
        for name in old:
            if not name.startswith("__"):
                del content[name]
        exec(code, content)
    except BaseException as error:  # of whatever kind: the old module must stay
        content.clear()
        content.update(old)
        return _describe(error, path)
    _renew(module, old, namespace)
    return ""


def _describe(error: BaseException, path: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == path:
        line, said = error.lineno, error.msg
    else:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        line, said = (lines[-1] if lines else None), str(error)
    place = f" in line {line}" if line else ""
    first = next(iter(said.splitlines()), "")
    return (
        f"{Path(path).name} was not loaded again: {type(error).__name__}{place}{': ' if first else ''}{first}\n"
        f"The cells use the version that was loaded before, until you save a corrected file."
    )


def _renew(module: ModuleType, old: dict[str, Any], namespace: dict[str, Any]) -> None:
    """Replace what others have of a module before it was run again: names in `namespace`, classes of objects, functions."""
    new = vars(module)
    classes = {}
    for name, before in old.items():
        now = new.get(name)
        if before is now or not _is_of(before, module):
            continue
        if isinstance(before, type) and isinstance(now, type):
            classes[before] = now
        elif isinstance(before, FunctionType) and isinstance(now, FunctionType) and not (before.__closure__ or now.__closure__):
            for part in FUNCTION_PARTS:  # for whoever keeps the function in a list, for example
                setattr(before, part, getattr(now, part))
    for name, value in list(namespace.items()):
        if _is_of(value, module):
            namespace[name] = new.get(value.__name__, value)
        elif name in new and value is old.get(name) and not isinstance(value, (*SHARED, type, FunctionType)):
            namespace[name] = new[name]
    _move_instances(classes)


def _is_of(value: object, module: ModuleType) -> bool:
    """Return whether a function or class was defined in a module."""
    return isinstance(value, (type, FunctionType)) and value.__module__ == module.__name__


def _move_instances(classes: dict[type, type]) -> None:
    """Give the objects and the subclasses of old classes the new ones, where Python allows it."""
    for holder in gc.get_referrers(*classes) if classes else ():
        if (now := classes.get(type(holder))) is not None:
            with contextlib.suppress(TypeError):
                object.__setattr__(holder, "__class__", now)
    for before in classes:
        children: list[type] = before.__subclasses__()
        for child in children:
            if child not in classes:
                with contextlib.suppress(TypeError):
                    child.__bases__ = tuple(classes.get(base, base) for base in child.__bases__)


def register(shell: InteractiveShell, name: str) -> None:
    """Load a module again in this session whenever its file was saved."""
    unregister()
    Reloader.current = Reloader(shell, name)
    Reloader.current.open()


def unregister() -> None:
    """Let the module be as it is loaded."""
    if Reloader.current is not None:
        Reloader.current.close()
        Reloader.current = None
