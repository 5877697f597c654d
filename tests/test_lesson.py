"""The lesson: PyTorch's figures are met, the block is NumPy's, and the reports can tell when something is off."""

from __future__ import annotations

import json
import re
from collections import UserDict
from collections.abc import Callable
from importlib import import_module  # the package has a function of the same name as its module `attention`
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder import lesson
from mlxdecoder.errors import UserError
from mlxdecoder.lesson import DecoderBlock, TinyTranslator, autoregressive_decode, build_causal_mask, load_pytorch
from mlxdecoder.lesson import contracts as lesson_contracts
from mlxdecoder.lesson import tables as lesson_tables
from mlxdecoder.masks import Causal
from mlxdecoder.mistakes import switch_on
from mlxdecoder.trace import Trace
from tests import reference
from tests.builders import normal

FIGURES = lesson.pytorch_figures()
RESULTS = (
    *("self.scores", "self.weights", "self.output", "self.zeroed_after_softmax", "cross.weights", "cross.output"),
    *("block.x1", "block.x2", "block.x3", "block.self_weights", "block.cross_weights"),
    *("tiny.tokens", "tiny.logits", "stack.tokens", "stack.logits"),
)
INPUTS = {"self.x", "cross.dec", "cross.enc", "block.x", "block.z", "tiny.src", "stack.src"}
State = dict[str, np.ndarray]


class Recorder(UserDict[str, np.ndarray]):
    """Figures that remember which of them were read."""

    def __init__(self, figures: State) -> None:
        super().__init__(figures)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> np.ndarray:
        self.read.add(name)
        return super().__getitem__(name)


@pytest.fixture(scope="module")
def recomputed() -> tuple[State, set[str]]:
    figures = Recorder(FIGURES)
    return lesson_tables.recompute(figures), figures.read


# PyTorch's figures.


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_agrees_with_pytorch(recomputed: tuple[State, set[str]], name: str) -> None:
    ours, theirs = recomputed[0][name], FIGURES[name]
    assert ours.shape == theirs.shape
    assert np.abs(ours.astype(np.float64) - theirs).max() <= 1e-5


def test_every_array_is_either_read_or_recomputed_and_none_is_both(recomputed: tuple[State, set[str]]) -> None:
    ours, read = recomputed
    assert ours.keys() == set(RESULTS)
    assert read | ours.keys() == FIGURES.keys()
    assert not read & ours.keys()
    assert read >= INPUTS


# The block against float64 NumPy, on PyTorch's names.


def pytorch_state(d: int, d_ff: int, seed: int) -> State:
    """Random weights of a decoder block under PyTorch's names, with norms that are not the identity."""
    shapes: dict[str, tuple[int, ...]] = {"ffn.0.weight": (d_ff, d), "ffn.0.bias": (d_ff,)}
    shapes |= {"ffn.2.weight": (d, d_ff), "ffn.2.bias": (d,)}
    for name in ("masked_attn", "cross_attn"):
        shapes |= {f"{name}.in_proj_weight": (3 * d, d), f"{name}.in_proj_bias": (3 * d,)}
        shapes |= {f"{name}.out_proj.weight": (d, d), f"{name}.out_proj.bias": (d,)}
    shapes |= {f"norm{i}.{kind}": (d,) for i in (1, 2, 3) for kind in ("weight", "bias")}
    return {name: normal(*shape, seed=seed + i) / 2 for i, (name, shape) in enumerate(shapes.items())}


def heads_of(x: np.ndarray, n_heads: int) -> np.ndarray:
    return np.stack(np.split(x, n_heads, axis=-1), axis=1)


def reference_attention(state: State, name: str, n_heads: int, x: np.ndarray, z: np.ndarray, allowed: Any) -> Any:
    weights = np.split(state[f"{name}.in_proj_weight"].astype(np.float64), 3)
    biases = np.split(state[f"{name}.in_proj_bias"], 3)
    query, key, value = (heads_of(s @ w.T + b, n_heads) for s, w, b in zip((x, z, z), weights, biases, strict=True))
    context = np.concatenate(list(reference.attention(query, key, value, allowed).swapaxes(0, 1)), axis=-1)
    return context @ state[f"{name}.out_proj.weight"].T + state[f"{name}.out_proj.bias"]


