"""Each platform is a folder here, and a name in registry.py.

- `__init__.py`: used by the command lines. ENDING (of a file in its format), HELP and `add_arguments` for the command that
  makes its package (at least `console.add_output`), and `render`, which imports report.py late.
- `report.py`: renders a report, or a refusal, in the platform's format.
- `entry.py`: runs on the platform.
- `package.py`: `write_package` makes the upload for instructors; it is not part of the package.
"""
