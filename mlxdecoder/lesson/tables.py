"""The lesson's worked examples, recomputed with the library's own attention and block beside PyTorch's figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import mlx.core as mx
import numpy as np

from mlxdecoder.attention import attention
from mlxdecoder.lesson.pytorch import Figures, head_weights, lesson_block, lesson_translator, pytorch_figures
from mlxdecoder.lesson.report import Cell, Check, Grids, LessonReport, Section, Table, largest_difference
from mlxdecoder.lesson.translator import autoregressive_decode
from mlxdecoder.masks import Causal, Full, Mask, build_causal_mask
from mlxdecoder.mistakes import switch_on
from mlxdecoder.recipe import RIGHT, Recipe
from mlxdecoder.watch import Watch

AGREEMENT = 1e-5  # how far ours and PyTorch's float32 figures may be apart
LAYERS = {"tiny": 1, "stack": 2}
Arrays = dict[str, np.ndarray]


def report() -> LessonReport:
    """Scores, weights, the mistake of zeroing after the softmax, cross-attention, the block, decoding, the mask."""
    theirs = pytorch_figures()
    ours = recompute(theirs)
    checks = tuple(Check(name, largest_difference(ours[name], theirs[name]), AGREEMENT) for name in ours)
    drawn = np.array(build_causal_mask(5))
    opposite = Check("mask for T = 5, against the library's", largest_difference(drawn, ~_causal(5)), bound=0)
    sections = (*_attention_sections(ours, theirs), *_block_sections(ours, theirs), *_decoding_sections(ours, theirs))
    claim = f"Our {len(ours)} arrays agree with PyTorch's within {AGREEMENT:g}."
    return LessonReport((*sections, _mask_section(drawn)), (*checks, opposite), claim)


def recompute(figures: Figures) -> Arrays:
    """Every result among the lesson's arrays, from its inputs and weights alone."""
    return {**_self_attention(figures), **_cross_attention(figures), **_block(figures), **_decoding(figures)}


def attend(x: np.ndarray, z: np.ndarray, weights: Sequence[np.ndarray], mask: Mask, recipe: Recipe = RIGHT) -> Arrays:
    """One head of attention from x [1, T, d] to z [1, S, d] with PyTorch's query, key and value weights [d, d]."""
    stages: dict[str, mx.array] = {}
    query, key, value = (
        (mx.array(states) @ mx.array(weight).T)[:, None] for states, weight in zip((x, z, z), weights, strict=True)
    )
    attention(query, key, value, mask, recipe=recipe, watch=stages.__setitem__)
    return {name: np.array(stages[name])[:, 0] for name in ("scaled", "weights", "context")}


def _self_attention(figures: Figures) -> Arrays:
    x, weights = figures["self.x"], head_weights(figures, "self")
    right = attend(x, x, weights, Causal())
    wrong = attend(x, x, weights, Causal(), switch_on(["zeroed-after-softmax"]))
    return {
        "self.scores": right["scaled"],
        "self.weights": right["weights"],
        "self.output": right["context"],
        "self.zeroed_after_softmax": wrong["weights"],
    }


def _cross_attention(figures: Figures) -> Arrays:
    seen = attend(figures["cross.dec"], figures["cross.enc"], head_weights(figures, "cross"), Full())
    return {"cross.weights": seen["weights"], "cross.output": seen["context"]}


def _block(figures: Figures) -> Arrays:
    block, x, z = lesson_block(figures), mx.array(figures["block.x"]), mx.array(figures["block.z"])
    stages: dict[str, mx.array] = {}
    block(x, z, build_causal_mask(x.shape[1]), stages.__setitem__)
    kept = {"x1": stages["attended"], "x2": stages["crossed"], "x3": stages["output"]}
    kept |= {"self_weights": stages["self.weights"], "cross_weights": stages["cross.weights"]}
    return {f"block.{name}": np.array(array) for name, array in kept.items()}


def _decoding(figures: Figures) -> Arrays:
    decoded: Arrays = {}
    for name, n_layers in LAYERS.items():
        steps: list[np.ndarray] = []
        model = lesson_translator(figures, name, n_layers)
        tokens = autoregressive_decode(model, figures[f"{name}.src"], max_len=6, bos=1, watch=_last_logits(steps))
        decoded |= {f"{name}.tokens": np.array(tokens), f"{name}.logits": np.stack(steps)}
    return decoded


