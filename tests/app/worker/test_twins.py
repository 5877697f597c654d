"""Twins in the worker: the library's own, but side by side, so that both curves can be watched as they grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.worker import twins
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes.experiments import experiment_preset
from mlxdecoder.mistakes.twins import TwinTraining
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training import Prepared, Preset, prepare
from tests.app.worker.asking import RUN, ask

STEPS = 16


def tiny(steps: int) -> Preset:
    preset = experiment_preset(steps)
    training = replace(preset.training, tokens_per_batch=128, evaluate_every=max(steps // 2, 1))
    return replace(preset, model=ModelConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1), training=training)


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    splits = make_splits(train_count=300, held_out_count=4)
    parts = ([Pair(pair.source, pair.target) for pair in part] for part in (splits.train, splits.validation))
    prepared = prepare(*parts, vocab_size=400)
    return replace(prepared, validation=prepared.validation[:6])


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, prepared: Prepared) -> None:
    monkeypatch.setattr(twins, "experiment_preset", tiny)
    monkeypatch.setattr(twins, "_text", lambda: prepared)


def losses(told: Sequence[Message], side: str) -> list[float]:
    found: list[float] = []
    for message in told:
        if message["side"] == side and "losses" in message.fields:
            assert message["first_step"] == len(found) + 1
            found += message["losses"]
    return found


@pytest.mark.parametrize("mistake", ["no-causal-mask", "labels-unshifted", "cache-mask-top-left"])
def test_both_have_the_losses_of_the_librarys_twins(mistake: str, prepared: Prepared) -> None:
    told = ask(Engine(), "twin", mistakes=[mistake], steps=STEPS)
    wanted = TwinTraining(tiny(STEPS), prepared).run([mistake])
    assert losses(told, "right") == wanted.correct.losses
    assert losses(told, "wrong") == wanted.mistaken.losses


def test_measures_are_told_of_both_beside_the_losses(prepared: Prepared) -> None:
    told = ask(Engine(), "twin", mistakes=["no-causal-mask"], steps=STEPS)
    wanted = TwinTraining(tiny(STEPS), prepared).run(["no-causal-mask"])
    for side, twin in (("right", wanted.correct), ("wrong", wanted.mistaken)):
        measures = [message for message in told if message["side"] == side and "loss" in message.fields]
        assert [message["step"] for message in measures] == [8, 16]
        assert [message["loss"] for message in measures] == [one.validation_loss for one in twin.history]


def test_both_curves_grow_together() -> None:
    told = ask(Engine(), "twin", mistakes=["no-causal-mask"], steps=STEPS)
    reached = {"right": 0, "wrong": 0}
    for message in told:
        if "losses" in message.fields:
            reached[message["side"]] += len(message["losses"])
            assert abs(reached["right"] - reached["wrong"]) <= STEPS // 2
    turns = [side for side, _ in groupby(message["side"] for message in told)]
    assert len(turns) > 4


def test_a_twin_that_diverges_ends_and_the_other_goes_on() -> None:
    told = ask(Engine(), "twin", mistakes=["infinity-after-softmax"], steps=STEPS)
    ends = {message["side"]: message["reason"] for message in told if message.fields.get("done")}
    assert ends == {"wrong": "diverged", "right": "done"}
    assert len(losses(told, "right")) == STEPS and not losses(told, "wrong")


def test_a_stop_ends_both_at_once() -> None:
    told = ask(Engine(), "twin", stop_after=1, mistakes=["no-causal-mask"], steps=10_000)
    assert len(told) == 1


def test_twins_without_a_mistake_are_refused() -> None:
    with pytest.raises(UserError, match="none is on"):
        ask(Engine(), "twin", mistakes=[], steps=STEPS)


def test_the_session_can_take_all_that_is_told() -> None:
    sent: list[Message] = []
    session = Session(sent.append)
    session.twins.begin(["no-causal-mask"], STEPS)
    for message in ask(Engine(), "twin", mistakes=["no-causal-mask"], steps=STEPS):
        assert message.run == RUN
        session.receive(Message(message.kind, sent[-1].run, message.fields))
    assert all(len(log.losses) == STEPS and len(log.measures) == 2 for log in session.twins.logs.values())
    assert not session.requests.busy("twin")
