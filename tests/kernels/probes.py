"""Small launches that together go through every line of the kernels, for checks and for mutants."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import mlx.core as mx

from tests.builders import normal
from tests.kernels.cases import LOUD, Case, laid_out
from tests.kernels.measures import Gap, attention, gradients, mass, not_a_number, rotary, splits, weights

Probe = Callable[[], list[Gap]]

TILED = {
    "": Case("everything"),
    "causal": Case("causal"),
    "early": Case("causal, early", T=45),
    "window": Case("window to a tile"),
    "sinks": Case("sinks"),
    "padding": Case("padding on both sides"),
    "rotating": Case("rotating cache"),
    "rotating padding": Case("rotating cache, padding"),
    "documents": Case("documents"),
    "documents tall": Case("documents", T=45),
    "documents falling": Case("documents, falling", T=45),
    "documents shuffled": Case("documents, shuffled", T=70, S=70),
    "boolean": Case("boolean a head"),
    "nobody": Case("nobody sees"),
    "additive": Case("additive, blocked"),
    "additive a query": Case("additive a query"),
    "columns": Case("causal", layout="columns"),
    "slice": Case("causal", layout="slice"),
    "few": Case("everything", T=9),
    "taller": Case("causal", T=45, S=32),
    "loud": Case("causal", strength=LOUD, seed=1),
    "float16": Case("causal", dtype=mx.float16),
    "bfloat16": Case("causal", dtype=mx.bfloat16),
}
# Whole blocks of queries, some of whose tiles are seen whole.
OPEN = {
    "ragged": Case("everything", T=32, S=45),
    "causal": Case("causal", T=32, S=64),
    "window": Case("window, causal", T=32, S=96),
    "wide window": Case("window", T=64, S=64),
    "padding": Case("padding on both sides", T=32, S=96),
    "documents": Case("documents", T=32, S=96),
    "boolean": Case("boolean", T=32, S=96),
    "additive": Case("additive", T=32, S=96),
}
# Keys beyond the first block of 64, that only some tiles of queries see.
FAR = {
    "sinks": Case("sinks", S=150),
    "window": Case("window to a block", S=150),
}
DECODED = {
    "": Case("everything", T=3),
    "causal": Case("causal", T=3),
    "window": Case("window, causal", T=3),
    "sinks": Case("sinks", T=3),
    "padding": Case("padding on both sides", T=3),
    "rotating": Case("rotating cache, padding", T=3),
    "documents": Case("documents", T=3),
    "boolean": Case("boolean", T=3),
    "nobody": Case("nobody sees", T=3),
    "additive": Case("additive, blocked", T=3),
    "additive a query": Case("additive a query", T=3),
    "additive a key": Case("additive a key", T=3),
    "columns": Case("causal", layout="columns", T=3),
    "loud": Case("causal", strength=LOUD, T=3, seed=1),
    "float16": Case("causal", dtype=mx.float16, T=3),
    "shared by one": Case("causal", B=1, H=6, Hkv=2, T=1),
    "split": Case("everything", B=1, H=2, Hkv=1, T=2, S=1030, dv=16),
}
ROTARY_SHAPE = (2, 4, 7, 16)


def _turned(layout: str, *angles: int) -> list[Gap]:
    return rotary(mx.float32, lambda x: laid_out(x, layout), 20 * normal(*angles, seed=3).astype(float), ROTARY_SHAPE)


PROBES: dict[str, Probe] = {
    **{f"forward {name}".strip(): partial(attention, case) for name, case in TILED.items()},
    **{f"decode {name}".strip(): partial(attention, case) for name, case in DECODED.items()},
    **{f"forward open {name}": partial(attention, case) for name, case in OPEN.items()},
    **{f"gradient {name}".strip(): partial(gradients, case) for name, case in TILED.items()},
    **{f"gradient far {name}": partial(gradients, case) for name, case in FAR.items()},
    "forward not a number": partial(not_a_number, Case("everything")),
    "weights": partial(weights, Case("causal")),
    "weights chosen": partial(weights, Case("causal"), [3, 1], [20, 0, 7]),
    "weights additive": partial(weights, Case("additive, blocked")),
    "weights boolean": partial(weights, Case("boolean a head")),
    "mass": partial(mass, Case("everything"), "causal"),
    "mass chosen": partial(mass, Case("causal"), "window", [3, 1], [20, 0, 7]),
    "mass additive": partial(mass, Case("additive, blocked"), "causal"),
    "mass padding": partial(mass, Case("everything"), "padding right"),
    "mass documents": partial(mass, Case("causal"), "documents"),
    "mass boolean": partial(mass, Case("boolean a head"), "boolean"),
    "combine": partial(splits, 5, 40),
    "combine loud": partial(splits, 32, 40, mx.float32, 1000),
    "rotary": partial(_turned, "rows", 7, 8),
    "rotary of rows": partial(_turned, "columns", 2, 1, 7, 8),
}
