"""Each platform is a folder here, and a name in registry.py.

- `__init__.py`: what the command lines know of it: ENDING (of a file in its format), HELP and `add_arguments` for the command
  that makes its package (by `console.add_output` at least), and `render`, which imports report.py when it is needed.
- `report.py`: the text that the platform reads, of a report, and of a submission that was refused.
- `entry.py`: what runs there.
- `package.py`: `write_package`, which makes what an instructor uploads; it is not part of any package itself.
"""
