"""Where in a model alignments are read best: by gold alignments, by a model of the other direction, or by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlxdecoder.alignment.links import Gold, as_links, links_of, score

Weights = Sequence[np.ndarray]  # of each pair, [places, J, I]


def by_gold(weights: Weights, gold: Sequence[Gold]) -> tuple[int, float]:
    """The place with the lowest alignment error rate, and that rate."""
    found = ([as_links(links_of(pair[place])) for pair in weights] for place in range(len(weights[0])))
    rates = np.nan_to_num([score(links, gold).error_rate for links in found], nan=1.0)  # without any link
    return int(rates.argmin()), float(rates.min())


def by_agreement(forward: Weights, backward: Weights) -> tuple[int, int, float]:
    """The places of two models of opposite directions that agree best on which words belong together, and how far.

    Agreement is the share of the links of both that the other has too, from 0 to 1: one minus the alignment error rate
    of one by the other, as Chen et al. 2020 choose layers (https://aclanthology.org/2020.emnlp-main.42).
    """
    agreement = _agreement(_bests(forward), _bests([weights.swapaxes(-1, -2) for weights in backward], axis=-2))
    there, back = divmod(int(agreement.argmax()), agreement.shape[1])
    return there, back, float(agreement[there, back])


def by_itself(weights: Weights) -> tuple[int, float]:
    """The place where two sorts of links agree best, and how far: the best of each row, and the best of each column."""
    agreement = _agreement(_bests(weights), _bests(weights, axis=-2)).diagonal()
    return int(agreement.argmax()), float(agreement.max())


def _bests(weights: Weights, axis: int = -1) -> np.ndarray:
    """The best cell of each row or, by axis -2, column, in all pairs one behind the other, 0 or 1: [places, cells].

    One cell each: if all that is about as good were linked, places that look everywhere would agree best.
    """
    best = [np.zeros(one.shape, np.float32) for one in weights]
    for marked, one in zip(best, weights, strict=True):
        np.put_along_axis(marked, one.argmax(axis=axis, keepdims=True), 1.0, axis=axis)
    return np.concatenate([one.reshape(len(one), -1) for one in best], axis=1)


def _agreement(there: np.ndarray, back: np.ndarray) -> np.ndarray:
    """2 |A and B| / (|A| + |B|) for the links of all places of two sorts, [places, places]."""
    return np.asarray(2 * (there @ back.T) / (there.sum(axis=1)[:, None] + back.sum(axis=1)))
