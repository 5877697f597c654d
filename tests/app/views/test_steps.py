from __future__ import annotations

import math

import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.steps import is_right_to_left, probability, recording_shown, size, step_shown
from tests.app.views.sessions import run_of, tell_model
from tests.app.views.written import tell_word, write, written


@pytest.mark.parametrize(
    ("share", "words"),
    [(1.0, "100%"), (0.9999, "over 99%"), (0.934, "93%"), (0.042, "4.2%"), (0.0004, "under 0.1%"), (0.0, "0.0%")],
)
def test_a_probability_is_only_certain_or_impossible_when_it_is(share: float, words: str) -> None:
    assert probability(share) == words


@pytest.mark.parametrize("share", [math.nan, math.inf])
def test_what_is_no_probability_says_so(share: float) -> None:
    assert probability(share) == "not a number"


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KB"), (200 * 1024, "200 KB"), (5 * 1024**4, "5120 GB")],
)
def test_bytes_are_told_in_the_unit_that_suits_them(n_bytes: int, words: str) -> None:
    assert size(n_bytes) == words


@pytest.mark.parametrize(
    ("text", "right"), [("قط", True), ("12 חתול", True), ("chat قط", False), ("12.", False), ("", False), ("猫", False)]
)
def test_the_first_letter_with_a_direction_decides(text: str, right: bool) -> None:
    assert is_right_to_left(text) == right


def test_a_step_that_is_not_written_yet_shows_the_newest(session: Session, sent: list[Message]) -> None:
    written(session, sent)
    session.look(step=4)
    session.generation.begin()
    assert step_shown(session) is None
    run = run_of(sent)
    write(session, run, ("▁Le", "▁chat"))
    assert step_shown(session) == 1
    for step in range(2, 6):
        tell_word(session, run, step, "x")
    assert step_shown(session) == 4


def test_the_side_that_is_looked_at_gives_the_steps(session: Session, sent: list[Message]) -> None:
    tell_model(session, sent)
    session.change("break it", mistakes=("no-causal-mask",))
    session.generation.begin()
    write(session, run_of(sent, mistaken=True), ("▁wrong",))
    write(session, run_of(sent, mistaken=False), ("▁right",))
    texts = {}
    for side in ("wrong", "right", "change"):
        session.look(side=side)
        texts[side] = recording_shown(session).tokens[0].text
    assert texts == {"wrong": "▁wrong", "right": "▁right", "change": "▁wrong"}
