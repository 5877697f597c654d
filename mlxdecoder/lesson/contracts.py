"""Four contracts of attention, shown by numbers on the lesson's own block and head.

Each comes with its opposite where there is one, a change that has to be seen, so that no contract holds for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import numpy as np

from mlxdecoder.lesson.pytorch import Figures, head_weights, lesson_block, pytorch_figures
from mlxdecoder.lesson.report import Cell, Check, LessonReport, Table, largest_difference
from mlxdecoder.lesson.tables import attend
from mlxdecoder.masks import Causal, Full, Mask, build_causal_mask

EXACT = 1e-6
ORDER = np.array([2, 0, 3, 1])  # a permutation of four tokens that leaves none in its place


def report() -> LessonReport:
    """Batch rows apart, the mask obeyed, no order without positions, values apart from addresses."""
    figures = pytorch_figures()
    checks = (*_batch(figures), *_legality(figures), *_order(figures), *_values(figures))
    return LessonReport((_legality_table(figures),), checks, "The four contracts hold.")


def _batch(figures: Figures) -> Iterator[Check]:
    """The second row of a batch is replaced; the first one is not to notice."""
    x, z = figures["block.x"], figures["block.z"]
    alone = _run(figures, x, z)[0]
    first = _run(figures, np.concatenate([x, x[:, ::-1]]), np.concatenate([z, z[:, ::-1]]))
    second = _run(figures, np.concatenate([x, 2 * x]), np.concatenate([z, 2 * z]))
    yield Check("Batch: a row is the same beside another row", largest_difference(first[0], second[0]), EXACT)
    yield Check("Batch: and the same as alone", largest_difference(first[0], alone), EXACT)
    yield Check("Batch: the other row has changed", largest_difference(first[1], second[1]), EXACT, equal=False)


def _legality(figures: Figures) -> Iterator[Check]:
    """Each token in turn is changed; with the causal mask none before it is to notice."""
    masked, free = (moved_by_changes(figures, causal) for causal in (True, False))
    before, after = np.tril(np.ones(masked.shape, bool), k=-1), np.triu(np.ones(masked.shape, bool))
    yield Check("Mask: a changed token moves nothing before it", float(masked[before].max()), EXACT)
    yield Check("Mask: it moves itself and all behind it", float(masked[after].min()), EXACT, equal=False)
    yield Check("Mask: without the mask it moves all before it", float(free[before].min()), EXACT, equal=False)


def _order(figures: Figures) -> Iterator[Check]:
    """Tokens are put in another order; without positions and mask, attention is to see the same set."""
    x = figures["self.x"]
    free, masked = (
        largest_difference(_outputs(figures, x[:, ORDER], mask), _outputs(figures, x, mask)[:, ORDER])
        for mask in (Full(), Causal())
    )
    yield Check("Order: outputs follow permuted inputs", free, EXACT)
    yield Check("Order: behind the causal mask they do not", masked, EXACT, equal=False)
    decoder, encoder, weights = (figures["cross.dec"], figures["cross.enc"], head_weights(figures, "cross"))
    given, turned = (attend(decoder, z, weights, Full())["context"] for z in (encoder, np.roll(encoder, 1, axis=1)))
    yield Check("Order: cross-attention ignores that of its keys", largest_difference(given, turned), EXACT)


def _values(figures: Figures) -> Iterator[Check]:
    """The value weights are doubled, then the key weights: only keys and queries say where to look."""
    x, (wq, wk, wv) = figures["self.x"], head_weights(figures, "self")
    plain, doubled, moved = (attend(x, x, w, Causal()) for w in ((wq, wk, wv), (wq, wk, 2 * wv), (wq, 2 * wk, wv)))
    weights, context = plain["weights"], plain["context"]
    yield Check("Values: doubled, the weights stay", largest_difference(weights, doubled["weights"]), bound=0)
    yield Check("Values: doubled, the output doubles", largest_difference(2 * context, doubled["context"]), EXACT)
    yield Check("Values: other keys, other weights", largest_difference(weights, moved["weights"]), EXACT, equal=False)


def moved_by_changes(figures: Figures, causal: bool) -> np.ndarray:
    """Row t, column i: how far the block's output i moves when input t is changed, [T, T]."""
    x, z = figures["block.x"], figures["block.z"]
    kept = _run(figures, x, z, causal)
    moved = []
    for t in range(x.shape[1]):
        changed = x.copy()
        changed[:, t] = -x[:, t]
        moved.append(np.abs(_run(figures, changed, z, causal) - kept)[0].max(axis=-1))
    return np.stack(moved)


def _legality_table(figures: Figures) -> Table:
    masked, free = (moved_by_changes(figures, causal) for causal in (True, False))
    columns = {"changed": ""} | {f"output {i + 1}": ".4f" for i in range(len(masked))}
    columns |= {f"{i + 1} unmasked": ".4f" for i in range(len(masked))}
    rows: list[tuple[Cell, ...]] = [
        (f"token {t + 1}", *map(float, masked[t]), *map(float, free[t])) for t in range(len(masked))
    ]
    return Table("How far the block's outputs move when one input token is changed", columns, rows)


def _run(figures: Figures, x: np.ndarray, z: np.ndarray, causal: bool = True) -> np.ndarray:
    mask = build_causal_mask(x.shape[1]) if causal else None
    return np.array(lesson_block(figures)(mx.array(x), mx.array(z), mask))


def _outputs(figures: Figures, x: np.ndarray, mask: Mask) -> np.ndarray:
    return attend(x, x, head_weights(figures, "self"), mask)["context"]
