"""Code that runs inside a worker: load the submission, call one driver, answer with plain data.

Nothing here decides anything. Whatever this process says is a claim that the judge compares with what it knows.
"""

from __future__ import annotations

import builtins
import contextlib
import difflib
import errno
import importlib.util
import io
import linecache
import marshal
import os
import random
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

from grader.sandbox import arguments, cells, entered, lazy, operands, probes, substitutes, variables, zips
from grader.sandbox.definitions import hash_functions
from grader.sandbox.libraries import IMPORTED_LATE

MAX_MESSAGE = 4_000
MAX_FRAMES = 8
MAX_NAMES = 100
LIMITS = {
    errno.EPERM: "forbidden",
    errno.EACCES: "forbidden",
    errno.EROFS: "forbidden",
    errno.ENOSYS: "forbidden",  # what the list of allowed system calls lacks
    errno.ENOSPC: "disk",
    errno.EFBIG: "file size",
    errno.EMFILE: "open files",
    errno.EAGAIN: "threads",
}
TORCH_ERRORS = {  # of torch, which does not raise OSError
    "can't start new thread": "threads",
    "Read-only file system": "forbidden",
    "Permission denied": "forbidden",
    "Operation not permitted": "forbidden",
    "Function not implemented": "forbidden",
    "No space left on device": "disk",
}


ALIKE = 0.7  # of names, as difflib measures it: `logits` and `old_logits` are 0.75, `np` and `n` are 0.67
# Exceptions that no value has led to.
WITHOUT_OPERANDS = (NameError, NotImplementedError, ImportError, SyntaxError, MemoryError, RecursionError)


# Names that a notebook gives no value, because the statement that should have done so failed.
LOST: dict[str, BaseException] = {}


def answer_request(request: dict[str, Any], send: Callable[[bytes], None], turn: Callable[[bytes], dict[str, Any]]) -> None:
    """Answer `request` with one frame.

    A request is for one of ACTIONS, of which those of READING and `probe` run no submission.

    Shortly before the limit the judge sends SIGALRM, and a call that is still running reports where it is, which only the
    process itself can know. It may ignore the signal; the judge does not rely on it.

    Args:
        send: Takes the last frame.
        turn: Takes a frame that is not the last, and returns the other side's message to it.
    """
    is_my_turn = True  # to say something: the alarm may ring at any time

    def say(value: Any) -> Any:
        nonlocal is_my_turn
        frame = _frame(request, {"status": "said", "facts": value})
        is_my_turn = False
        heard = turn(frame)
        is_my_turn = True
        if "over" in heard:
            raise EOFError("the dialogue is over")
        return heard["said"]

    def ring(_signal: int, frame: FrameType | None) -> None:
        nonlocal is_my_turn
        if is_my_turn:
            is_my_turn = False
            _give_up(request, frame, send)

    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, ring)
    there = {name for name in IMPORTED_LATE if lazy.is_imported(name)}
    frame = _answer(request, say, there)
    is_my_turn = False
    send(frame)


def _give_up(request: dict[str, Any], frame: FrameType | None, send: Callable[[bytes], None]) -> None:
    with contextlib.suppress(BaseException):
        sys.stdout.flush()  # which may be what was interrupted
    send(_frame(request, {"status": "timeout", "frames": list_student_frames(traceback.walk_stack(frame), request)[::-1]}))
    os._exit(0)


def _answer(request: dict[str, Any], say: Callable[[Any], Any], there: set[str]) -> bytes:
    if "trace" in request:
        entered.begin_trace()
    try:
        action = ACTIONS[request["do"]]
        reply = action(request, say) if request["do"] in TALKING else action(request)
    except _CannotCross as error:
        reply = {"status": "refused", "message": str(error)}
    except BaseException as error:  # a student's SystemExit and KeyboardInterrupt are answers like any other
        reply = describe_safely("raised", error, request)
    if late := [name for name in IMPORTED_LATE if lazy.is_imported(name) and name not in there]:
        reply["imported"] = late
    if entered.entered:
        reply["entered"] = sorted(entered.entered)
    try:
        return _frame(request, reply)
    except _CannotCross as error:
        return _frame(request, {"status": "refused", "message": str(error)})


class _CannotCross(Exception):
    """What is returned, or said in a dialogue, is nothing that the wire takes."""


def _frame(request: dict[str, Any], reply: dict[str, Any]) -> bytes:
    """Return a reply as a frame. Where one process answers several requests, it carries the number of its request."""
    from grader.sandbox import wire

    number = {"number": request["number"]} if "number" in request else {}
    try:
        return wire.encode(reply | number)
    except wire.ValueRefused as error:
        message = str(error).replace("the answer['facts']", "the answer")
    except BaseException as error:
        message = f"the answer cannot be read: {type(error).__name__}"
    raise _CannotCross(message)


