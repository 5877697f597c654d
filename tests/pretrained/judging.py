"""Our model of a folder against what transformers said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

import mlxdecoder
from mlxdecoder.beam import beam_search
from mlxdecoder.generate import generate
from mlxdecoder.masks import Padding
from mlxdecoder.models import LanguageModel, Translator
from mlxdecoder.recipe import Layout
from mlxdecoder.trace import Trace
from tests.builders import numbers
from tests.pretrained.variants import ENDING, PENALTY

Answers = Mapping[str, np.ndarray]
LOGITS, WEIGHTS = 1e-4, 1e-5  # the largest differences


def judge(folder: Path, answers: Answers) -> None:
    """Every number that transformers gave, from our model."""
    model: Any = mlxdecoder.load(folder).model
    if isinstance(model, Translator):
        judge_translator(model, answers)
    elif isinstance(model, LanguageModel):
        judge_language_model(model, answers)
    elif "pixels" in answers:
        judge_image_reader(model, answers)
    else:
        judge_reader(model, answers)


def judge_language_model(model: Any, answers: Answers) -> None:
    ids, seen = answers["ids"], answers["mask"].astype(bool)
    lengths = seen.sum(axis=1).tolist()
    layout, trace = Layout(target=Padding.left(lengths, ids.shape[1])), Trace()
    logits = numbers(model(ids, layout=layout, watch=trace))
    close(logits[seen], answers["logits"][seen], LOGITS)
    close_weights(trace, "decoder", "self", answers["decoder"], seen)
    close(cached(ids, lambda part, cache: model(part, cache, layout), model)[seen], answers["logits"][seen], LOGITS)
    prompts = [row[mask].tolist() for row, mask in zip(ids, seen, strict=True)]
    equal_tokens(model, prompts, answers)
    equal_ends(model, prompts, answers)


def judge_translator(model: Any, answers: Answers) -> None:
    ids, target, seen = answers["ids"], answers["target"], answers["mask"].astype(bool)
    lengths = seen.sum(axis=1).tolist()
    layout, trace = Layout(source=Padding.right(lengths, ids.shape[1])), Trace()
    every = np.ones(target.shape, bool)
    close(numbers(model(ids, target, layout, trace)), answers["logits"], LOGITS)
    close_weights(trace, "encoder", "self", answers["encoder"], seen)
    close_weights(trace, "decoder", "self", answers["decoder"], every)
    close_weights(trace, "decoder", "cross", answers["cross"], every)
    memory = model.encode(ids, layout)
    close(cached(target, lambda part, cache: model.decode(part, memory, cache), model), answers["logits"], LOGITS)
    sources = [row[mask].tolist() for row, mask in zip(ids, seen, strict=True)]
    equal_tokens(model, sources, answers)
    equal_ends(model, sources, answers)


def judge_reader(model: Any, answers: Answers) -> None:
    """The states, and the classes where there are some."""
    ids, seen = answers["ids"], answers["mask"].astype(bool)
    layout, trace = Layout(source=Padding.right(seen.sum(axis=1).tolist(), ids.shape[1])), Trace()
    found = numbers(model(ids, layout, trace, answers["segments"]))
    close_weights(trace, "encoder", "self", answers["encoder"], seen)
    if "classes" in answers:
        close(found, answers["classes"], LOGITS)
    else:
        close(found[seen], answers["states"][seen], LOGITS)


def judge_image_reader(model: Any, answers: Answers) -> None:
    trace, pixels = Trace(), answers["pixels"].transpose(0, 2, 3, 1)
    close(numbers(model(pixels, watch=trace)), answers["states"], LOGITS)
    close_weights(trace, "encoder", "self", answers["encoder"], np.ones(answers["encoder"].shape[1::2], bool))


def cached(ids: np.ndarray, run: Callable[[np.ndarray, Any], mx.array], model: Any) -> np.ndarray:
    """Some tokens at once, then one after another."""
    cache, first = model.make_cache(), ids.shape[1] // 2
    parts = [ids[:, :first], *(ids[:, t : t + 1] for t in range(first, ids.shape[1]))]
    return np.concatenate([numbers(run(part, cache)) for part in parts], axis=1)


def equal_tokens(model: Any, inputs: list[list[int]], answers: Answers) -> None:
    n, ends = answers["greedy"].shape[1], model.config.forced_end
    for found, name in zip(searched(model, inputs, n), ("greedy", "beam"), strict=True):
        wanted = answers[name]
        if ends:
            assert (wanted[:, -1] == model.config.end_id).all()
        np.testing.assert_array_equal(found, wanted[:, : n - ends])


def equal_ends(model: Any, inputs: list[list[int]], answers: Answers) -> None:
    """Rows that end by themselves, with another end mark and with what was said before disliked."""
    before = model.config
    if before.rotary_scaling == "dynamic":  # the longest row decides for all, and ours leaves when it ends
        return
    renormalized = before.forced_end  # which Marian's are
    rules = {"forced_end": False, "repetition_penalty": PENALTY, "renormalized": renormalized}
    model.config = replace(before, end_id=ENDING, **rules)
    n = answers["greedy"].shape[1]
    for found, name in zip(searched(model, inputs, n), ("greedy_ending", "beam_ending"), strict=True):
        assert found == [until(ENDING, row) for row in answers[name].tolist()]
    model.config = before


def searched(model: Any, inputs: list[list[int]], n: int) -> tuple[list[list[int]], list[list[int]]]:
    """What is said greedily, and by a beam of four."""
    greedy = [one.tokens for one in generate(model, inputs, max_tokens=n)]
    return greedy, [best[0].tokens for best in beam_search(model, inputs, beam=4, max_tokens=n)]


def until(end: int, row: list[int]) -> list[int]:
    return row[: row.index(end)] if end in row else row


def close_weights(trace: Trace, side: str, kind: str, wanted: np.ndarray, queries: np.ndarray) -> None:
    """The weights [B, H, T, S] of every layer, for the `queries` [B, T] that are no padding."""
    for layer, weights in enumerate(wanted):
        found = trace.passes[0][f"{side}.{layer}.{kind}.weights"]
        close(found.swapaxes(1, 2)[queries], weights.swapaxes(1, 2)[queries], WEIGHTS)


def close(found: np.ndarray, wanted: np.ndarray, most: float) -> None:
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() < most
