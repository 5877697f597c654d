"""Models of every kind, and what their tests share."""

from __future__ import annotations

import itertools
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.recipe import Layout
from tests.builders import POSITIONS, VOCABULARY

ARCHITECTURES = ("encoder", "language_model", "translator")


ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "swiglu", "geglu")


VARIANTS: list[dict[str, Any]] = [
    *({"norm": place, "norm_kind": kind} for place, kind in itertools.product(("pre", "post"), ("layer", "rms"))),
    *({"activation": activation} for activation in ACTIVATIONS),
    *({"positions": positions} for positions in POSITIONS),
    *(
        {"positions": "rotary", "rotary_scaling": scaling, "rotary_factor": 4.0}
        for scaling in ("linear", "ntk", "yarn")
    ),
    {"n_kv_heads": 1},
    {"n_kv_heads": None},
    {"head_width": 6},
    {"bias": False, "tied": False, "scaled_embeddings": False},
    {"window": 2},
    {"n_layers": 1, "n_encoder_layers": 3},
]


VARIANT_NAMES = [",".join(f"{name}={value}" for name, value in variant.items()) for variant in VARIANTS]


def run(model: Any, tokens: Any, layout: Layout = Layout()) -> mx.array:
    """States of an encoder, logits of the others; a translator reads the tokens on both sides."""
    if model.config.architecture == "translator":
        return model(tokens, tokens, layout)
    return model(tokens, layout=layout)


def perturbed(tokens: np.ndarray, where: Any) -> np.ndarray:
    """The tokens with others in some places."""
    changed = tokens.copy()
    changed[where] = 4 + (changed[where] - 4 + 1) % (VOCABULARY - 4)
    return changed