def reference_norm(state: State, name: str, x: np.ndarray) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * state[f"{name}.weight"] + state[f"{name}.bias"]


def reference_block(state: State, n_heads: int, x: np.ndarray, z: np.ndarray, blocked: np.ndarray | None) -> Any:
    allowed = None if blocked is None else ~blocked
    x1 = reference_norm(state, "norm1", x + reference_attention(state, "masked_attn", n_heads, x, x, allowed))
    x2 = reference_norm(state, "norm2", x1 + reference_attention(state, "cross_attn", n_heads, x1, z, None))
    hidden = np.maximum(x2 @ state["ffn.0.weight"].T + state["ffn.0.bias"], 0)
    return reference_norm(state, "norm3", x2 + hidden @ state["ffn.2.weight"].T + state["ffn.2.bias"])


def loaded(state: State, d: int, n_heads: int, d_ff: int) -> DecoderBlock:
    block = DecoderBlock(d, n_heads, d_ff)
    load_pytorch(block, state)
    return block


def agrees(found: mx.array | np.ndarray, wanted: Any) -> bool:
    return bool(np.allclose(np.array(found), wanted, atol=2e-5, rtol=1e-5))


@settings(max_examples=25)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 5)),
    n_heads=st.sampled_from([1, 2, 4]),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_the_block_is_numpys_with_any_mask(
    shape: tuple[int, int, int], n_heads: int, seed: int, data: st.DataObject
) -> None:
    """Any mask: rows that see nothing, and the absence of a mask, too."""
    B, T, S = shape
    rows = st.lists(st.lists(st.booleans(), min_size=T, max_size=T), min_size=T, max_size=T)
    drawn = data.draw(st.none() | rows)
    blocked = None if drawn is None else np.array(drawn)
    state, x, z = pytorch_state(8, 12, seed), normal(B, T, 8, seed=seed), normal(B, S, 8, seed=seed + 99)
    found = loaded(state, 8, n_heads, 12)(mx.array(x), mx.array(z), None if blocked is None else mx.array(blocked))
    assert agrees(found, reference_block(state, n_heads, x, z, blocked))


@pytest.mark.parametrize("on_metal", [False, True])
def test_a_token_that_sees_nothing_gets_zeros_on_either_path(monkeypatch: pytest.MonkeyPatch, on_metal: bool) -> None:
    monkeypatch.setattr(import_module("mlxdecoder.attention"), "ON_METAL", on_metal)
    state, x, z, blocked = pytorch_state(8, 12, 5), normal(1, 3, 8), normal(1, 2, 8), np.eye(3, dtype=bool)
    blocked[1] = True
    found = loaded(state, 8, 2, 12)(mx.array(x), mx.array(z), mx.array(blocked))
    assert agrees(found, reference_block(state, 2, x, z, blocked))


def test_the_mask_makes_the_difference() -> None:
    block, x, z = loaded(pytorch_state(8, 12, 1), 8, 2, 12), mx.array(normal(1, 4, 8)), mx.array(normal(1, 3, 8))
    masked, free = np.array(block(x, z, build_causal_mask(4))), np.array(block(x, z))
    assert np.abs(masked - free)[0, :3].max(axis=-1).min() > 1e-3
    assert agrees(masked[:, 3], free[:, 3])  # the last token sees everything anyway


def test_the_lessons_mask_for_five_tokens() -> None:
    assert np.array(build_causal_mask(5)).tolist() == [[key > query for key in range(5)] for query in range(5)]


