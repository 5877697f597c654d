"""The contracts on translators: right ones raise no alarm, wrong ones are found and told apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

import mlxdecoder
from mlxdecoder.contracts.finding import Finding, Report
from mlxdecoder.contracts.on_translator import translator_findings
from mlxdecoder.contracts.ours import TranslatorFace
from mlxdecoder.errors import UserError
from mlxdecoder.recipe import RIGHT
from tests.builders import small
from tests.contracts.adapters import MISTAKES, Rule, every_scheme

FAR = {"future", "future.far"}
STEPS = {"cache.differs"}  # one token at a time there is no future to see
EXPECTED: dict[str, set[str]] = {
    "no mask": FAR | STEPS,
    "transposed": FAR | {"future.instead", "past.blind", "cache.blind"} | STEPS,
    "off by one": {"future", "future.near"} | STEPS,
    "strict": FAR | {"future.first"} | STEPS,
    "strict nan": {"nan", "nan.first"},
    "cache position 0": STEPS,
    "cache mask top left": STEPS | {"cache.blind"},
    "padding forgotten": {"source.padding"},
    "padding on queries": {"source.padding"},
    "cross padding forgotten": {"source.padding"},
    "documents forgotten": {"documents.mixed"},
    "cross documents forgotten": {"documents.mixed"},
    "causal crossing": {"cross.future_blind"},
}


class Remembering(TranslatorFace):
    """Steps through a cache that is emptied of the target only."""

    cache: Any = None

    def stepwise(self, source: mx.array, target: mx.array) -> mx.array:
        self.cache = self.cache or self._model.make_cache()
        for layer in self.cache:
            layer.trim(layer.offset)
        memory = self._model.encode(source)
        steps = [self._model.decode(target[:, t : t + 1], memory, self.cache) for t in range(target.shape[1])]
        return mx.concatenate(steps, axis=1)


def of(report: Report, contract: str) -> Finding:
    (finding,) = (finding for finding in report.findings if finding.contract == contract)
    return finding


def findings(face: Any, **options: Any) -> Report:
    return translator_findings(face, arrays="mlx", **options)


@pytest.mark.parametrize(("positions", "variant"), [case for case in every_scheme() if case.values[0] != "none"])
def test_right_translators_raise_no_alarm(positions: str, variant: dict[str, Any]) -> None:
    separate = {"tied": False, "source_vocab": 9, "n_encoder_layers": 1} if variant["seed"] else {}
    face = TranslatorFace(small("translator", positions=positions, **variant, **separate))
    report = findings(face, seed=variant["seed"])
    assert all(finding.holds for finding in report.findings), str(report)


def test_a_trained_translator_raises_no_alarm() -> None:
    report = findings(TranslatorFace(mlxdecoder.load().model))
    assert all(finding.holds for finding in report.findings), str(report)


@pytest.mark.parametrize("mistake", EXPECTED)
@pytest.mark.parametrize("n_layers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_wrong_translators_are_found_and_told_apart(mistake: str, n_layers: int) -> None:
    face = TranslatorFace(small("translator", recipe=MISTAKES[mistake], n_layers=n_layers, seed=n_layers))
    if "padding" not in mistake and "documents" not in mistake:
        face.pad = face.separator = None  # a wrong mask shows in them too
    assert findings(face).signs == EXPECTED[mistake]


@pytest.mark.parametrize(
    ("mistake", "signs"),
    [("no mask", FAR), ("off by one", {"future", "future.near"}), ("strict", FAR | {"future.first"})],
)
def test_wrong_masks_in_a_trained_model_are_found(mistake: str, signs: set[str]) -> None:
    model = mlxdecoder.load().model
    model.recipe = MISTAKES[mistake]
    assert findings(TranslatorFace(model), only=["T1 causal", "T1 reach"]).signs == signs


def test_no_positions_in_the_source_are_found() -> None:
    assert findings(TranslatorFace(small("translator", positions="none"))).signs == {"order.ignored"}


def test_axes_exchanged_are_found_in_a_batch_only() -> None:
    report = findings(TranslatorFace(small("translator", recipe=MISTAKES["axes exchanged"])))
    assert report.signs == {"batch.mixed"}


def test_dropout_is_found_and_nothing_else_is_said() -> None:
    report = findings(TranslatorFace(small("translator", recipe=MISTAKES["dropout"], dropout=0.2)))
    assert report.signs == {"unsteady"}


def test_dropout_in_the_steps_alone_is_not_taken_for_a_wrong_cache() -> None:
    recipes = (RIGHT, MISTAKES["dropout"])
    steady, dropping = (TranslatorFace(small("translator", recipe=recipe, dropout=0.2)) for recipe in recipes)
    report = findings(steady, stepwise=dropping.stepwise)
    assert report.signs == {"unsteady"}
    assert of(report, "T9 cache").holds is None


def test_the_keys_of_an_earlier_source_are_found() -> None:
    right = Remembering(small("translator"))
    assert findings(right).holds  # a new source takes the place of the old one
    stale = replace(RIGHT, keeps_cross_cache=lambda cached, current: True)
    report = findings(Remembering(small("translator", recipe=stale)))
    assert report.signs == {"stale"}
    assert "next source" in of(report, "T11 steady").proof or "one before" in of(report, "T11 steady").proof


def test_an_ignored_source_is_found_and_its_order_not_asked_for() -> None:
    model = small("translator")
    report = findings(lambda source, target: model(mx.zeros_like(source), target))
    assert report.signs == {"source.ignored"}
    assert of(report, "T10 order").holds is None


def test_states_that_nobody_sees_are_named() -> None:
    recipe = replace(RIGHT, cross_mask=lambda layout: Rule(lambda q, k: (k != 7) & (q >= 0)))
    finding = of(findings(TranslatorFace(small("translator", recipe=recipe))), "T8 crossing")
    assert finding.signs == {"cross.blind"}
    assert "source state 7 was replaced; the logits at target position 0 moved by 0" in finding.proof
    assert "16 of 192 pairs" in finding.proof


def test_packed_documents_may_be_mixed_up_in_crossing_alone() -> None:
    report = findings(TranslatorFace(small("translator", recipe=MISTAKES["cross documents forgotten"])))
    finding = of(report, "T4 documents")
    assert finding.signs == {"documents.mixed"}
    assert "the first document in source was replaced" in finding.proof


def test_what_was_not_given_is_named() -> None:
    model = small("translator")
    report = findings(lambda source, target: model(source, target))
    untried = {finding.contract: finding.proof for finding in report.findings if finding.holds is None}
    assert set(untried) == {"T3 padding", "T4 documents", "T8 crossing", "T9 cache"}
    for option, proof in zip(("pad=", "separator=", "encode= and decode=", "stepwise="), untried.values(), strict=True):
        assert f"give {option}" in proof


def test_states_that_are_no_array_are_not_held_against_the_model() -> None:
    finding = of(findings(small("translator")), "T8 crossing")
    assert finding.holds is None
    assert "encode gave a Memory" in finding.proof


def test_source_ids_stay_within_the_source_vocabulary() -> None:
    asked: set[int] = set()
    model = small("translator")

    def f(source: mx.array, target: mx.array) -> mx.array:
        asked.update(np.array(source).ravel().tolist())
        return model(source, target)

    findings(f, source_vocabulary=6, pad=0, only=["T10 order", "T16 source"])
    assert asked == {1, 2, 3, 4, 5}


def test_what_is_no_translator_is_refused_with_its_name() -> None:
    def f(source: Any) -> Any:
        return source

    with pytest.raises(UserError, match=r"f\(.*\[1, 6\].*\[1, 8\]\) raised TypeError"):
        findings(f)
