"""Slow libraries that the server imports once a call has imported them."""

from __future__ import annotations

IMPORTED_LATE = (
    *("torch._dynamo", "torch._inductor", "torch.fx.experimental.symbolic_shapes", "torch.utils.tensorboard"),
    *("scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.special", "scipy.stats", "pandas", "sympy"),
)
"""What takes half a second or more when something of it is used for the first time: the first optimizer or
`torch.use_deterministic_algorithms`, the first multivariate distribution, SciPy inside a function."""