def inspect_source(request: dict[str, Any]) -> dict[str, Any]:
    """Return hashes of functions, or the syntax error, without running anything.

    `{"status": "ok", "fingerprints": {function: hash of its text}, "reach": {name: hash of all that it uses in the file},
    "bytecode": see `compile_source`, "accelerator": whether the file uses one, "globals": see variables.py}`
    """
    try:
        source = Path(request["path"]).read_bytes()
        found = hash_functions(source)
        reach = cells.hash_dependencies(importlib.util.decode_source(source), request["names"]) if request["names"] else {}
        return {
            "status": "ok",
            "fingerprints": found,
            "reach": reach,
            "bytecode": compile_source(source, request["path"], "trace" in request),
            "accelerator": substitutes.names_accelerator(source),
            "globals": _find_globals(source, request["names"]),
        }
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return describe_safely("syntax", error, {"submission": request["path"]})


def _find_globals(source: bytes, names: list[str]) -> dict[str, dict[str, list[str]]]:
    """Return what variables.py finds, or nothing if it fails on this file, which is graded all the same."""
    with contextlib.suppress(Exception):
        return variables.find_globals(importlib.util.decode_source(source), names) if names else {}
    return {}


def compile_source(source: bytes, path: str, traced: bool) -> Any:
    """Return the content of Python's cache file for this source, uint8 [size]. With it no call compiles the source again.

    The array is empty for a file that the compiler refuses or warns about, because loading reports that. It is also
    empty for an extract, which runs statement by statement.

    Args:
        traced: Whether its functions are to note that they are entered.
    """
    import numpy as np

    data = b""
    if not source.startswith(cells.HEADER.encode()):
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("error")
            code = compile(source, path, "exec", dont_inherit=True)
            data = marshal.dumps(entered.trace_functions(source, path) if traced else code)
            # PEP 552: used only beside a source with this hash.
            data = importlib.util.MAGIC_NUMBER + b"\3\0\0\0" + importlib.util.source_hash(source) + data
    return np.frombuffer(data, np.uint8)


def inspect_and_load(request: dict[str, Any], say: Callable[[Any], Any]) -> dict[str, Any]:
    """Say what `inspect` finds, before anything of the file runs; then load it, if that is the answer."""
    looked = inspect_source(request)
    if looked["status"] != "ok":
        return looked
    return call_driver(request | {"do": "load"}) if say(looked) else {"status": "ok"}


def extract_notebook(request: dict[str, Any]) -> dict[str, Any]:
    """Return `{"status": "ok", "facts": ...}` with what a notebook defines, or why it cannot be read; see cells.py."""
    import numpy as np

    try:
        found = cells.extract_definitions(Path(request["path"]).read_bytes(), request["names"], request["own"])
    except cells.NotANotebook as error:
        return {"status": "unreadable", "message": f"your notebook cannot be read: {error}"}
    return {
        "status": "ok",
        "facts": {
            "source": np.frombuffer(found.source.encode(), np.uint8),
            "lines": np.array(found.lines, np.int64).reshape(-1, 3),
            "cells": found.cells,
            "defined": found.defined[:MAX_NAMES],
            "left out": found.left_out[:MAX_NAMES],
        },
    }


def list_code(request: dict[str, Any]) -> dict[str, Any]:
    """Return `{"status": "ok", "facts": {"code": ...}}` with the code cells of a notebook, as text to compare."""
    try:
        texts = [text for _, _, text in cells.read_code_cells(Path(request["path"]).read_bytes())]
    except cells.NotANotebook as error:
        return {"status": "unreadable", "message": str(error)}
    # More than this is not graded.
    return {"status": "ok", "facts": {"code": _as_bytes("\n".join(texts)[: cells.MAX_CODE].encode("utf-8", "replace"))}}


def list_zip(request: dict[str, Any]) -> dict[str, Any]:
    """Return `{"status": "ok", "facts": {"names": ..., "kinds": ...}}` of all entries of a zip; see zips.py.

    The names are one text, with a zero after each. If there are too many, the reply is "refused".
    """
    import numpy as np

    try:
        names, kinds = zips.list_entries(request["path"], request["most"])
    except zips.TooManyFiles:
        return {"status": "refused"}
    except Exception as error:  # whatever zipfile stumbles over, the zip is at fault
        return describe_safely("unreadable", error, {})
    text = "".join(f"{name}\0" for name in names)
    return {"status": "ok", "facts": {"names": _as_bytes(text.encode("utf-8", "replace")), "kinds": np.array(kinds, np.uint8)}}