def test_watching_shows_the_stages_and_changes_nothing() -> None:
    block, x, z = DecoderBlock(8, 2, 12), mx.array(normal(1, 4, 8)), mx.array(normal(1, 3, 8))
    seen: dict[str, mx.array] = {}
    watched = block(x, z, build_causal_mask(4), watch=seen.__setitem__)
    assert (watched == block(x, z, build_causal_mask(4))).all()
    assert seen["self.weights"].shape == (1, 2, 4, 4)
    assert seen["cross.weights"].shape == (1, 2, 4, 3)
    assert np.triu(np.array(seen["self.weights"]), k=1).max() == 0


WRONG_CALLS: dict[str, tuple[Callable[[DecoderBlock], object], str]] = {
    "width of x": (lambda block: block(mx.zeros((1, 4, 9)), mx.zeros((1, 3, 8))), r"x: shape \(1, 4, 9\)"),
    "rank of x": (lambda block: block(mx.zeros((4, 8)), mx.zeros((1, 3, 8))), r"x: shape \(4, 8\)"),
    "width of z": (lambda block: block(mx.zeros((1, 4, 8)), mx.zeros((1, 3, 4))), r"z: shape \(1, 3, 4\)"),
    "empty z": (lambda block: block(mx.zeros((1, 4, 8)), mx.zeros((1, 0, 8))), r"z: shape \(1, 0, 8\)"),
    "batch of z": (lambda block: block(mx.zeros((2, 4, 8)), mx.zeros((1, 3, 8))), "z: batch 1 found, 2 wanted"),
    "size of the mask": (
        lambda block: block(mx.zeros((1, 4, 8)), mx.zeros((1, 3, 8)), build_causal_mask(3)),
        r"causal_mask: .*\(3, 3\) found, .*\(4, 4\) wanted",
    ),
    "kind of the mask": (
        lambda block: block(mx.zeros((1, 4, 8)), mx.zeros((1, 3, 8)), mx.zeros((4, 4))),
        "causal_mask: .*float32.* found, .*bool.* wanted",
    ),
}


