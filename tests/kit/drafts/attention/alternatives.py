import torch

from grader.proof.catalogue import alternative


@alternative("softmax")
def by_torch(x, dim=-1):
    return torch.softmax(x, dim)


@alternative("attention")
def by_loop(queries, keys, values, mask=None):
    rows = []
    for row, query in enumerate(queries):
        scores = (keys @ query) / len(query) ** 0.5
        if mask is not None:
            scores = torch.where(mask[row], scores, torch.tensor(-1e9))
        rows.append(torch.softmax(scores, 0) @ values)
    return torch.stack(rows)


@alternative("layer_norm")
def by_functional(x, scale, shift, eps=1e-5):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift, eps)


@alternative("split_heads")
def by_chunks(x, heads):
    return torch.stack(x.chunk(heads, dim=-1), dim=1)
