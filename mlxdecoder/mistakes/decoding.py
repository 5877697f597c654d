"""Token by token: mistakes about positions, caches, and dropout that is left on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlxdecoder.mistakes.entry import Mistake, instead, signs


def keep_the_first(cross_cache: Any) -> Any:
    """A cache that outlives its sentence; each time the mistake is switched on, it starts empty."""
    kept: dict[int, Any] = {}

    def make(layer: int, new: Callable[[], Any]) -> Any:
        if layer not in kept:
            kept[layer] = cross_cache(layer, new)
        return kept[layer]

    return make


DECODING = (
    Mistake(
        24,
        "no-positions",
        "No positions",
        "positions",
        {"positions": instead(np.zeros_like)},
        right="x = embedding(tokens) + positions(mx.arange(T))",
        wrong="x = embedding(tokens)",
        heatmap="Blurred: equal words at different places cannot be told apart.",
        curves="The loss stays above where it should end.",
        generation="The right words in the wrong order: adjectives change their nouns. Some order is left, for the "
        "causal mask tells it; in a decoder of two layers or more so well that no contract notices.",
        contracts=("T10 order",),
        signs=(signs("order.ignored"),),
        sources=("https://arxiv.org/abs/1706.03762 section 3.5", "https://arxiv.org/abs/2305.19466"),
    ),
    Mistake(
        19,
        "cache-position-zero",
        "Cache: every new token gets position 0",
        "cache",
        {"position_start": instead(lambda offset: 0)},
        right="positions = mx.arange(offset, offset + T)",
        wrong="positions = mx.arange(T)",
        heatmap="Looks normal.",
        curves="None: training has no cache.",
        generation="Loses its place after the first word: half of the sentences go wrong. Short ones may survive.",
        contracts=("T9 cache",),
        signs=(signs("cache.differs"),),
        sources=("https://github.com/ml-explore/mlx/issues/3494",),
    ),
    Mistake(
        20,
        "cache-mask-top-left",
        "Cache: causal mask aligned to the top left",
        "cache",
        {"mask_start": instead(lambda offset: 0)},
        right="allowed = keys <= queries + offset  # the last query sees the last key",
        wrong="allowed = keys <= queries  # a single new query sees the first key only",
        heatmap="Every new row sees the first key and nothing else.",
        curves="None: training has no cache.",
        generation="Forgets all that it has written: often one word for ever.",
        contracts=("T9 cache",),
        signs=(signs("cache.differs cache.blind"), signs("cache.chunks")),
        sources=("https://github.com/pytorch/pytorch/issues/110144", "https://github.com/ml-explore/mlx/issues/2835"),
    ),
    Mistake(
        25,
        "stale-cross-cache",
        "Cross-attention cache of an earlier sentence",
        "cache",
        {"cross_cache": keep_the_first, "keeps_cross_cache": instead(lambda cached, current: True)},
        right="cross = CrossAttentionCache()  # for every sentence",
        wrong="cross = self.cross or CrossAttentionCache()  # never emptied",
        heatmap="A plausible map, of the wrong source.",
        curves="None: training has no cache.",
        generation="Translates the first sentence for ever. A batch of another size does not fit what was kept, and "
        "is right.",
        contracts=("T11 steady",),
        signs=(signs("stale"),),
        needs=("earlier sentence",),
        sources=("https://github.com/lucidrains/x-transformers/issues/311",),
    ),
    Mistake(
        22,
        "dropout-while-generating",
        "Dropout left on while generating",
        "dropout",
        {"drops_while_generating": instead(True)},
        right="model.eval()",
        wrong="pass  # model.train() is still in force",
        heatmap="Flickers: each run gives other weights.",
        curves="Normal, since training does drop. Accuracy measured with dropout on is lower than it is.",
        generation="Unstable: the same sentence is translated now so, now otherwise.",
        contracts=("T11 steady",),
        signs=(signs("unsteady"),),
        needs=("dropout",),
        setting={"model": {"dropout": 0.2, "attention_dropout": 0.2}},
        sources=("https://jmlr.org/papers/v15/srivastava14a.html",),
    ),
)
