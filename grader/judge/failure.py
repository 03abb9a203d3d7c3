"""Explain why a check did not pass: a message for the student, and a cause for programs."""

from __future__ import annotations

from typing import Any

from grader.assignment import Question
from grader.judge.evidence import Evidence
from grader.judge.exceptions import explain_exception
from grader.judge.origin import NotebookOrigin
from grader.report.model import Cause, Outcome
from grader.sandbox.limits import MAX_FILE_BYTES, MAX_OPEN_FILES, MAX_SCRATCH_BYTES, MAX_SCRATCH_FILES, MAX_THREADS
from grader.sandbox.reply import LEFT_OUT, Reply

NO_KEYBOARD = {
    "BdbQuit": "no keyboard is connected here; remove breakpoint() and pdb, and step through with `python grade.py --debug`",
    "EOFError": "no keyboard is connected; remove input()",
    "SystemExit": "your code ended the program; remove exit(), quit() or sys.exit()",
}
LIMITS = {
    Cause.PROCESSES: "A submission may not start processes: set num_workers=0, and do not use subprocess, multiprocessing or "
    "torch.compile.",
    Cause.NETWORK: "A submission may not use the network.",
    Cause.FILES: "A submission may write only to its working folder (use a plain name such as log.txt, or tempfile), "
    "and read only the files that it was given.",
    Cause.FORBIDDEN: "A submission may not start processes, use the network, or touch files outside its working folder.",
    Cause.DISK: f"A submission may store at most {MAX_SCRATCH_BYTES >> 20} MB in {MAX_SCRATCH_FILES:,} files; does it save at "
    "every step?",
    Cause.FILE_SIZE: f"A file, and everything printed, may be at most {MAX_FILE_BYTES >> 20} MB; does it write at every step?",
    Cause.OPEN_FILES: f"A submission may have at most {MAX_OPEN_FILES} open files; does it close each one after use?",
    Cause.THREADS: f"A submission may run at most {MAX_THREADS} threads; does it start one at every step?",
}
IDLE_SHARE = 0.5  # of the time of a stopped call: if it did not compute for longer, it did not loop
CAUSES = {
    "timeout": Cause.TIMEOUT,
    "disk": Cause.DISK,
    "memory": Cause.MEMORY,
    "crashed": Cause.CRASH,
    "protocol": Cause.PROTOCOL,
    "unreadable": Cause.UNREADABLE_FILE,
    "syntax": Cause.SYNTAX,
    "import": Cause.IMPORT,
    "missing": Cause.MISSING_NAME,
    "refused": Cause.REFUSED_VALUE,
}
"""The cause for each status of a reply; any other status is an exception."""
OUTCOMES = {
    Cause.TIMEOUT: Outcome.TIMEOUT,
    Cause.MEMORY: Outcome.MEMORY,
    Cause.CRASH: Outcome.CRASHED,
    Cause.PROTOCOL: Outcome.CRASHED,
}
"""The outcome for each cause; for any other cause, the check failed."""


