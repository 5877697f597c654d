"""The catalogue against the contracts: each mistake is found on fresh models and named, right ones raise no alarm."""

from __future__ import annotations

from typing import Any

import pytest

from mlxdecoder.contracts import Diagnosis, check_model, diagnose
from mlxdecoder.mistakes import HARMLESS, MISTAKES, Mistake, switch_on
from tests.builders import POSITIONS, small

# With these, cached steps are the same: only a reading at once shows what is no mistake while generating.
ONLY_WHILE_GENERATING = {"no-causal-mask-with-cache"}
SHAPES: list[dict[str, Any]] = [
    {"norm": "pre", "norm_kind": "layer"},
    {"norm": "post", "norm_kind": "rms"},
    {"n_kv_heads": 4, "window": 5},
    {"n_kv_heads": 1, "activation": "swiglu", "tied": False},
]


def examined(mistake: Mistake, seed: int) -> Diagnosis:
    return diagnose(small("translator", seed, recipe=switch_on([mistake.id]), dropout=0.1), seed=seed)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.id)
def test_each_mistake_is_found_by_its_contracts_and_named(mistake: Mistake) -> None:
    found = examined(mistake, seed=0)
    failed = {finding.contract for report in found.reports for finding in report.failed}
    assert set(mistake.contracts) & failed, str(found)
    suspects = [suspect.mistake.id for suspect in found.suspects]
    assert mistake.id in suspects[:3], str(found)
    assert mistake.id == suspects[0] or mistake.id == "padding-on-queries", str(found)


@pytest.mark.parametrize("mistake", HARMLESS, ids=lambda mistake: mistake.id)
def test_what_only_looks_like_a_mistake_is_found_to_be_none(mistake: Mistake) -> None:
    if mistake.id not in ONLY_WHILE_GENERATING:
        assert examined(mistake, seed=0).holds


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("architecture", ["language_model", "translator"])
def test_right_models_raise_no_alarm(architecture: str, shape: dict[str, Any], positions: str) -> None:
    model = small(architecture, positions=positions, **shape)
    failed = {finding.contract for report in check_model(model) for finding in report.failed}
    assert not failed


def test_an_encoder_is_tried_as_attention() -> None:
    (report,) = check_model(small("encoder"))
    assert report.kind == "attention"
    assert report.holds


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.id)
def test_none_of_20_seeds_is_missed(mistake: Mistake) -> None:
    places = []
    for seed in range(20):
        found = examined(mistake, seed)
        assert not found.holds
        places.append([suspect.mistake.id for suspect in found.suspects].index(mistake.id))
    assert max(places) <= 2
    assert mistake.id == "padding-on-queries" or sum(place == 0 for place in places) >= 18, places


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 20))
def test_none_of_20_seeds_raises_a_false_alarm(seed: int) -> None:
    for architecture in ("language_model", "translator"):
        for positions in POSITIONS[1:]:
            for shape in SHAPES:
                model = small(architecture, seed, positions=positions, **shape)
                for report in check_model(model, seed=seed):
                    assert report.holds, str(report)
