import torch

from grader.proof.catalogue import altered, mistake

fixed_axis = altered("softmax", {"sum(dim=dim": "sum(dim=-1"}, hint="Which axis is meant where `dim` is given?")

no_sum = altered("softmax", {" / shifted.sum(dim=dim, keepdim=True)": ""}, hint="What do the results sum to?")

detached = altered("softmax", {"torch.exp(x -": "torch.exp(x.detach() -"}, hint="Can a gradient flow back through your result?")

shifts_in_place = altered("softmax", {"shifted = torch": "x.data -= 1\nshifted = torch"}, hint="Is x still what it was?")

float64_result = altered(
    "softmax", {"return shifted": "shifted = shifted.double()\nreturn shifted"}, hint="Which dtype has x?", form=True
)


@mistake("causal_mask", hint="May a position look at itself?")
def without_diagonal(length):
    return torch.ones(length, length).tril(-1).bool()


looks_ahead = altered("causal_mask", {"<=": ">="}, hint="Which positions come before t?")

numbers_for_mask = altered(
    "causal_mask",
    {"return position": "return (position", "position[:, None]": "position[:, None]).float()"},
    hint="Which dtype has a mask?",
    form=True,
)

unscaled = altered("attention", {" / math.sqrt(queries.shape[-1])": ""}, hint="What are the scores divided by?")

scaled_by_values = altered(
    "attention", {"math.sqrt(queries.shape[-1])": "math.sqrt(values.shape[-1])"}, hint="The root of which size is meant?"
)

mask_reversed = altered("attention", {"~mask": "mask"}, hint="What does True in the mask allow?")

mask_ignored = altered("attention", {"if mask is not None": "if False"}, hint="Where is the mask used?")

keys_detached = altered("attention", {"keys.transpose": "keys.detach().transpose"}, hint="Which inputs get a gradient?")

scales_queries = altered(
    "attention",
    {
        "scores = queries @": "queries.data /= math.sqrt(queries.shape[-1])\nscores = queries @",
        " / math.sqrt(queries.shape[-1])": "",
    },
    hint="Are the queries still what they were?",
)

attention_float64 = altered(
    "attention", {" @ values": ".double() @ values.double()"}, hint="Which dtype have the values?", form=True
)

heads_first = altered(
    "split_heads", {"length, heads, ": "heads, length, ", ".transpose(1, 2)": ""}, hint="Which axis is split?"
)

interleaved = altered(
    "split_heads",
    {"heads, features // heads).transpose(1, 2)": "features // heads, heads).permute(0, 3, 1, 2)"},
    hint="Which features does the first head get?",
)

heads_detached = altered("split_heads", {"x.reshape": "x.detach().reshape"}, hint="Can a gradient flow back?")

heads_float64 = altered("split_heads", {".transpose(1, 2)": ".transpose(1, 2).double()"}, hint="Which dtype has x?", form=True)

heads_in_place = altered("split_heads", {"return x": "x.data *= 2\nreturn x"}, hint="Is x still what it was?")

unbiased = altered(
    "layer_norm",
    {"** 2).mean(dim=-1, keepdim=True)": "** 2).sum(dim=-1, keepdim=True) / (x.shape[-1] - 1)"},
    hint="By what is the sum of squares divided?",
)

eps_outside = altered(
    "layer_norm",
    {"torch.sqrt(variance + eps)": "(torch.sqrt(variance) + eps)"},
    hint="Is eps added to the variance or to its root?",
)

over_rows = altered("layer_norm", {"mean = x.mean(dim=-1": "mean = x.mean(dim=0"}, hint="Over what is the mean taken?")

mean_detached = altered("layer_norm", {"mean = x.mean": "mean = x.detach().mean"}, hint="Does the mean depend on x?")

norm_in_place = altered("layer_norm", {"return (x - mean)": "x.data -= mean\nreturn x"}, hint="Is x still what it was?")

norm_float64 = altered("layer_norm", {"* scale + shift": "* scale.double() + shift"}, hint="Which dtype has x?", form=True)

cosines_first = altered(
    "positions", {"torch.sin(angles), torch.cos(angles)": "torch.cos(angles), torch.sin(angles)"}, hint="What is in column 0?"
)

halves = altered("positions", {"dim=-1": "dim=1"}, hint="Are sines and cosines side by side, or in halves?")

base_ignored = altered("positions", {"/ base **": "/ 10000.0 **"}, hint="Where is `base` used?")

integers = altered(
    "positions", {"reshape(length, features)": "reshape(length, features).double()"}, hint="Which dtype?", form=True
)
