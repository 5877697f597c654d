"""Caches: whatever was fed in which pieces, the logits are those of the whole text at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.cache import CrossAttentionCache, KVCache, RotatingKVCache
from mlxdecoder.errors import UserError
from mlxdecoder.masks import Documents, Full, Mask, Padding, Window
from mlxdecoder.models import Memory
from mlxdecoder.prompt_cache import (
    can_trim_prompt_cache,
    load_prompt_cache,
    make_prompt_cache,
    save_prompt_cache,
    trim_prompt_cache,
)
from mlxdecoder.recipe import RIGHT, Layout, same_source
from tests import reference
from tests.builders import POSITIONS, difference, ids, numbers, small


@dataclass(frozen=True)
class Plan:
    """A text of `length` tokens in pieces; behind some pieces, junk is fed and taken back."""

    positions: str
    kv_heads: int
    length: int
    pieces: tuple[int, ...]
    junk: tuple[int, ...]
    lengths: tuple[int, ...]  # of the rows, padded at the left


@st.composite
def plans(draw: Callable[..., Any]) -> Plan:
    pieces = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=6)))
    junk = tuple(draw(st.lists(st.integers(0, 3), min_size=len(pieces), max_size=len(pieces))))
    lengths = tuple(draw(st.lists(st.integers(1, pieces[0]), min_size=1, max_size=3)))
    kind, heads = draw(st.sampled_from(POSITIONS)), draw(st.sampled_from([1, 2, 4]))
    return Plan(kind, heads, sum(pieces), pieces, junk, tuple(sum(pieces[1:]) + length for length in lengths))


def feed(model: Any, cache: Sequence[Any], tokens: np.ndarray, plan: Plan, layout: Layout) -> mx.array:
    """The logits of all tokens, fed as planned."""
    logits, first = [], 0
    for piece, junk in zip(plan.pieces, plan.junk, strict=True):
        logits.append(model(tokens[:, first : first + piece], cache, layout))
        first += piece
        if junk:
            model(ids(len(tokens), junk, seed=first), cache, layout)
            if can_trim_prompt_cache(cache):
                assert trim_prompt_cache(cache, junk) == junk
    return mx.concatenate(logits, axis=1)


def check(plan: Plan, model: Any, cache: Sequence[Any], remembered: Mask = Full()) -> None:  # noqa: B008
    tokens = ids(len(plan.lengths), plan.length, seed=plan.length)
    layout = Layout(target=Padding.left(plan.lengths, plan.length))
    found = feed(model, cache, tokens, plan, layout)
    model.recipe = replace(RIGHT, decoder_mask=lambda layout: RIGHT.decoder_mask(layout) & remembered)
    wanted = model(tokens, layout=layout)
    model.recipe = RIGHT
    for row, length in enumerate(plan.lengths):
        assert difference(found[row, -length:], wanted[row, -length:]) < 1e-5


@settings(max_examples=40)
@given(plans())
def test_pieces_and_trims_change_nothing(plan: Plan) -> None:
    model = small(positions=plan.positions, n_kv_heads=plan.kv_heads)
    check(plan, model, make_prompt_cache(model))


@settings(max_examples=60)
@given(plans(), st.integers(1, 9), st.integers(0, 8))
def test_a_rotating_cache_is_a_window_with_sinks(plan: Plan, max_size: int, keep: int) -> None:
    keep = min(keep, max_size - 1)
    # Junk can be taken back only while nothing has been forgotten.
    fed = np.cumsum(plan.pieces)
    junk = [n if end + n < max_size else 0 for n, end in zip(plan.junk, fed, strict=True)]
    plan = replace(plan, junk=tuple(junk))
    model = small(positions=plan.positions, n_kv_heads=plan.kv_heads)
    cache = [RotatingKVCache(max_size, keep) for _ in range(2)]
    check(plan, model, cache, Window(max_size - keep, keep))


@settings(max_examples=30)
@given(plans(), st.integers(1, 6))
def test_a_model_with_a_window_gets_a_cache_as_long(plan: Plan, window: int) -> None:
    model = small(positions=plan.positions, n_kv_heads=plan.kv_heads, window=window)
    plan = replace(plan, junk=(0,) * len(plan.junk))
    cache = make_prompt_cache(model)
    check(plan, model, cache)
    check(plan, model, [KVCache(), KVCache()])
    assert all(layer.keys.shape[2] <= window for layer in cache)


@settings(max_examples=30)
@given(plans(), st.sampled_from([(0,), (1,), (0, 1)]), st.integers(1, 6))
def test_layers_without_rotary_positions(plan: Plan, unrotated: tuple[int, ...], window: int) -> None:
    model = small(positions="rotary", unrotated_layers=unrotated, n_kv_heads=plan.kv_heads)
    check(plan, model, make_prompt_cache(model))
    bounded = make_prompt_cache(model, max_kv_size=window + 4)  # of which the first 4 tokens are kept
    check(replace(plan, junk=(0,) * len(plan.junk)), model, bounded, Window(window, 4))


@settings(max_examples=20)
@given(st.sampled_from(POSITIONS), st.lists(st.integers(1, 4), min_size=2, max_size=5), st.booleans())
def test_packed_documents_in_pieces(kind: str, pieces: list[int], rotating: bool) -> None:
    """Also when the text goes on behind the given ids of documents."""
    model, length = small(positions=kind), sum(pieces)
    table = (tuple([0] * 2 + [1] * 3), tuple([0] * 4 + [1]))
    layout = Layout(target=Documents(table))
    tokens = ids(2, length)
    cache = [RotatingKVCache(length) for _ in range(2)] if rotating else make_prompt_cache(model)
    plan = Plan(kind, 2, length, tuple(pieces), (0,) * len(pieces), (length, length))
    assert difference(feed(model, cache, tokens, plan, layout), model(tokens, layout=layout)) < 1e-5


@pytest.mark.parametrize("kind", POSITIONS)
def test_tokens_behind_padding_on_the_right(kind: str) -> None:
    """A short row of a batch goes on as it does alone, on whichever side it was padded."""
    model = small(positions=kind)
    cache, layout = make_prompt_cache(model), Layout(target=Padding.right([2, 4], 4))
    model([[5, 6, 0, 0], [5, 6, 7, 8]], cache, layout)
    found = model([[9], [9]], cache, layout)
    assert difference(found[0, 0], model([[5, 6, 9]])[0, 2]) < 1e-5


def test_a_bound_of_tokens_is_kept_within_a_window() -> None:
    model = small(window=8)
    cache = make_prompt_cache(model, max_kv_size=4)
    model(ids(1, 20), cache)
    assert all(layer.keys.shape[2] <= 4 for layer in cache)


def test_a_model_without_layers_is_refused() -> None:
    """It would have no cache to know its place by."""
    with pytest.raises(UserError, match="n_layers"):
        small(n_layers=0)


class TestKVCache:
    def test_bytes_held_follow_from_the_shapes(self) -> None:
        cache = KVCache()
        assert cache.nbytes == 0
        # The last time there is no room for 300 behind the 33: the filled part and ten steps more.
        for fed, room in ((1, 32), (31, 32), (1, 64), (300, 33 + 320)):
            cache.update_and_fetch(mx.zeros((2, 3, fed, 4), mx.float16), mx.zeros((2, 3, fed, 5), mx.float16))
            assert cache.nbytes == 2 * 3 * room * (4 + 5) * 2

    def test_offset_counts_and_trim_takes_back(self) -> None:
        cache = KVCache()
        cache.update_and_fetch(mx.zeros((1, 1, 5, 2)), mx.zeros((1, 1, 5, 2)))
        assert (cache.trim(2), cache.offset) == (2, 3)
        assert (cache.trim(9), cache.offset) == (3, 0)
        assert cache.is_trimmable()

    def test_what_was_taken_back_is_gone(self) -> None:
        cache, new = KVCache(), mx.ones((1, 1, 1, 2))
        cache.update_and_fetch(mx.full((1, 1, 3, 2), mx.nan), mx.full((1, 1, 3, 2), mx.nan))
        cache.trim(3)
        keys, values = cache.update_and_fetch(new, new)
        np.testing.assert_array_equal(numbers(keys), numbers(new))
        np.testing.assert_array_equal(numbers(values), numbers(new))

    @settings(max_examples=30)
    @given(st.integers(0, 6), st.integers(1, 5), st.one_of(st.none(), st.integers(1, 7)))
    def test_make_mask(self, fed: int, N: int, size: int | None) -> None:
        cache = KVCache()
        if fed:
            cache.update_and_fetch(mx.zeros((1, 1, fed, 2)), mx.zeros((1, 1, fed, 2)))
        rule = reference.every([reference.causal, *([] if size is None else [reference.window(size)])])
        check_mask(cache.make_mask(N, size), reference.grid(rule, 1, range(fed, fed + N), range(fed + N)))


def check_mask(found: mx.array | None, wanted: np.ndarray) -> None:
    if found is None:
        assert wanted.all()
    else:
        np.testing.assert_array_equal(np.array(found), wanted)


class TestRotatingKVCache:
    @settings(max_examples=60)
    @given(st.integers(1, 8), st.integers(0, 7), st.lists(st.integers(1, 6), min_size=1, max_size=6))
    def test_hands_out_what_mlx_lm_does(self, max_size: int, keep: int, pieces: list[int]) -> None:
        """Several tokens at once see `max_size` - 1 old ones, the first `keep` and the newest, and one another."""
        keep = min(keep, max_size - 1)
        cache, remembered, fed = RotatingKVCache(max_size, keep), [], 0
        for piece in pieces:
            new = list(range(fed, fed + piece))
            if len(remembered) >= max_size:
                recent = max_size - 1 - keep
                remembered = remembered[:keep] + (remembered[-recent:] if recent else [])
            given, remembered, fed = remembered + new, remembered + new, fed + piece
            slots = cache.key_slots(piece)
            mask = cache.make_mask(piece)
            tokens = mx.array(new, mx.float32).reshape(1, 1, -1, 1)
            keys, values = cache.update_and_fetch(tokens, -tokens)
            assert keys.flatten().tolist() == slots.tolist() == given
            assert values.flatten().tolist() == [-token for token in given]
            assert cache.offset == fed
            assert cache.nbytes == min(fed, max_size) * 2 * 4
            rule = reference.every([reference.causal, reference.window(max_size - keep, keep)])
            check_mask(mask, reference.grid(rule, 1, new, given))
            if len(remembered) > max_size:
                recent = max_size - keep
                remembered = remembered[:keep] + remembered[-recent:]

    def test_trims_only_while_nothing_is_forgotten(self) -> None:
        cache = RotatingKVCache(4)
        cache.update_and_fetch(mx.zeros((1, 1, 3, 2)), mx.zeros((1, 1, 3, 2)))
        assert cache.is_trimmable()
        assert (cache.trim(1), cache.offset) == (1, 2)
        cache.update_and_fetch(mx.zeros((1, 1, 2, 2)), mx.zeros((1, 1, 2, 2)))
        assert not cache.is_trimmable()
        assert (cache.trim(1), cache.offset) == (0, 4)
        assert not can_trim_prompt_cache([cache, KVCache()])
        assert trim_prompt_cache([cache, KVCache()], 1) == 0

    @pytest.mark.parametrize(("max_size", "keep"), [(4, 4), (4, -1), (0, 0)])
    def test_sizes_that_make_no_sense(self, max_size: int, keep: int) -> None:
        with pytest.raises(UserError, match=r"keep|max_size"):
            RotatingKVCache(max_size, keep)

    def test_a_prompt_cache_keeps_the_first_four(self) -> None:
        cache = make_prompt_cache(small(), max_kv_size=8)
        assert [(layer.max_size, layer.keep) for layer in cache] == [(8, 4), (8, 4)]

    @pytest.mark.parametrize("max_kv_size", [0, -3])
    def test_no_room_is_refused_by_the_name_that_the_user_gave(self, max_kv_size: int) -> None:
        with pytest.raises(UserError, match="max_kv_size"):
            make_prompt_cache(small(), max_kv_size=max_kv_size)


class TestSaving:
    @settings(max_examples=15)
    @given(st.sampled_from(["plain", "rotating"]), st.integers(0, 9), st.integers(0, 3), st.booleans())
    def test_goes_on_as_if_never_saved(
        self, tmp_path_factory: pytest.TempPathFactory, kind: str, fed: int, trimmed: int, half: bool
    ) -> None:
        model = small(positions="rotary")
        if half:
            model.set_dtype(mx.bfloat16)
        cache = make_prompt_cache(model, None if kind == "plain" else 6)
        if fed:
            model(ids(2, fed), cache)
        trim_prompt_cache(cache, trimmed)
        path = tmp_path_factory.mktemp("cache") / "prompt.safetensors"
        save_prompt_cache(path, cache)
        loaded = load_prompt_cache(path)
        for seed in range(3):
            assert [layer.offset for layer in loaded] == [layer.offset for layer in cache]
            more = ids(2, 2, seed=seed)
            np.testing.assert_array_equal(numbers(model(more, loaded)), numbers(model(more, cache)))

    def test_other_files_are_named(self, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("no cache")
        mx.save_safetensors(str(tmp_path / "weights.safetensors"), {"x": mx.zeros(3)})
        for name in ("text", "weights.safetensors", "missing"):
            with pytest.raises(UserError, match=name):
                load_prompt_cache(tmp_path / name)

    def test_a_cache_bound_to_a_source_is_not_saved(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="source"):
            save_prompt_cache(tmp_path / "cache", small("translator").make_cache())
        assert not list(tmp_path.iterdir())


class TestCrossAttentionCache:
    def test_projects_once_for_each_source(self) -> None:
        cache, calls = CrossAttentionCache(), []

        def project() -> tuple[mx.array, mx.array]:
            calls.append(len(calls))
            return mx.full((1, 2, 3, 4), len(calls)), mx.full((1, 2, 3, 5), len(calls))

        first, second = (Memory(mx.zeros((1, 3, 8)), Layout(), source=object()) for _ in range(2))
        found = [cache.fetch(source, project, same_source)[0].max().item() for source in (first, first, second, first)]
        assert found == [1, 1, 2, 3]
        assert cache.nbytes == 1 * 2 * 3 * (4 + 5) * 4

    @pytest.mark.parametrize("pieces", [[1, 1, 1, 1, 1], [5], [2, 3], [4, 1]])
    def test_a_target_in_pieces(self, pieces: list[int]) -> None:
        model = small("translator")
        layout = Layout(source=Padding.right([3, 6], 6))
        memory, target = model.encode(ids(2, 6), layout), ids(2, 5, seed=1)
        cache, ends = make_prompt_cache(model), np.cumsum(pieces)
        found = [model.decode(target[:, end - n : end], memory, cache) for n, end in zip(pieces, ends, strict=True)]
        assert difference(mx.concatenate(found, axis=1), model.decode(target, memory)) < 1e-5

    def test_a_trimmed_cache_still_serves_its_source(self) -> None:
        model = small("translator")
        memory, cache = model.encode(ids(1, 4)), make_prompt_cache(model)
        model.decode([[2, 9, 9]], memory, cache)
        assert trim_prompt_cache(cache, 2) == 2
        assert difference(model.decode([[5]], memory, cache), model.decode([[2, 5]], memory)[:, 1:]) < 1e-5

    def test_other_rows_of_a_batch_are_another_source(self) -> None:
        model = small("translator")
        memory, cache = model.encode(ids(2, 4)), make_prompt_cache(model)
        model.decode([[2]], memory.rows([0]), cache)
        trim_prompt_cache(cache, 1)
        other = memory.rows([1])
        assert difference(model.decode([[2]], other, cache), model.decode([[2]], other)) < 1e-5


@settings(max_examples=20)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.sampled_from([None, 3, 8]))
def test_reorder_picks_repeats_and_drops_rows(rows: list[int], max_kv_size: int | None) -> None:
    model, tokens, more = small(positions="rotary"), ids(3, 5), ids(len(rows), 2, seed=1)
    cache, other = make_prompt_cache(model, max_kv_size), make_prompt_cache(model, max_kv_size)
    model(tokens, cache)
    for layer in cache:
        layer.reorder(rows)
    model(tokens[rows], other)
    assert difference(model(more, cache), model(more, other)) < 1e-5


@pytest.mark.parametrize("max_kv_size", [None, 8])
def test_a_cache_of_another_batch_or_depth_is_refused(max_kv_size: int | None) -> None:
    model = small()
    cache = make_prompt_cache(model, max_kv_size)
    model([[5, 6], [7, 8]], cache)
    with pytest.raises(UserError, match="cache"):
        model([[9]], cache)
    with pytest.raises(UserError, match="cache"):
        model([[9], [9]], cache[:1])


def test_half_types_are_kept_as_such() -> None:
    model = small()
    model.set_dtype(mx.float16)
    cache = make_prompt_cache(model)
    model([[5, 6]], cache)
    assert all(layer.keys.dtype == layer.values.dtype == mx.float16 for layer in cache)
