"""The formula against what caches hold that have read so many tokens."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.cache_memory import CacheKind, kinds_of
from mlxdecoder.config import ModelConfig
from mlxdecoder.models import make_self_cache
from mlxdecoder.translate import load
from tests.builders import ids, small
from tests.pretrained.folders import FIXTURES

LAYERS, HEADS = 3, 8


def config(kv_heads: int = 8, width: int = 64, window: int | None = None) -> ModelConfig:
    return ModelConfig(
        architecture="language_model",
        d_model=HEADS * width,
        n_heads=HEADS,
        n_kv_heads=kv_heads,
        n_layers=LAYERS,
        window=window,
    )


@settings(max_examples=60)
@given(
    st.sampled_from([1, 2, 8]),
    st.sampled_from([32, 64, 128]),
    st.sampled_from([None, 5, 300]),
    st.sampled_from([None, 3, 40]),
    st.sampled_from([None, 2, 3, 4, 8]),
    st.integers(1, 700),
    st.integers(1, 3),
    st.sampled_from([mx.float32, mx.float16, mx.bfloat16]),
)
def test_formula_equals_what_is_held(
    kv_heads: int,
    width: int,
    window: int | None,
    bound: int | None,
    bits: int | None,
    tokens: int,
    batch: int,
    dtype: mx.Dtype,
) -> None:
    if bits is not None:
        window = bound = None
    kind = CacheKind("", config(kv_heads, width, window), bound, bits, 32)
    assert kind.formula(tokens, batch, dtype.size) == kind.held(tokens, batch, dtype)


def test_one_by_one_holds_as_much_as_at_once() -> None:
    model = small()
    cache = model.make_cache()
    for token in ids(1, 300)[0]:
        model([[token]], cache)
    assert sum(layer.nbytes for layer in cache) == CacheKind("", model.config).formula(300)


def test_that_many_bytes_are_really_taken() -> None:
    """What MLX counts as active memory grows by the formula, to the page."""
    kind = CacheKind("", config(2), bits=4)
    gc.collect()
    before = mx.get_active_memory()
    caches = [make_self_cache(kind.config, None).to_quantized() for _ in range(LAYERS)]
    for cache in caches:
        new = mx.random.normal((1, 2, 900, 64))
        cache.update_and_fetch(new, new)
        mx.eval(cache.state)
        del new
    wanted = kind.formula(900)
    assert wanted <= mx.get_active_memory() - before < 1.1 * wanted + 100_000


class TestKinds:
    def test_each_is_smaller_than_the_full_one_by_what_it_leaves_out(self) -> None:
        full, grouped, bounded, eight, four = (kind.formula(4096) for kind in kinds_of(config(), 4096))
        assert full == 2 * LAYERS * HEADS * 64 * 4096 * 4
        assert (full / grouped, full / bounded) == (4, 4)
        assert (full / eight, full / four) == (4 / 1.125, 4 / 0.625)

    def test_a_model_with_groups_and_a_window_has_its_own(self) -> None:
        names = [kind.name for kind in kinds_of(config(2, window=100), 4096)]
        assert names == ["full, Hkv = 8", "grouped, Hkv = 2", "bounded to 100 tokens", "kv_bits=8", "kv_bits=4"]

    @pytest.mark.parametrize(("width", "size"), [(32, 32), (64, 64), (96, 32), (128, 64)])
    def test_groups_fit_into_the_heads(self, width: int, size: int) -> None:
        assert [kind.group_size for kind in kinds_of(config(width=width), 9)[3:]] == [size, size]

    def test_narrow_heads_are_not_quantised(self) -> None:
        assert len(kinds_of(config(width=16), 9)) == 3

    def test_every_kind_can_be_made(self) -> None:
        for shape in (config(), config(1), config(2, window=7), replace(config(), n_layers=1, head_width=16)):
            for kind in kinds_of(shape, 1000):
                assert kind.formula(1000) == kind.held(1000)


class TestCommand:
    def test_tells_formula_and_bytes_of_the_packaged_model(self, run: Callable[..., tuple[int, str, str]]) -> None:
        _, out, _ = run("shapes", "--cache", 300, "--batch", 2, "--json")
        shape = load().model.config
        assert json.loads(out) == [
            {"cache": kind.name, "formula": kind.formula(300, 2), "held": kind.held(300, 2)}
            for kind in kinds_of(shape, 300)
        ]
        _, text, _ = run("shapes", "--cache", 300)
        assert "bytes = 2 L B Hkv dh n b" in text

    def test_of_a_model_in_halves_it_tells_halves(
        self, tmp_path: Path, run: Callable[..., tuple[int, str, str]]
    ) -> None:
        run("import", FIXTURES / "llama-3", "--dtype", "bfloat16", "--out", tmp_path / "halves")
        told = [
            json.loads(run("shapes", "--cache", 300, "--model", path, "--json")[1])[:3]
            for path in (FIXTURES / "llama-3", tmp_path / "halves")
        ]
        for whole, half in zip(*told, strict=True):
            assert whole["formula"] == 2 * half["formula"] == 2 * half["held"]

    def test_more_tokens_than_positions_were_learned_for(self, run: Callable[..., tuple[int, str, str]]) -> None:
        assert run("shapes", "--cache", 96, "--model", FIXTURES / "gpt2")[0] == 0
        status, _, err = run("shapes", "--cache", 97, "--model", FIXTURES / "gpt2")
        assert status == 2
        assert "learned positions for 96 tokens" in err

    @pytest.mark.parametrize("tokens", [0, -5, 10**12])
    def test_counts_that_make_no_sense(self, run: Callable[..., tuple[int, str, str]], tokens: int) -> None:
        status, _, err = run("shapes", "--cache", tokens)
        assert status == 2
        assert f"--cache {tokens}" in err