def _last_logits(steps: list[np.ndarray]) -> Watch:
    def watch(name: str, array: mx.array) -> None:
        if name == "logits":
            steps.append(np.array(array[0, -1]))

    return watch


def _attention_sections(ours: Arrays, theirs: Figures) -> Iterator[Section]:
    yield _beside("Self-attention: scores q k^T / sqrt(8)", "self.scores", ours, theirs)
    yield _beside("Self-attention: weights behind the causal mask", "self.weights", ours, theirs, sums=True)
    yield _beside("The mistake: zeros after the softmax", "self.zeroed_after_softmax", ours, theirs, sums=True)
    yield _beside("Cross-attention: weights of 4 queries over 6 keys", "cross.weights", ours, theirs, decimals=3)


def _beside(title: str, name: str, ours: Arrays, theirs: Figures, decimals: int = 4, sums: bool = False) -> Grids:
    grids = {"ours": ours[name][0], "PyTorch": theirs[name][0]}
    columns = [f"k{i + 1}" for i in range(ours[name].shape[-1])]
    if sums:
        grids = {side: np.column_stack([grid, grid.sum(-1)]) for side, grid in grids.items()}
        columns.append("sum")
    title = f"{title} (largest difference {largest_difference(ours[name], theirs[name]):.1e})"
    return Grids(title, grids, columns, decimals)


def _block_sections(ours: Arrays, theirs: Figures) -> Iterator[Section]:
    states = {"input": "x", "after self-attention": "x1", "after cross-attention": "x2", "output": "x3"}
    rows: list[tuple[Cell, ...]] = []
    for stage, name in states.items():
        known, found = theirs[f"block.{name}"], ours.get(f"block.{name}", theirs[f"block.{name}"])
        norms = (float(np.linalg.norm(array[0, 0])) for array in (found, known))
        rows.append((stage, str(found.shape), *norms, largest_difference(found, known)))
    columns = {"state": "", "shape": "", "norm, ours": ".3f", "norm, PyTorch": ".3f", "largest difference": ".1e"}
    yield Table("The block: its states, and the norm of the first token in each", columns, rows)
    yield Table("The block: every array on the way", {"array": "", "shape": ""}, _shapes(theirs))


def _shapes(figures: Figures) -> list[tuple[str, str]]:
    x, z = mx.array(figures["block.x"]), mx.array(figures["block.z"])
    stages: dict[str, mx.array] = {}
    lesson_block(figures)(x, z, build_causal_mask(x.shape[1]), stages.__setitem__)
    return [(name, str(array.shape)) for name, array in stages.items()]


def _decoding_sections(ours: Arrays, theirs: Figures) -> Iterator[Section]:
    columns = {"step": "d", "read": "", "next, ours": "d", "next, PyTorch": "d"}
    columns |= {"logit, ours": ".4f", "logit, PyTorch": ".4f", "largest difference": ".1e"}
    for name, n_layers in LAYERS.items():
        said, known = (figures[f"{name}.tokens"].tolist() for figures in (ours, theirs))
        rows: list[tuple[Cell, ...]] = []
        steps = zip(ours[f"{name}.logits"], theirs[f"{name}.logits"], strict=True)
        for step, (logits, expected) in enumerate(steps, start=1):
            tops = float(logits.max()), float(expected.max())
            read = " ".join(map(str, said[:step]))
            rows.append((step, read, said[step], known[step], *tops, largest_difference(logits, expected)))
        yield Table(f"Decoding step by step, {n_layers} block{'s' * (n_layers > 1)}", columns, rows)


def _mask_section(drawn: np.ndarray) -> Grids:
    grids = {"the lesson: 1 = blocked": drawn, "the library: 1 = may see": _causal(5)}
    return Grids("The causal mask for T = 5", grids, [f"k{i + 1}" for i in range(5)], decimals=0)


def _causal(T: int) -> np.ndarray:
    return np.asarray(np.array(Causal().array(T))[0, 0])