@pytest.mark.parametrize("case", WRONG_CALLS)
def test_wrong_shapes_are_named(case: str) -> None:
    call, message = WRONG_CALLS[case]
    with pytest.raises(UserError, match=f"(?s){message}"):
        call(DecoderBlock(8, 2, 12))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((20, 16, 3, 32, 1), "n_heads = 3"), ((0, 16, 2, 32, 1), "vocab = 0"), ((9, 8, 2, 8, -1), "-1")],
)
def test_wrong_sizes_are_named(sizes: tuple[int, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        TinyTranslator(*sizes)


# PyTorch's weights.


def without(state: State, name: str) -> State:
    return {key: array for key, array in state.items() if key != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: without(state, "norm2.bias"), "cross_norm.bias is missing"),
        (lambda state: {**state, "norm4.bias": np.zeros(8)}, "norm4.bias is no weight"),
        (lambda state: {**state, "ffn.2.bias": np.zeros(7, np.float32)}, r"mlp.outward.bias has shape \(7,\)"),
        (lambda state: {**state, "ffn.0.weight": state["ffn.0.weight"].T}, r"mlp.inward.weight has shape \(12, 8\)"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_whole(change: Callable[[State], State], message: str) -> None:
    state = pytorch_state(8, 12, 0)
    block, x, z = loaded(state, 8, 2, 12), mx.array(normal(1, 2, 8)), mx.array(normal(1, 2, 8))
    before = block(x, z)
    with pytest.raises(UserError, match=message):
        load_pytorch(block, change({name: array + 1 for name, array in state.items()}))
    assert (block(x, z) == before).all()


# The translator and its loop.


class Parrot:
    """A model that wants to say `lines[n]` after n tokens behind the first, whatever the source."""

    def __init__(self, lines: list[int]) -> None:
        self.lines, self.read = lines, list[list[int]]()

    def __call__(self, src: Any, tokens: Any, watch: Any = None) -> mx.array:
        self.read.append(np.array(tokens)[0].tolist())
        logits = np.zeros((1, len(tokens[0]), 10), np.float32)
        logits[0, :-1, 9] = 5  # earlier positions say something else
        logits[0, -1, self.lines[len(tokens[0]) - 1]] = 1
        return mx.array(logits)


def test_decoding_feeds_back_what_was_said() -> None:
    parrot = Parrot([4, 7, 4])
    assert autoregressive_decode(parrot, [[5]], max_len=3, bos=2) == [2, 4, 7, 4]
    assert parrot.read == [[2], [2, 4], [2, 4, 7]]


def test_decoding_stops_at_the_end_mark_and_keeps_it() -> None:
    assert autoregressive_decode(Parrot([4, 3, 4]), [[5]], max_len=3, eos=3) == [1, 4, 3]
    assert autoregressive_decode(Parrot([4, 3, 4]), [[5]], max_len=0) == [1]


def test_decoding_says_what_the_model_finds_likeliest_over_all_it_said() -> None:
    mx.random.seed(3)
    model, src = TinyTranslator(20, 16, 2, 32, n_layers=2), [[3, 7, 12, 5, 9]]
    tokens = autoregressive_decode(model, src, max_len=8)
    # A causal model reads its own output in one pass and would have said the same at every place.
    assert np.array(model(src, [tokens[:-1]]))[0].argmax(axis=-1).tolist() == tokens[1:]


def test_the_translator_sees_its_source_as_a_set_and_no_future() -> None:
    mx.random.seed(0)
    model = TinyTranslator(20, 16, 2, 32, n_layers=2)
    logits = np.array(model([[3, 7, 12]], [[1, 5, 6, 8]]))
    assert agrees(model([[12, 3, 7]], [[1, 5, 6, 8]]), logits)
    assert agrees(model([[3, 7, 12]], [[1, 5, 6, 2]])[:, :3], logits[:, :3])
    assert not agrees(model([[3, 7, 13]], [[1, 5, 6, 8]]), logits)


def test_a_trace_can_follow_the_translator() -> None:
    trace, model = Trace(("weights",)), TinyTranslator(20, 16, 2, 32, n_layers=3)
    model([[3, 7, 12, 5, 9]], [[1, 4, 9]], watch=trace)
    assert trace.stage("decoder").shape == (3, 2, 3, 3)
    assert trace.stage("cross").shape == (3, 2, 3, 5)
    assert np.allclose(trace.stage("cross").sum(-1), 1)


def test_the_watcher_is_told_at_every_step() -> None:
    shapes: list[tuple[int, ...]] = []
    watch = lambda name, array: shapes.append(array.shape) if name == "logits" else None  # noqa: E731
    autoregressive_decode(TinyTranslator(20, 16, 2, 32, 1), [[3, 7]], max_len=3, watch=watch)
    assert shapes == [(1, 1, 20), (1, 2, 20), (1, 3, 20)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"src": [[3], [4]]}, "src: 2 rows found"),
        ({"src": [3]}, "src: shape"),
        ({"src": [[20]]}, "src: id 20"),
        ({"max_len": -1}, "max_len = -1"),
        ({"bos": 20}, "tokens: id 20"),
    ],
)
def test_decoding_names_what_it_cannot_use(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        autoregressive_decode(TinyTranslator(20, 16, 2, 32, 1), **{"src": [[3]], "max_len": 2, **arguments})


# The reports.


@pytest.fixture(scope="module", params=["tables", "averaging", "contracts"])
def report(request: pytest.FixtureRequest) -> lesson.LessonReport:
    return lesson.run(request.param)


def test_reports_agree_and_are_plain(report: lesson.LessonReport) -> None:
    text = report.text()
    assert report.agrees
    assert re.search(r"\n\nAll \d+ checks hold\. [^\n]+", text)
    assert all(len(line) <= 100 and line.isprintable() for line in text.splitlines())
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["agrees"] is True


def test_the_tables_show_the_lessons_figures() -> None:
    text = lesson.run("tables").text()
    last = re.search(r"behind the causal mask.*?token 4 +([\d. ]+)", text, re.DOTALL)
    assert last and last[1].split() == ["0.1717", "0.2685", "0.3672", "0.1926", "1.0000"] * 2
    assert re.search(r"input +\(1, 4, 16\) +4\.250 +4\.250", text)
    assert re.search(r"output +\(1, 4, 16\) +4\.000 +4\.000", text)
    assert "0.122  0.393  0.134  0.115  0.129  0.106" in text
    for total in FIGURES["self.zeroed_after_softmax"].sum(-1)[0]:
        assert text.count(f"{total:.4f}") >= 2


def test_tables_as_data_hold_the_same_numbers() -> None:
    sections = {section["title"].partition(" (")[0]: section for section in lesson.run("tables").to_dict()["sections"]}
    mistake = sections["The mistake: zeros after the softmax"]["grids"]
    assert np.allclose(np.array(mistake["ours"])[:, :4], FIGURES["self.zeroed_after_softmax"][0], atol=1e-5)
    decoded = sections["Decoding step by step, 2 blocks"]["rows"]
    assert [row["next, ours"] for row in decoded] == FIGURES["stack.tokens"].tolist()[1:]


def test_tables_end_with_the_contracts() -> None:
    names = [check["check"] for check in lesson.run("tables").to_dict()["checks"]]
    assert names[-12:] == [check["check"] for check in lesson.run("contracts").to_dict()["checks"]]
    assert set(RESULTS) <= set(names)


@pytest.mark.parametrize(("name", "offset"), [("self.weights", 2e-5), ("block.x1", np.nan), ("stack.tokens", 1)])
def test_a_figure_that_is_off_is_reported(monkeypatch: pytest.MonkeyPatch, name: str, offset: float) -> None:
    monkeypatch.setattr(lesson_tables, "pytorch_figures", lambda: {**FIGURES, name: FIGURES[name] + offset})
    report = lesson_tables.report()
    assert not report.agrees
    assert f"1 of 16 checks do NOT hold: {name}." in report.text()
    json.dumps(report.to_dict(), allow_nan=False)


def test_a_mask_that_blocks_nothing_breaks_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_contracts, "build_causal_mask", lambda T: mx.zeros((T, T), mx.bool_))
    failed = [check.name for check in lesson_contracts.report().checks if not check.holds]
    assert failed == ["Mask: a changed token moves nothing before it"]


