"""What kind of value a parameter takes, as far as its annotation, its docstring and its default say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

TypeName = Literal["array", "tensor", "int", "float", "bool", "str", "choice", "list", "generator"]
ARRAYS = {"ndarray": "array", "NDArray": "array", "ArrayLike": "array", "Tensor": "tensor", "LongTensor": "tensor"}
SHAPED = {"Float": "float", "Int": "int", "Bool": "bool", "Integer": "int", "Num": "float", "Shaped": "float"}  # jaxtyping
PLAIN = ("int", "float", "bool", "str")
LISTS = ("list", "List", "Sequence", "Iterable", "tuple", "Tuple", "Collection")
DIMENSION = r"(?:\.\.\.|[A-Za-z_]\w*|\d+)(?:\s*[-+*/]+\s*\w+)*"
DIMENSIONS = rf"\s*{DIMENSION}(?:\s*,\s*{DIMENSION})*\s*,?\s*"
SHAPE = re.compile(
    rf"\[({DIMENSIONS})\]|shape\s*(?:of\s*|=\s*|:\s*)?`*\(({DIMENSIONS})\)|\(({DIMENSION}\s*,\s*(?:{DIMENSIONS})?)\)"
)
INDICES = re.compile(r"\b(index|indices|labels?|class(es)?|ids?|ints?|integers?|int32|int64|long|counts?)\b", re.IGNORECASE)
BOOLS = re.compile(r"\b(bools?|booleans?|masks?|true|flags?)\b", re.IGNORECASE)
ARRAY_WORDS = re.compile(r"\b(ndarray|array|tensor|matrix|vector|float32|float64)\b", re.IGNORECASE)
BELOW = re.compile(r"\b(?:from\s+)?0\s+(?:to|\.\.|–|-|and)\s+`?(\w+)`?\s*-\s*1\b|\[0,\s*`?(\w+)`?\)|\bbelow\s+`?(\w+)`?")
POSITIVE = re.compile(r"\b(positive|non-?negative|variances?|deviations?|std|counts?|frequenc\w+)\b", re.IGNORECASE)
PROBABILITIES = re.compile(r"\b(probabilit\w+|distributions?|sums? to (1|one))\b", re.IGNORECASE)


@dataclass(frozen=True)
class Kind:
    """The kind of a parameter.

    Attributes:
        type: What the value is.
        numbers: Of an array, tensor or list: "float", "int", "bool", "str", "positive" or "probabilities".
        dtype: Of an array or tensor of floating-point numbers.
        shape: Its dimensions, as they are named; None where nothing says any.
        below: What indices are smaller than, a dimension or number as it is named; "" where nothing says it.
        choices: The values of a "choice".
    """

    type: TypeName
    numbers: str = "float"
    dtype: str = "float64"
    shape: tuple[str, ...] | None = None
    below: str = ""
    choices: tuple[Any, ...] = ()

    @property
    def has_gradient(self) -> bool:
        """Whether a result can have a gradient for it."""
        return self.type == "tensor" and self.numbers not in ("int", "bool")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function.

    Attributes:
        kind: None if nothing says it.
        default: The default as it is written; None without one.
        value: The default if it is a literal; None for any other.
    """

    name: str
    kind: Kind | None
    default: str | None = None
    value: Any = None