def read_zip(request: dict[str, Any]) -> dict[str, Any]:
    """Return `{"status": "ok", "facts": {"content": ...}}` with a part of one entry of a zip; see zips.py."""
    try:
        content = zips.read_entry(request["path"], request["entry"], request["start"], request["most"])
    except Exception as error:  # whatever zipfile stumbles over, the zip is at fault
        return describe_safely("unreadable", error, {})
    return {"status": "ok", "facts": {"content": _as_bytes(content)}}


def _as_bytes(content: bytes) -> Any:
    """Return bytes as an array uint8 [size], which is how they cross."""
    import numpy as np

    return np.frombuffer(content, np.uint8)


def probe_worker(request: dict[str, Any]) -> dict[str, Any]:
    """Return what this worker can do that it must not; see probes.py."""
    return {
        "status": "ok",
        "facts": probes.run_probes(request["judge"], request["secrets"], request["outside"], request["open"]),
    }


def call_driver(request: dict[str, Any], say: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Return `{"status": "ok", "facts": ...}` from the driver, or how far it came.

    Args:
        say: In a dialogue, see `run_dialogue`.
    """
    submitted = None
    seed = request.get("seed", 0)
    if request["submission"] is not None:
        seed_everything(seed)
        LOST.clear()
        path = Path(request["submission"])
        try:
            substitutes.substitute_cpu(path.read_bytes())
            submitted = load_module("submitted", path)
        except SyntaxError as error:
            return describe_safely("syntax", error, request)
        except BaseException as error:
            return describe_safely("import", error, request)
        use_single_precision(submitted)
    if request["do"] == "load":
        return {"status": "ok"}
    if "driver_code" in request:  # of a proof, which changes drivers
        code = compile("".join(request["driver_code"]), "drivers.py", "exec", dont_inherit=True)
        sys.modules["drivers"] = HELD["drivers"]  # where dataclasses look for the names of their fields
        vars(HELD["drivers"])["__builtins__"] = vars(builtins)  # among which a trace has its name
        exec(code, vars(HELD["drivers"]))
        del sys.modules["drivers"]
    driver = getattr(HELD["drivers"], request["driver"])
    seed_everything(seed)
    if "arguments" in request:
        return _explain(driver, submitted, request)
    try:
        facts = driver(submitted, **request["inputs"])
        return {"status": "ok", "facts": facts if say is None else run_dialogue(facts, say)}
    except AttributeError as error:
        if submitted is not None and error.obj is submitted:
            return (
                describe_safely("import", LOST[error.name], request)
                if error.name in LOST
                else describe_missing(submitted, error.name)  # type: ignore[arg-type]  # Python sets it together with obj
            )
        raise


def _explain(driver: Callable[..., Any], submitted: ModuleType | None, request: dict[str, Any]) -> dict[str, Any]:
    """Return `{"status": "ok", "facts": [arguments, alone]}`, however the driver ends.

    Its parts are [[function, its arguments], ...], see arguments.py, and [the driver's facts without the calls that it makes
    beforehand], or nothing if it makes none; see `facts.call_beforehand`.
    """
    beforehand = getattr(sys.modules.get("grader.sandbox.facts"), "Beforehand", None)
    left_out, alone = 0, []
    if beforehand is not None:
        beforehand.left_out = 0
    try:
        with arguments.note_arguments(request["submission"]) as found, contextlib.suppress(Exception):
            alone = [driver(submitted, **request["inputs"])]
    finally:
        if beforehand is not None:  # the next call may run in the same process
            left_out, beforehand.left_out = beforehand.left_out, None
    return {"status": "ok", "facts": [[[name, values] for name, values in found.items()], alone if left_out else []]}


def run_dialogue(driver: Generator[Any, Any, Any], say: Callable[[Any], Any]) -> Any:
    """Return the value that a driver returns at its end.

    Args:
        driver: Yields its messages, and is sent the replies to them.
        say: Takes a message, and returns the other side's reply.
    """
    heard = None
    while True:
        try:
            said = driver.send(heard)
        except StopIteration as end:
            return end.value
        heard = say(said)


def load_module(name: str, path: Path, **given: Any) -> ModuleType:
    """Return the module in the file `path`, executed anew under `name`, with these global names."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # there is a loader for every file that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(given)
    sys.modules[name] = module
    source = path.read_bytes()
    if source.startswith(cells.HEADER.encode()):
        LOST.update(cells.run_extract(source.decode(), str(path), vars(module)))
    else:
        spec.loader.exec_module(module)
    return module


HELD: dict[str, ModuleType] = {}
"""The drivers, which no submission can import, and libraries with the functions that they had before the first submission."""
LIBRARIES = ("numpy", "torch")


def load_drivers(path: Path) -> None:
    """Import the drivers. If a submission replaces builtins, or functions of NumPy and torch, they do not see it."""
    HELD["drivers"] = load_module("drivers", path, __builtins__=dict(vars(builtins)))
    del sys.modules["drivers"]
    for module in (HELD["drivers"], sys.modules.get("grader.sandbox.facts")):
        names = vars(module) if module else {}
        for name, value in list(names.items()):
            if isinstance(value, ModuleType) and value.__name__ in LIBRARIES:
                names[name] = hold_library(value)


def hold_library(module: ModuleType) -> ModuleType:
    """Return a library with the content that it had at the first call."""
    if module.__name__ not in HELD:
        HELD[module.__name__] = held = ModuleType(module.__name__, module.__doc__)
        vars(held).update(vars(module))
    return HELD[module.__name__]


def use_single_precision(submitted: ModuleType) -> None:
    """Undo another default dtype of a submission: the networks of drivers, and what they are given, are float32."""
    torch = sys.modules.get("torch")
    if torch is None or torch.get_default_dtype() is torch.float32:
        return
    torch.set_default_dtype(torch.float32)
    for value in list(vars(submitted).values()):
        if isinstance(value, torch.nn.Module):
            value.float()


def open_output(descriptor: int) -> io.TextIOWrapper:
    """Return a text stream that loses nothing but the last unfinished line when the process is killed."""
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def seed_everything(seed: int = 0) -> None:
    """Put every global generator into the state of this seed, the same before each call."""
    random.seed(seed)
    sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        # Not torch.manual_seed, which asks after every kind of accelerator first: nothing runs on one here.
        sys.modules["torch"].default_generator.manual_seed(seed)


def is_own(value: Any, submitted: ModuleType) -> bool:
    """Return whether a function or class was defined in the submission."""
    try:
        return bool(value.__module__ == submitted.__name__)
    except Exception:  # of a metaclass of the submission
        return False


def describe_missing(submitted: ModuleType, name: str) -> dict[str, Any]:
    """Return the reply for a function that is not there, with the closest name that is."""
    # What a driver has put there, or the file only imports, is not the student's.
    defined = [name for name, value in vars(submitted).items() if isinstance(value, (FunctionType, type))]
    names = [str(other) for other in defined if not str(other).startswith("_") and is_own(vars(submitted)[other], submitted)]
    close = difflib.get_close_matches(name, names, n=1)
    return {"status": "missing", "name": name, "closest": close[0] if close else None}


def describe_safely(status: str, error: BaseException, request: dict[str, Any]) -> dict[str, Any]:
    """Return a reply that describes `error`, even if this object of the student's code raises when it is read."""
    try:
        return describe_error(status, error, request)
    except BaseException:
        return {"status": status, "type": "Exception", "message": "(it cannot be shown)", "frames": []}


def describe_error(status: str, error: BaseException, request: dict[str, Any]) -> dict[str, Any]:
    """Return a reply that describes `error`: type, message and the frames of the student's own file, innermost last."""
    if is_out_of_memory(error):
        status = "memory"
    reply: dict[str, Any] = {"status": status, "type": type(error).__name__[:200], "message": describe_message(error)}
    if isinstance(error, SyntaxError):
        line = error.lineno if isinstance(error.lineno, int) else 0
        reply["message"] = str(error.msg)[:MAX_MESSAGE]
        reply["frames"] = [{"line": line, "function": "", "text": str(error.text or "").strip()[:200]}]
        return reply
    reply["frames"] = list_student_frames(traceback.walk_tb(error.__traceback__), request)[-MAX_FRAMES:]
    if reply["frames"] and isinstance(error, Exception) and not isinstance(error, WITHOUT_OPERANDS):
        reply["operands"] = _describe_line(error, request)
    if isinstance(error, NameError) and error.name in LOST:
        why = LOST[error.name]
        reply["message"] += f" ({error.name} has no value because of {type(why).__name__}: {describe_message(why)})"[
            :MAX_MESSAGE
        ]
    if isinstance(error, (AttributeError, NameError)) and isinstance(error.name, str) and error.name not in LOST:
        with contextlib.suppress(Exception):  # of names and objects of the student's
            reply |= _describe_missing_name(error, error.name, request)
    if (limit := find_limit(error)) is not None:
        reply["limit"] = limit
    if isinstance(error, NotImplementedError) and reply["frames"]:
        reply["owner"] = _owner(request["submission"], reply["frames"][-1]["line"])
    return reply


def _describe_line(error: BaseException, request: dict[str, Any]) -> list[list[str]]:
    """Return what the values are that the submission's innermost line uses; nothing if they cannot be read."""
    own = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_own(frame, request)]
    try:
        return operands.describe_operands(*own[-1])
    except Exception:
        return []


