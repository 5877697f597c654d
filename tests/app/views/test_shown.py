"""What is found in a picture: mass outside, wrong sums, sinks, differences."""

from __future__ import annotations

import numpy as np
import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.shown import Head, Shown, head_of, shown, sinks_of
from tests.app.views.sessions import READ, SOURCE, recorded, run_of, tell_generation, tell_model, weights

Sent = list[Message]


def now(session: Session, side: str | None = None) -> Shown:
    found = shown(session, side)
    assert found is not None
    return found


def head(session: Session, layer: int = 0, number: int = 0) -> Head:
    return head_of(now(session), layer, number, "")


def test_nothing_is_shown_before_anything_is_known(session: Session) -> None:
    assert shown(session) is None


def test_right_attention_has_no_findings(session: Session, sent: Sent) -> None:
    recorded(session, sent)
    for kind in ("encoder", "decoder", "cross"):
        session.look(kind=kind)
        assert head(session).findings() == [] and head(session).leaking == []


def leaking_encoder(session: Session, sent: Sent) -> None:
    """An encoder with a fifth of the first row's weight where nothing may be."""
    tell_model(session, sent)
    values, allowed = np.zeros((2, 4, 3, 3), np.float32), np.tri(3, dtype=bool)
    values[:, :, 0] = [0.8, 0.0, 0.2]
    values[:, :, 1:, 0] = 1
    values[1, 3, 2, 1] = 0.5
    arrays = {"encoder.weights": values, "encoder.intended": allowed}
    session.receive(Message("source", run_of(sent), {"tokens": ["a", "b", "c"], "begin": "<s>"}, arrays))
    session.look(kind="encoder")


def test_weight_outside_the_mask_is_told_with_its_amount(session: Session, sent: Sent) -> None:
    leaking_encoder(session, sent)
    found = head(session)
    assert found.leaking == [0] and found.outside[0] == pytest.approx(0.2)
    assert "1 of 3 rows" in found.findings()[0] and "0.200" in found.findings()[0]
    assert "outside the intended mask" in found.tell(0, 2) and "0.200" in found.tell(0, 2)
    assert "outside" not in found.tell(2, 2)


def test_a_row_that_does_not_add_up_is_told(session: Session, sent: Sent) -> None:
    leaking_encoder(session, sent)
    found = head(session, 1, 3)
    assert found.wrong_sums == {2}
    assert "1.500" in found.tell_row(2) and "wrong" in found.tell_row(2) and "wrong" not in found.tell_row(1)


def test_a_row_that_may_see_nothing_and_is_zero_adds_up(session: Session, sent: Sent) -> None:
    tell_model(session, sent)
    arrays = {"encoder.weights": np.zeros((2, 4, 1, 1)), "encoder.intended": np.zeros((1, 1), bool)}
    session.receive(Message("source", run_of(sent), {"tokens": ["a"], "begin": "<s>"}, arrays))
    session.look(kind="encoder")
    assert head(session).wrong_sums == frozenset()


def test_scores_have_neither_sums_nor_mass(session: Session, sent: Sent) -> None:
    scores = np.random.default_rng(0).normal(0, 3, (2, 4, 6, 5))
    recorded(session, sent, cross=scores, decoder=np.zeros((2, 4, 6, 6)), stage="scores")
    session.look(stage="scores")
    assert head(session).sums is None and head(session).findings() == []
    assert now(session).scale.high >= np.abs(scores).max()


def test_the_step_bounds_what_is_looked_at(session: Session, sent: Sent) -> None:
    recorded(session, sent)
    session.look(step=2)
    found = head(session)
    assert found.values.shape == (3, len(SOURCE)) and found.newest == 2 and found.room == len(READ)
    session.look(kind="encoder")
    assert head(session).values.shape == (len(SOURCE), len(SOURCE)) and head(session).newest is None


def test_the_first_step_has_a_row_also_while_the_other_side_has_none(session: Session, sent: Sent) -> None:
    recorded(session, sent)
    session.change("break", mistakes=("no-scale",))
    session.generation.begin()
    tell_generation(session, run_of(sent, mistaken=True))
    session.look(side="wrong", step=0)
    assert head(session).values.shape == (1, len(SOURCE))


def sinking(share: float, key: int) -> np.ndarray:
    """Cross-attention in which one head puts a share of its weight on one key."""
    values = np.full((2, 4, len(READ), len(SOURCE)), 1 / len(SOURCE), np.float32)
    values[1, 2] = (1 - share) / (len(SOURCE) - 1)
    values[1, 2, :, key] = share
    return values


