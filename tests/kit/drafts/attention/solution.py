"""Attention from scratch, for sequences of vectors."""

import math

import torch
from torch import Tensor


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Return the softmax along an axis, without overflow for large numbers.

    Args:
        x: float32 `[T, S]`.
        dim: The axis along which the results sum to 1.
    """
    shifted = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return shifted / shifted.sum(dim=dim, keepdim=True)


def causal_mask(length: int) -> Tensor:
    """Return a mask, bool `[length, length]`, that is True where position t may look at position s, that is for s ≤ t.

    Args:
        length: The number of positions.
    """
    position = torch.arange(length)
    return position[None, :] <= position[:, None]


def attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the scaled dot-product attention of each query, float32 `[T, v]`.

    Args:
        queries: float32 `[T, d]`.
        keys: float32 `[S, d]`.
        values: float32 `[S, v]`.
        mask: bool `[T, S]`; True where a query may look at a key. Without a mask, it may look at all.
    """
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return softmax(scores, dim=-1) @ values


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Return the features of each head, float32 `[B, heads, T, D/heads]`; the first head has the first features.

    Args:
        x: float32 `[B, T, D]`.
        heads: The number of heads, by which D can be divided.
    """
    batch, length, features = x.shape
    return x.reshape(batch, length, heads, features // heads).transpose(1, 2)


def layer_norm(x: Tensor, scale: Tensor, shift: Tensor, eps: float = 1e-5) -> Tensor:
    """Return every row with mean 0 and variance 1, scaled and shifted, float32 `[T, D]`.

    Args:
        x: float32 `[T, D]`.
        scale: float32 `[D]`; what each normalized feature is multiplied by.
        shift: float32 `[D]`; what is added to it then.
        eps: What is added to the variance, which is the biased one.
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * scale + shift


def positions(length: int, features: int = 4, base: float = 10000.0) -> Tensor:
    """Return the sinusoidal encoding of the positions, float32 `[length, features]`: sines in even columns, else cosines.

    Args:
        length: The number of positions.
        features: The number of columns, an even number.
        base: Column 2i and the one behind it have the angle t / base^(2i / features).
    """
    steps = torch.arange(0, features, 2, dtype=torch.float32)
    angles = torch.arange(length, dtype=torch.float32)[:, None] / base ** (steps / features)
    return torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).reshape(length, features)


if __name__ == "__main__":
    print(attention(torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 2), causal_mask(3)))