def list_parameters(function: ast.FunctionDef, method: bool, torch: bool, more: str = "") -> list[Parameter]:
    """Return the parameters of a function that a call must or may give.

    Args:
        method: Whether the first one is the object.
        torch: Whether an array of which nothing says what it is is a tensor.
        more: Text that may describe parameters beside the function's own docstring.
    """
    described = "\n\n".join(filter(None, (ast.get_docstring(function), more)))
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [
        *list(zip(positional, defaults, strict=True))[method:],
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    found = []
    for argument, default in pairs:
        value = _literal(default) if default is not None else None
        kind = read_kind(argument.arg, argument.annotation, value, find_entry(described, argument.arg), torch)
        found.append(Parameter(argument.arg, kind, None if default is None else ast.unparse(default), value))
    return found


def find_entry(described: str, name: str) -> str:
    """Return what a docstring says of a parameter, in the style of Google, NumPy or Sphinx; "" if it has no entry for it."""
    lines = described.splitlines()
    start = re.compile(rf"^(\s*)(?:[-*]\s+)?(?::param\s+(?:\S+\s+)?)?[`*]*{re.escape(name)}[`*]*\s*(\(.*?\)\s*)?:(?!:)(.*)$")
    for index, line in enumerate(lines):
        if found := start.match(line):
            entry = [found[2] or "", found[3]]
            for below in lines[index + 1 :]:
                if not below.strip() or len(below) - len(below.lstrip()) <= len(found[1]):
                    break
                entry.append(below.strip())
            return " ".join(part.strip() for part in entry if part.strip())
    return ""


def read_kind(name: str, annotation: ast.expr | None, value: Any, entry: str, torch: bool) -> Kind | None:
    """Return the kind of a parameter; None if nothing says it.

    Args:
        annotation: How it is annotated, if it is.
        value: Its default if that is a literal.
        entry: What the docstring says of it.
        torch: See `list_parameters`.
    """
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            annotation = None
    said = _read_annotation(annotation, name, entry) if annotation is not None else None
    if said is not None or (annotation is not None and not _is_vague(annotation)):
        return said
    shape = _find_shape(entry)
    if shape is not None or ARRAY_WORDS.search(entry):
        return _array(
            "tensor" if "tensor" in entry.lower() or (torch and "array" not in entry) else "array", shape, name, entry
        )
    word = re.match(r"\(?\s*(int|float|bool|str)\b", entry)
    plain = word[1] if word else type(value).__name__
    return Kind(plain) if plain in PLAIN else None  # type: ignore[arg-type]  # it is one of these types


def _is_vague(annotation: ast.expr) -> bool:
    return ast.unparse(annotation) in ("Any", "typing.Any", "object")


def _read_annotation(node: ast.expr, name: str, entry: str) -> Kind | None:
    """Return the kind that an annotation names; None for one that is not known."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):  # the first part that is known: `Tensor | None`
        return _read_annotation(node.left, name, entry) or _read_annotation(node.right, name, entry)
    word = ast.unparse(node.value if isinstance(node, ast.Subscript) else node).rpartition(".")[2]
    parts = _list_parts(node)
    if word in ("Optional", "Union"):
        return next(filter(None, (_read_annotation(part, name, entry) for part in parts)), None)
    if word == "Annotated" and parts:
        texts = [part.value for part in parts[1:] if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        return _read_annotation(parts[0], name, f"[{', '.join(texts[0].split())}] {entry}" if texts else entry)
    if word.rstrip("0123456789") in SHAPED and len(parts) == 2 and isinstance(parts[1], ast.Constant):
        numbers = SHAPED[word.rstrip("0123456789")]
        shape = tuple(map(_read_dimension, str(parts[1].value).split()))
        inner = _read_annotation(parts[0], name, entry)
        dtype = word.lower() if word[-1].isdigit() and numbers == "float" else inner.dtype if inner else "float64"
        made = _array(inner.type if inner else "array", shape, name, entry)
        return Kind(made.type, numbers if numbers != "float" else _refine(entry), dtype, shape, made.below)
    if word in ARRAYS:
        kind = _array(ARRAYS[word], _find_shape(entry), name, entry)
        inside = ast.unparse(node).lower()
        if word == "LongTensor" or re.search(r"\bint(32|64|eger)?\b", inside):
            return Kind(kind.type, "int", kind.dtype, kind.shape, kind.below)
        return Kind(kind.type, kind.numbers, "float32", kind.shape, kind.below) if "float32" in inside else kind
    if word in PLAIN:
        return Kind(word)  # type: ignore[arg-type]  # it is one of these types
    if word == "Generator" and "torch" not in ast.unparse(node):  # torch's streams change between its versions
        return Kind("generator")
    if word == "Literal":
        choices = tuple(part.value for part in parts if isinstance(part, ast.Constant))
        return Kind("choice", choices=choices) if choices else None
    if word in LISTS and parts and isinstance(parts[0], ast.Name) and parts[0].id in PLAIN:
        fixed = word.lower() == "tuple" and not any(isinstance(part, ast.Constant) for part in parts)
        return Kind("list", parts[0].id, shape=(str(len(parts)),) if fixed else _find_shape(entry), below=_find_bound(entry))
    return None


def _read_dimension(text: str) -> str:
    """Return a dimension of jaxtyping as shapes are written here: "*batch" as "...", "#n" and "?n" as "n", "c=3" as "3"."""
    name = text.lstrip("*#?")
    return "..." if "*" in text[: len(text) - len(name)] or name.startswith("...") else name.rpartition("=")[2]


def _list_parts(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Subscript):
        return []
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _array(kind: str, shape: tuple[str, ...] | None, name: str, entry: str) -> Kind:
    """Return the kind of an array or tensor, its numbers by the words of its entry, or else by its name."""
    about = entry.partition(".")[0] if entry else name.replace("_", " ")
    first = SHAPE.sub("", about.partition(";")[0])  # the type comes first: "int `[n]`; ..."
    if re.search(r"\bfloat(32|64)?s?\b", first):
        numbers = _refine(entry)
    elif BOOLS.search(first):
        numbers = "bool"
    elif INDICES.search(first):
        numbers = "int"
    else:
        numbers = _refine(entry)
    dtype = "float32" if "float32" in entry or (kind == "tensor" and "float64" not in entry) else "float64"
    return Kind(kind, numbers, dtype, shape, _find_bound(entry))  # type: ignore[arg-type]  # "array" or "tensor"


def _refine(entry: str) -> str:
    return "probabilities" if PROBABILITIES.search(entry) else "positive" if POSITIVE.search(entry) else "float"


def _find_shape(entry: str) -> tuple[str, ...] | None:
    found = SHAPE.search(entry)
    if found is None:
        return None
    return tuple(part.strip() for part in next(filter(None, found.groups())).split(",") if part.strip())


def _find_bound(entry: str) -> str:
    found = BELOW.search(entry)
    return next(filter(None, found.groups())) if found else ""


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def list_symbols(kinds: Iterable[Kind]) -> list[str]:
    """Return the names in the dimensions of these kinds, in the order in which they come."""
    dimensions = [dimension for kind in kinds for dimension in kind.shape or ()]
    return list(dict.fromkeys(name for dimension in dimensions for name in re.findall(r"[A-Za-z_]\w*", dimension)))