def _describe_missing_name(error: AttributeError | NameError, name: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return the closest name that there is, and where the class or module comes from whose attribute is missing."""
    made_by = "submission"
    if isinstance(error, AttributeError):
        owner, found = error.obj, _list_attributes(error.obj)
        modules = {owner.__name__} if isinstance(owner, ModuleType) else {base.__module__ for base in type(owner).__mro__}
        if "submitted" not in modules:
            made_by = "drivers" if "drivers" in modules else "library"
    else:
        frame = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if _is_own(frame, request)][-1]
        if name in _list_attributes(frame.f_locals.get("self")):
            return {"made_by": made_by, "closest": f"self.{name}"}
        found = [*frame.f_locals, *frame.f_globals, *vars(builtins)]
    names = [other for other in found if not other.startswith("_")]
    close = difflib.get_close_matches(name, names, n=1, cutoff=ALIKE)
    return {"made_by": made_by, "closest": close[0][:200] if close else None}


def _list_attributes(owner: Any) -> list[str]:
    """Return the names of an object's attributes, also of the layers and parameters of a network."""
    held = getattr(owner, "__dict__", {})
    parts = [held[part] for part in ("_parameters", "_buffers", "_modules") if isinstance(held.get(part), dict)]
    return [*object.__dir__(owner), *(name for part in parts for name in part)]


def _is_own(frame: FrameType, request: dict[str, Any]) -> bool:
    return frame.f_code.co_filename == request.get("submission")


def _owner(path: str, line: int) -> str:
    """Return the name of the function or class at the top level of a file in which a line stands."""
    for above in reversed(linecache.getlines(path)[:line]):
        if found := re.match(r"(?:async\s+def|def|class)\s+(\w+)", above):
            return found[1][:200]
    return ""


def find_limit(error: BaseException | None, depth: int = 5) -> str | None:
    """Return the sandbox limit that an exception, or one of its causes, points to."""
    if error is None or depth == 0:
        return None
    number = error.errno if isinstance(error, OSError) else None
    if type(error).__name__ == "gaierror":  # of a name that cannot be looked up
        return "network"
    if isinstance(error, OSError) and isinstance(number, int) and number in LIMITS:
        return _refused(error) if LIMITS[number] == "forbidden" else LIMITS[number]
    if isinstance(error, RuntimeError):
        text = describe_message(error)
        for words, limit in TORCH_ERRORS.items():
            if words in text:
                return limit
    return find_limit(error.__cause__ or error.__context__, depth - 1)


def list_student_frames(walk: Iterable[tuple[FrameType, int]], request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return those frames that are in the submission, in the order in which they come."""
    return [
        {
            "line": line,
            "function": frame.f_code.co_name[:200],
            "text": linecache.getline(frame.f_code.co_filename, line).strip()[:200],
        }
        for frame, line in walk
        if _is_own(frame, request)
    ]


def _refused(error: OSError) -> str:
    """Return the kind of forbidden action behind an exception, as far as its origin shows."""
    origin = {str(frame.f_globals.get("__name__")).partition(".")[0] for frame, _ in traceback.walk_tb(error.__traceback__)}
    if "socket" in origin:
        return "network"
    if origin & {"multiprocessing", "subprocess"}:
        return "processes"
    return "files" if isinstance(error.filename, (str, bytes)) else "forbidden"


def is_out_of_memory(error: BaseException) -> bool:
    """Return True for Python's and torch's ways of saying that memory ran out."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in describe_message(error)
    )


def describe_message(error: BaseException) -> str:
    try:
        return str(error)[:MAX_MESSAGE]
    except BaseException:
        return "(its message cannot be shown)"


READING = ("inspect", "extract", "list_code", "list_zip", "read_zip")  # without torch and drivers
TALKING = ("open", "converse")  # with the judge, or the other side of a dialogue
ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {  # those of TALKING take `say` as well
    "probe": probe_worker,
    "inspect": inspect_source,
    "extract": extract_notebook,
    "list_code": list_code,
    "list_zip": list_zip,
    "read_zip": read_zip,
    "open": inspect_and_load,
    "load": call_driver,
    "call": call_driver,
    "converse": call_driver,
}