def test_the_wrong_recipe_is_wrong_and_only_before_the_last_row() -> None:
    weights = FIGURES["self.wq"], FIGURES["self.wk"], FIGURES["self.wv"]
    x = FIGURES["self.x"]
    drawn = lesson_tables.attend(x, x, weights, Causal(), switch_on(["zeroed-after-softmax"]))["weights"]
    full = reference.softmax(FIGURES["self.scores"].astype(np.float64))
    assert np.allclose(drawn, np.tril(full), atol=1e-6)
    assert (drawn.sum(-1)[0, :3] < 0.99).all()
    assert drawn.sum(-1)[0, 3] == pytest.approx(1)


def test_the_ladder_of_averages_is_numpys() -> None:
    x = FIGURES["self.x"][0].astype(np.float64)
    means = np.cumsum(x, axis=0) / np.arange(1, 5)[:, None]
    weights, outputs = (section["grids"] for section in lesson.run("averaging").to_dict()["sections"])
    for rung in ("1 loop", "2 triangle", "3 softmax of 0"):
        assert np.allclose(outputs[rung], means[:, :3], atol=1e-6)
    assert np.allclose(weights["3 softmax of 0"], [[(k <= t) / (t + 1) for k in range(4)] for t in range(4)], atol=1e-6)
    assert np.allclose(weights["4 learned"], FIGURES["self.weights"][0], atol=1e-5)
    assert np.allclose(outputs["4 learned"], (FIGURES["self.weights"][0] @ x)[:, :3], atol=1e-5)


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(UserError, match="part = 'figures': one of tables, averaging, contracts"):
        lesson.run("figures")  # type: ignore[arg-type]
