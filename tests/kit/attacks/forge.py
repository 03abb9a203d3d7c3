"""Nothing to forge: no verdict comes from the student's process, and what is odd on the wire fails its own call."""

from __future__ import annotations

from .catalogue import attack


@attack("answers twice, with values of its own making", sees=("crashed", "failed"))
def answers_twice(values, scale, known):
    import os
    import time

    from grader.sandbox import wire

    os.write(3, wire.encode({"status": "ok", "facts": {"spread": 0.0}}) * 2)
    time.sleep(5)


@attack("claims to have passed, in every word that could mean it", sees=("crashed", "failed"))
def claims_success(values, scale, known):
    import os

    from grader.sandbox import wire

    claim = {"status": "ok", "outcome": "passed", "passed": True, "points": 100, "score": 100, "facts": {"spread": None}}
    os.write(3, wire.encode(claim))
    os._exit(0)


@attack("writes rubbish on the wire", sees=("crashed",))
def writes_rubbish(values, scale, known):
    import os

    os.write(3, b"\x00" * 1000)
    return 6.0 * scale


@attack("announces a reply and never sends it", sees=("timeout", "crashed"))
def never_finishes_its_reply(values, scale, known):
    import os
    import time

    os.write(3, b"RLG1\x00\x01\x00\x00\x00\x00\x00\x00{")
    time.sleep(100)


@attack("announces a reply of four gigabytes", sees=("crashed",))
def announces_gigabytes(values, scale, known):
    import os
    import struct
    import time

    os.write(3, struct.pack("<4sII", b"RLG1", 2**32 - 1, 2**32 - 1))
    time.sleep(100)


@attack("drips its reply, a byte at a time, for longer than the limit", sees=("timeout", "crashed"))
def drips_its_reply(values, scale, known):
    import os
    import signal
    import time

    from grader.sandbox import wire

    signal.setitimer(signal.ITIMER_REAL, 0)
    for byte in wire.encode({"status": "ok", "facts": {"spread": 6.0 * scale}}):
        time.sleep(0.1)
        os.write(3, bytes([byte]))


@attack("floods the wire", sees=("crashed", "timeout"))
def floods_the_wire(values, scale, known):
    import os

    while True:
        os.write(3, b"RLG1" * 10_000)


@attack("closes the wire and stays", sees=("crashed",))
def closes_the_wire(values, scale, known):
    import os
    import time

    os.close(3)
    time.sleep(100)


@attack("closes every descriptor and ends with success", sees=("crashed",))
def closes_everything(values, scale, known):
    import os

    os.closerange(0, 1024)
    os._exit(0)


@attack("ends the process as if all were well", sees=("crashed",))
def exits_with_success(values, scale, known):
    import os

    os._exit(0)


@attack("leaves by exceptions that a grader may take for something else", safe=True)
def leaves_by_strange_exceptions(values, scale, known):
    import random

    class Skipped(BaseException):
        pass

    raise random.choice([SystemExit(0), KeyboardInterrupt(), GeneratorExit(), StopIteration(), Skipped("passed")])


@attack("replies late, from a thread that survives the limit", sees=("timeout",))
def replies_late(values, scale, known):
    import signal
    import threading
    import time

    signal.setitimer(signal.ITIMER_REAL, 0)
    threading.Thread(target=lambda: time.sleep(3) or print("late")).start()
    time.sleep(100)


@attack("returns an object that equals everything", safe=True)
def equals_everything(values, scale, known):
    class Everything(float):
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

        def __rsub__(self, other):
            return 0.0

        __sub__ = __abs__ = __float__ = lambda self, *other: 0.0

    return Everything(6.0)


@attack("returns numbers that compare strangely: nan, infinity, truth, a string", safe=True)
def returns_strange_numbers(values, scale, known):
    return [float("nan"), float("inf"), True, "6.0", None][len(values) % 5]


@attack("makes the drivers and the encoder say what it likes", safe=True, sees=("failed", "crashed"))
def replaces_the_drivers(values, scale, known):

    from grader.sandbox import wire, worker

    worker.HELD["drivers"].spread = lambda *_, **__: {"spread": float("nan")}
    wire.encode.__globals__["json"].dumps = lambda *_, **__: '{"status": "ok", "facts": {"spread": {"$float": "nan"}}}'
    worker.describe_error = lambda *_: {"status": "ok", "facts": {"spread": True}}
    raise ValueError


@attack("patches NumPy, math and the comparison operators, hoping that the grader compares here", safe=True)
def patches_the_comparison(values, scale, known):
    import builtins
    import math

    import numpy

    numpy.allclose = numpy.isclose = numpy.array_equal = math.isclose = lambda *_, **__: True
    numpy.testing.assert_allclose = lambda *_, **__: None
    builtins.abs = lambda x: 0
    builtins.all = builtins.any = lambda x: True
    return 1e9


@attack("rewrites results, checks and answers")
def rewrites_files(values, scale, known):
    import os

    done = 0
    for path in [*known["hidden"], *known["results files"], known["other submission"]]:
        for act in (
            lambda p: open(p, "w").write("{}"),
            os.remove,
            lambda p: os.rename(p, p + "x"),
            lambda p: os.truncate(p, 0),
        ):
            try:
                act(path)
                done += 1
            except OSError:
                continue
    print("LEAKED" if done else "refused")


@attack("puts a different submission in its place, or a module in the way of the next call")
def replaces_its_own_file(values, scale, known):
    import os

    folder = os.path.dirname(__file__)
    for name in ("submitted.py", "utils.py", "torch.py", "numpy.py", "drivers.py", "sitecustomize.py", "loot-x.pth"):
        try:
            open(os.path.join(folder, name), "w").write("def spread(values, scale=1.0):\n    return 0\n")
            print("LEAKED", name)
        except OSError:
            print("refused")


@attack("turns the clock and the random generators", safe=True)
def turns_the_clock(values, scale, known):
    import random
    import time

    time.time = time.monotonic = time.perf_counter = lambda: -1e9
    random.random = lambda: 0.5
    return -1.0


@attack("answers before it is asked", sees=("crashed", "failed", "timeout"), at_import=True)
def answers_at_import(values, scale, known):
    import os
    import time

    from grader.sandbox import wire

    os.write(3, wire.encode({"status": "ok", "facts": {"spread": 17.0}}))
    time.sleep(100)


@attack(
    "pretends at import that the file could not be loaded because of the grader", sees=("failed", "crashed"), at_import=True
)
def blames_the_grader(values, scale, known):
    from grader.sandbox import wire

    raise wire.ProtocolError("SandboxFault: the grader failed, full points")
