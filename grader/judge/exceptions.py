"""Explain common exceptions of torch, NumPy and gymnasium to students: the meaning, and where to look."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MAX_OPERANDS = 6
MAX_TEXT = 100
MAX_MESSAGE = 4000  # characters that are searched: an honest worker sends no more, and another one could keep a pattern busy

# By a pattern of the message, of any type of exception: the sentence. Groups of the pattern can be used in it.
MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
        "These two shapes do not broadcast: compared from the right, two sizes must be equal, or one of them must be 1. "
        "Here they are {0} and {1} (dimension {2}). Print both shapes before this line.",
    ),
    (
        r"operands could not be broadcast together with shapes (\(.*?\)) (\(.*?\))",
        "These two shapes do not broadcast: compared from the right, two sizes must be equal, or one of them must be 1. "
        "Here the shapes are {0} and {1}.",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        "The inner sizes of a matrix product must be equal, and here they are {1} and {2}. For nn.Linear, the last size of the "
        "input must be its in_features.",
    ),
    (
        r"size mismatch, got input|inconsistent tensor size|mismatch in its core dimension",
        "These shapes cannot be multiplied: the last size of the first factor must be the first size of the second one.",
    ),
    (
        r"input has inconsistent input_size: got (\d+) expected (\d+)",
        "The recurrent cell expects {1} numbers in each row and gets {0}.",
    ),
    (
        r"to have (\d+) channels, but got (\d+) channels",
        "The convolution expects images with {0} channels and gets {1}: the order is [batch, channels, height, width].",
    ),
    (
        r"a Tensor with (\d+) elements cannot be converted to Scalar",
        "Only a tensor with one element can be converted to a Python number, and this one has {0}: reduce it first, with "
        "mean() or sum().",
    ),
    (
        r"only one element tensors can be converted to Python scalars",
        "Only a tensor with one element can be converted to a Python number, and a tensor here has more: reduce it with mean() "
        "or sum(). To make one tensor of several tensors, use torch.stack.",
    ),
    (
        r"only (?:length-1|0-dimensional|size-1) arrays can be converted to Python scalars",
        "This line expects a number and gets an array: index one element, or use .item().",
    ),
    (
        r"setting an array element with a sequence",
        "This line expects a number, or rows of equal length, and gets a sequence: what shape does each item have?",
    ),
    (
        r"leaf Variable that requires grad is being used in an in-place operation",
        "A parameter is changed in place while gradients are recorded: wrap the change in `with torch.no_grad():`, or "
        "let the optimizer do it.",
    ),
    (
        r"modified by an inplace operation",
        "A tensor that the gradient needs was changed in place afterwards (`+=`, `x[i] = ...`, or a step of an optimizer "
        "before backward): make a new tensor, and call backward before step.",
    ),
    (
        r"Trying to backward through the graph a second time",
        "The same graph is used for a second backward(): compute the loss again for each step, or detach values from "
        "earlier steps.",
    ),
    (
        r"does not require grad and does not have a grad_fn",
        "The loss does not depend on any parameter. Between the output of the network and the loss, look for .detach(), "
        ".item(), .numpy(), torch.tensor(...) and torch.no_grad().",
    ),
    (
        r"grad can be implicitly created only for scalar outputs",
        "backward() needs a loss that is one number: reduce it with mean() or sum() first.",
    ),
    (
        r"Can't call numpy\(\) on Tensor that requires grad",
        "This tensor has a gradient, which NumPy would lose: in a loss, use torch's function instead of NumPy's; elsewhere, "
        "use .detach().numpy().",
    ),
    (
        r"must have the same dtype, but got (\w+) and (\w+)|expected scalar type (\w+) but found (\w+)",
        "Two dtypes are mixed here. NumPy defaults to float64, and torch layers use float32: convert with .float(), or "
        "torch.as_tensor(x, dtype=torch.float32).",
    ),
    (
        r"must be Tensor, not numpy\.ndarray",
        "This line expects a tensor and gets a NumPy array: convert it with torch.as_tensor(x, dtype=torch.float32).",
    ),
    (
        r"must be Tensor, not (\w+)",
        "This line expects a tensor and gets a {0}: convert it with torch.as_tensor(x, dtype=torch.float32).",
    ),
    (
        r"expected np\.ndarray \(got (\w+)\)",
        "torch.from_numpy takes NumPy arrays only, and this is a {0}: use torch.as_tensor(x).",
    ),
    (
        r"index (-?\d+) is out of bounds for (?:dimension|axis) (\d+) with size (\d+)",
        "There is no index {0}: dimension {1} has {2} entries, numbered from 0.",
    ),
    (
        r"^list index out of range",
        "The list is shorter than this index: print its length, and note that the last index is the length minus 1.",
    ),
    (
        r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)",
        "This tensor has no dimension {2}, only {0} to {1}: print its shape.",
    ),
    (
        r"axis (-?\d+) is out of bounds for array of dimension (\d+)",
        "This array has no axis {0}: it has {1} dimensions, numbered from 0.",
    ),
    (
        r"shape '(\[.*?\])' is invalid for input of size (\d+)|cannot reshape array of size (\d+) into shape (\(.*?\))",
        "The new shape must have as many elements as the old one: print the shape before this line.",
    ),
    (
        r"stack expects each tensor to be equal size|all input arrays must have the same shape",
        "Only equal shapes can be stacked: which item has a different shape from the first?",
    ),
    (
        r"zero-dimensional tensor .*cannot be concatenated",
        "Numbers are stacked, not concatenated: use torch.stack.",
    ),
    (
        r"must have same number of dimensions",
        "Only tensors with the same number of dimensions can be concatenated: add one with unsqueeze, or [:, None].",
    ),
    (
        r"Index tensor must have the same number of dimensions",
        "gather needs an index with as many dimensions as the tensor: for one index per row, use index[:, None].",
    ),
    (
        r"Expected dtype int32/int64 for index|used as indices must be|arrays used as indices must be",
        "An index must consist of integers: convert actions with .long(), or .astype(int) in NumPy.",
    ),
    (
        r"(?:Boolean value of Tensor|truth value of an array) with more than one",
        "A condition must be a single True or False, and this one has a value for each element. Reduce it with .any() or "
        ".all(); to choose for each element, use torch.where or np.where.",
    ),
    (
        r"Expected parameter (\w+) .*found invalid values:\s*.*nan|probability tensor contains",
        "The distribution gets nan: an earlier line computed it, for example as the logarithm of 0, 0 divided by 0, or exp "
        "of a large number.",
    ),
    (
        r"Expected parameter probs .* to satisfy the constraint Simplex",
        "The first argument of a Categorical is `probs`: numbers from 0 to 1 with the sum 1. Pass logits as `logits=`.",
    ),
    (
        r"Expected parameter (\w+) .*to satisfy the constraint (\w+)",
        "The distribution's {0} must satisfy {1}, and does not: a standard deviation is positive, so take exp of a log, or "
        "softplus.",
    ),
    (
        r"Expected value argument .*to be within the support",
        "The distribution cannot have produced this value: does it have the shape and the range of its samples?",
    ),
    (
        r"could not infer output dtype.*Got: (\w+)",
        "mean() does not work on integers: convert with .float() first.",
    ),
    (
        r"'numpy\.ndarray' object has no attribute '(\w+)'",
        "This is a NumPy array, and NumPy arrays have no `.{0}`. If you want the method of tensors, convert the array first, "
        "with torch.as_tensor(x).",
    ),
    (
        r"'Tensor' object has no attribute '(\w+)'",
        "This is a tensor, and tensors have no `.{0}`. If you want the method of NumPy arrays, use torch's own "
        "(.to for .astype, .clone for .copy), or convert the tensor first, with .detach().numpy().",
    ),
    (
        r"'NoneType' object (?:is not subscriptable|has no attribute '(\w+)'|is not callable|is not iterable)"
        r"|unsupported operand type\(s\) for .*'NoneType'",
        "A value is None here: a function without `return` returns None, and an attribute may not have been set yet.",
    ),
    (
        r"unsupported operand type\(s\) for .*'list'|can't multiply sequence by non-int",
        "Lists and tuples have no elementwise arithmetic: convert the list to an array or a tensor first.",
    ),
    (
        r"torch\.return_types\.(\w+)",
        "With dim=, {0} returns two things, values and indices: take `.values`.",
    ),
    (
        r"'(bool|int|float|numpy\.bool_?|numpy\.float64|numpy\.float32|numpy\.int64)' object is not subscriptable"
        r"|invalid index to scalar variable",
        "This is a single value, not a list or an array: it cannot be indexed.",
    ),
    (
        r"'numpy.random._generator.Generator' object has no attribute '(randn|rand|randint|random_sample|seed)'",
        "A NumPy Generator has other names than np.random: standard_normal(size), random(size), integers(low, high).",
    ),
    (
        r"argument 'hx' \(position 2\) must be tuple of Tensors, not Tensor",
        "An LSTM cell needs the pair (h, c) of the memory as its second argument.",
    ),
    (
        r"\b((?:\w+\.)?\w+)\(\) got an unexpected keyword argument '(\w+)'",
        "`{0}` has no argument `{1}`: compare the call with the definition. A function of your file must keep all arguments "
        "of the stub, also **kwargs where the stub has it.",
    ),
    (
        r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)",
        "Rows of the first argument: {0}; of the second: {1}. Print both shapes. Note that squeeze() also removes the axis of "
        "rows if the batch has one row.",
    ),
    (
        r"Cannot take a larger sample than population|^Sample larger than population",
        "The sample is larger than the number of entries: print both before this line.",
    ),
    (
        r"^math domain error|^expected a (?:positive|nonnegative) input",
        "A function of `math` gets a number for which it is not defined, such as the logarithm of 0 or the root of -1.",
    ),
    (
        r"Expected all tensors to be on the same device",
        "Some tensors are on another device: create new ones with device=x.device.",
    ),
)
UNPACKING = re.compile(r"(?:too many|not enough) values to unpack \(expected (?:at least )?(\d+)(?:, got (\d+))?")
RETURNED = {
    ".step(": ("5", "env.step() of gymnasium returns five values: observation, reward, terminated, truncated, info."),
    ".reset(": ("2", "env.reset() of gymnasium returns two values: observation, info."),
}
ATTRIBUTE = re.compile(
    r"^'(?!Tensor'|Parameter'|NoneType'|ndarray'|Generator'|list'|tuple'|dict'|str'|int'|float'|bool'|module')"
    r"([A-Z]\w*)' object has no attribute '([a-z_]\w*)'|^module '[\w.]+' has no attribute '\w+'"
)
UNDEFINED = re.compile(r"^name '\w+' is not defined")
PATTERNS = [(re.compile(pattern, re.DOTALL), sentence) for pattern, sentence in MEANINGS]


def explain_exception(details: dict[str, Any]) -> str:
    """Return an exception's meaning and the values in the line that raised it, one line each; empty if unknown.

    Args:
        details: The details of a reply. They come from a process that runs student code, so do not trust their types.
    """
    message = str(details.get("message", ""))[:MAX_MESSAGE]
    lines = [*_explain_unpacking(message, details), *_explain_missing_name(message, details)]
    for pattern, sentence in PATTERNS:
        if found := pattern.search(message):
            lines.append(sentence.format(*(group[:MAX_TEXT] for group in found.groups(default=""))))
            break
    if values := list(_read_operands(details.get("operands"))):
        lines.append(f"In that line, {'; '.join(values)}.")
    return "".join(f"\n{line}" for line in lines)


def _explain_unpacking(message: str, details: dict[str, Any]) -> Iterable[str]:
    if found := UNPACKING.search(message):
        text = str((details.get("frames") or [{}])[-1].get("text", ""))
        expected, got = found.groups()
        # Other environments return other numbers of values; Python says the number only if it is too small.
        known = [sentence for call, (count, sentence) in RETURNED.items() if call in text and got in (None, count)]
        right = f"{got} values" if got else "a different number of values"
        yield known[0] if known else f"The left side has {expected} names, and the right side has {right}."


def _explain_missing_name(message: str, details: dict[str, Any]) -> Iterable[str]:
    closest, made_by = details.get("closest"), details.get("made_by")
    other = closest[:MAX_TEXT] if isinstance(closest, str) else ""
    if (found := ATTRIBUTE.search(message)) is None:
        if other and UNDEFINED.search(message):
            yield f"Did you mean `{other}`?"
        return
    owner, name = (group and group[:MAX_TEXT] for group in found.groups())
    if made_by == "drivers":  # a stand-in, whose attributes are nobody's business
        return
    if owner and made_by != "library":
        near = f" The closest name is `{other}`." if other else ""
        method = f"if it is a method, indented inside the class {owner}"
        yield f"Is `{name}` set before this line, spelled in the same way, and, {method}?{near}"
    elif other:
        yield f"Did you mean `{other}`?"
    elif owner:
        yield f"`{owner}` is not a class of your file: look up its attributes in its documentation."


def _read_operands(operands: Any) -> Iterable[str]:
    for entry in operands[:MAX_OPERANDS] if isinstance(operands, list) else ():
        match entry:
            case [str(name), str(kind)]:
                yield f"`{name[:MAX_TEXT]}` is {kind[:MAX_TEXT]}"
