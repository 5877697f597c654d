"""The contracts on every architecture of mlx-lm: no alarm but where there is a mistake, and then one.

What is known to fail was looked into until the cause was found in their code; most causes are shown by a mended version
that holds. When mlx-lm mends something the test here fails, and its entry is to be taken out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import pytest
from mlx import nn

from mlxdecoder import contracts
from mlxdecoder.errors import UserError
from tests.third_party.mlx_lm_batches import PAD, batched, can_merge
from tests.third_party.mlx_lm_models import NOT_BUILT, VOCABULARY, WINDOW, build, names

pytest.importorskip("mlx_lm")

from mlx_lm.models.base import create_attention_mask
from mlx_lm.models.cache import KVCache, RotatingKVCache, make_prompt_cache

KNOWN = {
    "gemma3n": ({"T9 cache"}, "layers that share keys and values share them only when there is a cache (issue 1674)"),
    "phi3small": ({"T1 causal", "T9 cache"}, "its block-sparse layers add the boolean mask to the scores: 1 for seen"),
    "plamo3": ({"T9 cache"}, "the mask has a window of one token more than the rotating cache keeps"),
}
RAISES = {"olmo": ("array and str", "adds the mask to the scores, but for several tokens it is the word 'causal'")}
NO_MASK = {
    "deepseek_v41": "chooses keys by their indices",
    **dict.fromkeys(["mamba", "mamba2", "rwkv7"], "has a recurrence, and no attention"),
}

# With rows of several lengths in a batch; each row alone is right.
SEES_PADDING = {
    "afm7": "layers that reuse keys rotate queries by the padded length, but the keys by each row's own",
    "baichuan_m1": "the convolutions keep the last token of the padded row",
    "bailing_moe_linear": "the linear attention takes padding in: it does not use the mask that it is given",
    "jamba": "the recurrence takes padding in: it gets no mask",
    "longcat_flash_ngram": "the n-grams are made of the last tokens of the padded row",
    "mamba": "the recurrence takes padding in: there is no mask",
    "minimax_m3_vl": "by design: blocks of keys are cut where they lie in the cache, behind the padding",
    "nemotron_h": "the recurrence is not told the lengths (as it was with granitemoehybrid, issue 1908)",
    "olmo_hybrid": "the convolutions keep the last tokens of the padded row",
    "recurrent_gemma": "the recurrence takes padding in: there is no mask",
    "rwkv7": "the recurrence takes padding in: there is no mask",
}
BATCHES_FAIL = {
    **{name: ({"T3 padding"}, why) for name, why in SEES_PADDING.items()},
    "gemma2": ({"T4 apart"}, "a mask [B, 1, T, S] meets scores [B, G, H / G, T, S] (pull request 1903)"),
    "gpt_bigcode": ({"T4 apart"}, "raises, as the positions of several rows are more than one number"),
    "nemotron-nas": ({"T3 padding"}, "raises, as layers without attention have caches that are never filled"),
    "phi3small": ({"T1 causal", "T4 apart"}, "as without a batch; and a mask of four axes meets scores of five"),
}

every = pytest.mark.parametrize("name", names())


@pytest.fixture
def model(name: str) -> nn.Module:
    if name in NOT_BUILT:
        pytest.skip(NOT_BUILT[name])
    return build(name)


def failed(model: nn.Module, caches: Callable[[], Any] | None = None, **options: Any) -> set[str]:
    def decode(tokens: mx.array, cache: Any = None) -> mx.array:
        return model(tokens, cache=cache)

    def fresh() -> Any:
        return make_prompt_cache(model)

    options = {"arrays": "mlx", "vocabulary": VOCABULARY, "make_cache": caches or fresh, **options}
    return {finding.contract for finding in contracts.check(decode, "decoder", **options).failed}


def patch_masks(monkeypatch: pytest.MonkeyPatch, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    for name, module in list(sys.modules.items()):
        if (
            name.startswith("mlx_lm.models.")
            and getattr(module, "create_attention_mask", None) is create_attention_mask
        ):
            monkeypatch.setattr(module, "create_attention_mask", make(create_attention_mask))


@every
def test_each_architecture_keeps_the_contracts(name: str, model: nn.Module) -> None:
    if name in RAISES:
        with pytest.raises(UserError, match=RAISES[name][0]):
            failed(model)
        return
    assert model(mx.array([[1, 2, 3]])).dtype == mx.float32  # of half types less is demanded
    assert failed(model) == KNOWN.get(name, (set(), ""))[0]


@every
def test_without_its_mask_it_does_not(name: str, model: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_masks(monkeypatch, lambda make: lambda *_, **__: None)
    assert failed(model, only=["T1 causal"]) == (set() if name in NO_MASK else {"T1 causal"})


@every
def test_nor_with_a_window_that_is_too_short_in_the_cache(name: str, model: nn.Module) -> None:
    def too_short() -> Any:
        caches = make_prompt_cache(model)
        for cache in rotating(caches):
            cache.max_size -= 1
        return caches

    if not rotating(make_prompt_cache(model)):
        pytest.skip("has no window, or keeps all tokens")
    assert failed(model, too_short, only=["T9 cache"]) == {"T9 cache"}


def rotating(caches: Any) -> list[RotatingKVCache]:
    every = [inner for cache in caches for inner in getattr(cache, "caches", [cache])]
    return [cache for cache in every if isinstance(cache, RotatingKVCache)]


@every
def test_rows_of_several_lengths_are_as_alone(name: str, model: nn.Module) -> None:
    if name in RAISES:
        pytest.skip(RAISES[name][1])
    if not can_merge(model):
        pytest.skip("its caches cannot be put into a batch")
    options = {"arrays": "mlx", "vocabulary": VOCABULARY, "pad": PAD, "only": ["T1 causal", "T3 padding", "T4 apart"]}
    report = contracts.check(batched(model), "decoder", **options)
    assert {finding.contract for finding in report.failed} == BATCHES_FAIL.get(name, (set(), ""))[0]


@pytest.mark.parametrize("name", ["phi3small", "olmo"])
def test_masks_of_numbers_mend(name: str, model: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_numbers(make: Callable[..., Any]) -> Callable[..., Any]:
        def mask(*arguments: Any, **_: Any) -> mx.array | None:
            allowed = make(*arguments, return_array=True)
            return None if allowed is None else mx.where(allowed, 0.0, -mx.inf)

        return mask

    patch_masks(monkeypatch, in_numbers)
    assert failed(model) == set()


def test_gemma3n_is_right_where_no_layers_share() -> None:
    assert failed(build("gemma3n", num_kv_shared_layers=0)) == set()


def test_plamo3_is_right_with_a_cache_as_long_as_its_mask() -> None:
    assert failed(build("plamo3"), lambda: [RotatingKVCache(max_size=WINDOW + 1), KVCache()]) == set()
