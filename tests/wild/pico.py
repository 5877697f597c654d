"""GPT-2 in NumPy in the style of picoGPT: plain functions over one sequence, and a mask that is added to the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.wild.entry import Wild

Array = NDArray[Any]
Parameters = dict[str, Any]
VOCABULARY, CONTEXT, WIDTH, HEADS = 20, 64, 16, 2
PAD, SEPARATOR = 0, 1


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x: Array) -> Array:
    exp_x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exp_x / np.sum(exp_x, axis=-1, keepdims=True)


def layer_norm(x: Array, g: Array, b: Array, eps: float = 1e-5) -> Array:
    return g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + b


def linear(x: Array, w: Array, b: Array) -> Array:
    return x @ w + b


def attention(q: Array, k: Array, v: Array, mask: Array) -> Array:
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


def mha(x: Array, c_attn: Parameters, c_proj: Parameters, mask: Array, n_head: int) -> Array:
    qkv = np.split(linear(x, **c_attn), 3, axis=-1)
    heads = zip(*(np.split(part, n_head, axis=-1) for part in qkv), strict=True)
    masks = np.broadcast_to(mask, (n_head, *mask.shape[-2:]))
    return linear(np.hstack([attention(*head, m) for head, m in zip(heads, masks, strict=True)]), **c_proj)


def block(x: Array, p: Parameters, mask: Array, n_head: int) -> Array:
    x = x + mha(layer_norm(x, **p["ln_1"]), **p["attn"], mask=mask, n_head=n_head)
    return x + linear(gelu(linear(layer_norm(x, **p["ln_2"]), **p["c_fc"])), **p["c_proj"])


def gpt2(inputs: Array, p: Parameters, mask: Array, positions: Array | None, n_head: int = HEADS) -> Array:
    x = p["wte"][inputs] if positions is None else p["wte"][inputs] + p["wpe"][positions]
    for layer in p["blocks"]:
        x = block(x, layer, mask, n_head)
    return layer_norm(x, **p["ln_f"]) @ p["wte"].T


def initial(seed: int, layers: int) -> Parameters:
    rng = np.random.default_rng(seed)

    def dense(n_in: int, n_out: int) -> Parameters:
        return {"w": rng.normal(0, n_in**-0.5, (n_in, n_out)), "b": rng.normal(0, 0.02, n_out)}

    def norm() -> Parameters:
        return {"g": np.ones(WIDTH), "b": np.zeros(WIDTH)}

    return {
        "wte": rng.normal(0, 0.5, (VOCABULARY, WIDTH)),
        "wpe": rng.normal(0, 0.5, (CONTEXT, WIDTH)),
        "blocks": [
            {
                "attn": {"c_attn": dense(WIDTH, 3 * WIDTH), "c_proj": dense(WIDTH, WIDTH)},
                **{"c_fc": dense(WIDTH, 4 * WIDTH), "c_proj": dense(4 * WIDTH, WIDTH), "ln_1": norm(), "ln_2": norm()},
            }
            for _ in range(layers)
        ],
        "ln_f": norm(),
    }


Mask = Callable[[Array], Array]  # ids [T] -> what is added to the scores, [T, T] or [H, T, T]


def causal(inputs: Array) -> Array:
    return (1 - np.tri(len(inputs))) * -1e10


def nothing_hidden(inputs: Array) -> Array:
    return np.zeros((len(inputs), len(inputs)))


def transposed(inputs: Array) -> Array:
    return causal(inputs).T


def strict(inputs: Array) -> Array:
    return (1 - np.tri(len(inputs), k=-1)) * -1e10


def one_ahead(inputs: Array) -> Array:
    return (1 - np.tri(len(inputs), k=1)) * -1e10


def tiny(inputs: Array) -> Array:
    return (1 - np.tri(len(inputs))) * -1e-10


def distances(inputs: Array) -> Array:
    steps = np.arange(len(inputs))
    slopes = 2.0 ** (-8 * np.arange(1, HEADS + 1) / HEADS)
    return -slopes[:, None, None] * np.abs(steps[:, None] - steps)


def alibi(inputs: Array) -> Array:
    return distances(inputs) + causal(inputs)


def without_padding(inputs: Array) -> Array:
    return np.minimum(causal(inputs), (inputs == PAD)[None, :] * -1e10)


def padded_queries(inputs: Array) -> Array:
    return np.minimum(causal(inputs), (inputs == PAD)[:, None] * -1e10)


def documents(inputs: Array) -> Array:
    """The number of each token's document; a separator ends its own."""
    ends = inputs == SEPARATOR
    return np.cumsum(ends) - ends


def within_documents(inputs: Array) -> Array:
    number = documents(inputs)
    return np.where(number[:, None] == number, causal(inputs), -1e10)


def counted(inputs: Array) -> Array:
    return np.arange(len(inputs))


def all_zero(inputs: Array) -> Array:
    return np.zeros_like(inputs)


def after_padding(inputs: Array) -> Array:
    return np.maximum(np.cumsum(inputs != PAD) - 1, 0)


def from_document_start(inputs: Array) -> Array:
    number = documents(inputs)
    return np.arange(len(inputs)) - np.searchsorted(number, number)


@dataclass
class Pico:
    """ids [B, T] to logits [B, T, V], one row after the other."""

    seed: int
    mask: Mask = causal
    positions: Callable[[Array], Array] | None = counted
    layers: int = 2

    def __post_init__(self) -> None:
        self.parameters = initial(self.seed, self.layers)

    def __call__(self, tokens: Array) -> Array:
        rows = [np.asarray(row) for row in np.asarray(tokens)]
        where = [None if self.positions is None else self.positions(row) for row in rows]
        return np.stack([gpt2(row, self.parameters, self.mask(row), at) for row, at in zip(rows, where, strict=True)])


def pico(name: str, mistake: int | None = None, options: dict[str, Any] | None = None, **how: Any) -> Wild:
    return Wild(f"pico{name}", "decoder", lambda seed: Pico(seed, **how), mistake, options or {})


PADDED: dict[str, Any] = {"pad": PAD}
PACKED: dict[str, Any] = {"separator": SEPARATOR}
ENTRIES = [
    pico(".right"),
    pico(".no_mask", 1, mask=nothing_hidden),
    pico(".transposed", 2, mask=transposed),
    pico(".one_ahead", 3, mask=one_ahead),
    pico(".strict", 4, mask=strict),
    pico(".tiny_fill", 7, mask=tiny),
    pico("_shallow.right", layers=1),
    pico("_shallow.all_at_zero", 24, layers=1, positions=all_zero),
    pico("_alibi.right", mask=alibi, positions=None),
    pico("_alibi.not_causal", 1, mask=distances, positions=None),
    pico("_padded.right", None, PADDED, mask=without_padding, positions=after_padding),
    pico("_padded.no_padding_mask", 9, PADDED, positions=after_padding),
    pico("_padded.on_queries", 10, PADDED, mask=padded_queries, positions=after_padding),
    pico("_packed.right", None, PACKED, mask=within_documents, positions=from_document_start),
    pico("_packed.no_document_mask", 14, PACKED, positions=from_document_start),
]
