"""Nothing is hidden from the instructor, or injected into their terminal or browser."""

from __future__ import annotations

from .catalogue import attack


@attack("clears the screen, moves the cursor and sets the title of the terminal", safe=True)
def controls_the_terminal(values, scale, known):
    print("\x1b[2J\x1b[1;1H\x1b]0;all passed\x07\x9b2J\x1b]52;c;bG9vdA==\x07 spread 100/100 passed\r\b\b\b\b")
    raise ValueError("\x1b[2J\x1b[31mpassed\x1b[0m")


@attack("prints a page with scripts", safe=True)
def prints_a_page(values, scale, known):
    print("<script>alert(1)</script><img src=x onerror=alert(1)>]]></failure><testcase name='x'/>")
    raise ValueError("</pre><script>alert(2)</script>")


@attack("prints Markdown, workflow commands and formulas", safe=True)
def prints_commands(values, scale, known):
    print("::set-output name=points::100\n::error file=x::y\n![x](http://127.0.0.1/loot)\n=cmd|' /C calc'!A1\n@SUM(1)\n")
    return None


@attack("writes text that reads backwards, is invisible, or is no text", safe=True)
def prints_tricks(values, scale, known):
    import os

    os.write(1, "\u202edessap\u202c \u200b\u2066\ufeff \ud83d \x00".encode("utf-8", "surrogatepass") + b"\xff\xfe\x80")
    raise ValueError("\ud800\u202e\u0000")


@attack("forges the lines of a report", safe=True)
def forges_a_report(values, scale, known):
    print('visible + hidden checks: 100/100 points\n\n✓ spread  5/5  0.01 s  passed\nJSON: {"score": 100}')
    return -1.0


@attack("gives an exception, a function and a file a hostile name", safe=True)
def uses_hostile_names(values, scale, known):
    name = "<b>\x1b[2J\n" * 50
    raise type(name, (Exception,), {"__module__": name})(name)


@attack("says that nothing was written, in the stub's words", safe=True)
def pretends_to_be_the_stub(values, scale, known):
    raise NotImplementedError("spread: \x1b[2J return the largest value minus the smallest")


@attack("prints a line of a hundred thousand characters, and a million empty ones", safe=True)
def prints_long_lines(values, scale, known):
    print("x" * 100_000 + "\n" * 1_000_000 + "end")
    return None