@pytest.mark.parametrize(
    ("key", "share", "sinks"), [(0, 0.51, True), (4, 0.9, True), (0, 0.49, False), (2, 0.9, False)]
)
def test_a_sink_is_the_first_key_or_a_mark_with_over_half_of_the_weight(
    session: Session, sent: Sent, key: int, share: float, sinks: bool
) -> None:
    recorded(session, sent, cross=sinking(share, key))
    found = sinks_of(now(session))
    assert set(found) == ({(1, 2)} if sinks else set())
    if sinks:
        assert found[1, 2] == [(key, pytest.approx(share, abs=1e-6))]


def test_a_row_with_one_key_to_see_makes_no_sink(session: Session, sent: Sent) -> None:
    values = np.zeros((2, 4, 6, 6), np.float32)
    values[:, :, 0, 0] = 1  # all that it can do
    values[:, :, 1:, 0], values[:, :, 1:, 1] = 0.48, 0.52
    recorded(session, sent, decoder=values)
    session.look(kind="decoder")
    assert sinks_of(now(session)) == {}


def test_a_language_model_reads_its_prompt_in_the_first_step(session: Session, sent: Sent) -> None:
    tell_model(session, sent, kinds=["decoder"])
    run, values = run_of(sent), weights(6, 6, causal=True)
    fields = {"tokens": [], "begin": "<s>", "prompt": ["<s>", "▁The", "▁cat", "▁sat"]}
    session.receive(Message("source", run, fields))
    for step, rows in enumerate([slice(4), slice(4, 5), slice(5, 6)]):
        allowed = np.tri(6, dtype=bool)[rows, : rows.stop]
        arrays = {"decoder.weights": values[:, :, rows, : rows.stop], "decoder.intended": allowed}
        told = {"step": step, "id": step, "text": "▁on", "logprob": -0.1, "candidates": [], "translation": "on"}
        told |= {"seconds": 0.01, "cache": {}, "slots": list(range(rows.stop))}
        session.receive(Message("token", run, told, arrays))
    session.look(kind="decoder")
    assert (now(session).rows, head(session).newest) == (6, 5)
    for step, rows in enumerate([4, 5, 6]):
        session.look(step=step)
        assert (now(session).rows, head(session).newest) == (rows, rows - 1)
        np.testing.assert_array_equal(head(session).values, values[0, 0, :rows])


def compared(session: Session, sent: Sent, read: tuple[str, ...] = READ) -> tuple[np.ndarray, np.ndarray]:
    """A generation with mistakes that reads `read`, and one without; gives the cross-attention of both."""
    tell_model(session, sent)
    session.change("break", mistakes=("no-scale",))
    session.generation.begin()
    right = weights(len(READ), len(SOURCE))
    wrong = np.roll(weights(len(read), len(SOURCE)), 1, axis=-1)
    tell_generation(session, run_of(sent, mistaken=False), cross=right)
    tell_generation(session, run_of(sent, mistaken=True), cross=wrong, read=read)
    session.look(side="change")
    return right, wrong


def test_a_difference_is_mistaken_minus_correct(session: Session, sent: Sent) -> None:
    right, wrong = compared(session, sent)
    np.testing.assert_allclose(now(session).picture.values, wrong - right, atol=1e-6)
    assert head(session).sums is None and head(session).leaking == []


def test_a_difference_ends_where_the_translations_part(session: Session, sent: Sent) -> None:
    compared(session, sent, ("<s>", "▁Le", "▁chien", "▁noir"))
    assert now(session).picture.queries == ("<s>", "▁Le")
    session.look(kind="decoder")
    assert now(session).picture.values.shape == (2, 4, 2, 2)


def test_without_the_right_side_there_is_no_difference(session: Session, sent: Sent) -> None:
    recorded(session, sent)
    assert shown(session, "change") is None


@pytest.mark.parametrize("side", ["right", "change"])
def test_when_the_mistakes_are_off_again_what_there_is_is_shown(session: Session, sent: Sent, side: str) -> None:
    compared(session, sent)
    session.look(side=side)
    session.change("correct", mistakes=())
    session.generation.begin()
    tell_generation(session, run_of(sent))
    np.testing.assert_allclose(now(session).picture.values, weights(len(READ), len(SOURCE)))


def test_a_picture_that_grew_continues_the_one_before(session: Session, sent: Sent) -> None:
    recorded(session, sent)
    before = now(session)
    assert now(session).continues(before)
    session.look(stage="norms")
    assert shown(session) is None
    session.look(stage="weights")
    session.generation.begin()
    tell_generation(session, run_of(sent))
    assert not now(session).continues(before)