class CheckFailed(AssertionError):
    """A check that did not pass, with the outcome and the message for the student.

    Checks may also simply `assert`.

    Attributes:
        cause: The reason, for programs.
        evidence: The facts that the check saw in the submission; defaults to the message.
    """

    def __init__(
        self,
        outcome: Outcome,
        message: str,
        printed: str = "",
        cause: Cause = Cause.WRONG_ANSWER,
        evidence: Evidence | None = None,
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.cause = cause
        self.message = message
        self.printed = printed
        self.unwritten = cause is Cause.STUB
        self.evidence = evidence or Evidence({"said": message})


class CheckNotRun(Exception):
    """A check that lacks something it needs, through no fault of the student; the message gives the reason."""

    def __init__(self, message: str, cause: Cause = Cause.UNAVAILABLE) -> None:
        super().__init__(message)
        self.cause = cause


def explain_failure(
    reply: Reply, question: Question, seconds: float, memory_mb: int, printed: str, origin: NotebookOrigin | None = None
) -> CheckFailed:
    """Return the exception for a failed call, with a message that says what to do.

    Args:
        origin: Maps the lines of an extract to the cells of its notebook.
    """
    try:
        reply = origin.placed(reply) if origin else reply
        return _failure(reply, question, seconds, memory_mb, printed)
    except Exception:
        # The worker's own account comes from a process that runs student code: it may have any form, with any consequence.
        return CheckFailed(Outcome.CRASHED, "the process did not follow the protocol", printed, Cause.PROTOCOL)


def _failure(reply: Reply, question: Question, seconds: float, memory_mb: int, printed: str) -> CheckFailed:
    details = reply.details
    cause = _find_cause(reply, question)
    match reply.status:
        case "timeout":
            text = _explain_timeout(reply, seconds)
        case "disk":
            text = f"stopped: the working folder is full. {LIMITS[Cause.DISK]}"
        case "memory":
            text = f"ran out of memory (limit {memory_mb} MB): does a list or tensor keep growing, or is a shape far too large?"
            text += format_trace(details)
        case "crashed":
            ask = "Does your code call os._exit?" if details.get("exited") else "Does it pass a library an invalid value?"
            text = f"{details.get('message', 'the process ended')}. {ask}"
        case "protocol":
            text = f"the process did not follow the protocol: {details.get('message', '')}"
        case "unreadable" | "refused":
            text = str(details.get("message", ""))
        case "syntax":
            text = _explain_syntax(details)
        case "import":
            text = _explain_import(details)
        case "missing":
            text = f"your file has no {details.get('name')!r}; keep the name that the stub has"
            if details.get("closest"):
                text += f". Did you mean to rename {details['closest']!r}?"
        case _ if cause is Cause.STUB:
            where = describe_place(details["frames"][-1]) if details.get("frames") else "your code"
            text = f"{where} still raises the stub's NotImplementedError; delete that line once your code is in place"
            text += f" ({details['message'] or question.task})"
        case _:
            text = format_error(details) + format_trace(details) + describe_limit(details) + explain_exception(details)
    shown = {"status": reply.status} | {key: str(details[key]) for key in ("type", "message", "name") if key in details}
    return CheckFailed(OUTCOMES.get(cause, Outcome.FAILED), text, printed, cause, Evidence(shown))


def _find_cause(reply: Reply, question: Question) -> Cause:
    cause = CAUSES.get(reply.status, Cause.EXCEPTION)
    if cause is Cause.EXCEPTION and _is_blank(reply.details, question):
        return Cause.STUB
    return (cause in (Cause.EXCEPTION, Cause.IMPORT) and _find_limit(reply.details)) or cause


def _explain_timeout(reply: Reply, seconds: float) -> str:
    details = reply.details
    allowed = "1 second" if seconds < 1.5 else f"{seconds:.0f} seconds"
    floods = " It also printed a lot, which takes time." if LEFT_OUT in reply.output else ""
    used = f" The call used {reply.cpu_seconds:.1f} s of CPU time." if reply.cpu_seconds else ""
    ask = "is there an infinite loop?"
    if 0 < reply.cpu_seconds < IDLE_SHARE * reply.seconds:
        ask = "does it sleep, or wait for something that never happens?"
    if any(isinstance(frame, dict) and frame.get("function") == "<module>" for frame in details.get("frames") or []):
        ask += (
            " Your file was still being imported: code outside functions and classes runs every time something is "
            'graded. Put training below `if __name__ == "__main__":`.'
        )
    if "turns" in details:
        ask = f"it was still running after {details['turns']:,} turns. Is a single turn slow?"
    return f"stopped at the time limit of {allowed}: {ask}{used}{floods}{format_trace(details)}"


def _explain_syntax(details: dict[str, Any]) -> str:
    text = f"your file is not valid Python: {details.get('message', '')}{format_trace(details)}"
    if any(str(frame.get("text")).startswith(("%", "!")) for frame in details.get("frames") or []):
        text += "\nOnly notebooks can have lines that begin with % or !: remove such lines."
    return text


def _explain_import(details: dict[str, Any]) -> str:
    text = f"your file cannot be imported: {format_error(details)}{format_trace(details)}{describe_limit(details)}"
    if "get_ipython" in str(details.get("message")):
        text += "\nThis file was exported from a notebook: submit the notebook itself, or remove such lines."
    if details.get("type") == "ModuleNotFoundError":
        text += "\nOnly this file and the packages in requirements.txt are available; define helpers in this file."
    return text


def _is_blank(details: dict[str, Any], question: Question) -> bool:
    """Return whether this NotImplementedError comes from an unfilled blank in the question's own function."""
    said = str(details.get("message", ""))
    own = said.partition(":")[0].partition(".")[0] if said else details.get("owner")  # stubs of course texts say nothing
    return details.get("type") == "NotImplementedError" and own == question.function


def format_error(details: dict[str, Any]) -> str:
    """Return an exception in the form in which Python prints it."""
    message = NO_KEYBOARD.get(details.get("type", ""), str(details.get("message", "")))
    return f"{details.get('type', 'Exception')}: {message}" if message else str(details.get("type", "Exception"))


def describe_limit(details: dict[str, Any]) -> str:
    """Return a line about the limit that an exception points to, or an empty string."""
    limit = _find_limit(details)
    return f"\n{LIMITS[limit]}" if limit else ""


def _find_limit(details: dict[str, Any]) -> Cause | None:
    return next((cause for cause in LIMITS if cause.value == str(details.get("limit"))), None)


def describe_place(frame: dict[str, Any]) -> str:
    """Return the line, and for a notebook the cell, of a frame."""
    line = f"line {frame.get('line')}"
    return f"cell {frame['cell']}, {line}" if "cell" in frame else line


def format_trace(details: dict[str, Any]) -> str:
    """Return the frames of the student's own code, outermost first; empty if there are none."""
    lines = []
    for frame in details.get("frames") or []:
        inside = f", in {frame['function']}" if frame.get("function") else ""
        lines.append(f"\n  {describe_place(frame)}{inside}\n    {frame.get('text', '')}")
    # Recursion would repeat the same frame many times.
    return "".join(line for line, before in zip(lines, ["", *lines], strict=False) if line != before)
