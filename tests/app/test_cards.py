"""Every mistake has a question and an answer, and the figures in them are those of the experiments."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from mlxdecoder.app.cards import CARDS
from mlxdecoder.mistakes import CATALOGUE, Mistake
from mlxdecoder.mistakes.experiments import measured

PAIR = r"(\d+\.\d+) instead of (\d+\.\d+)"
LOSS_AT = re.compile(rf"{PAIR} at step (\d+)")
LAST_LOSS = re.compile(rf"ends at {PAIR}|{PAIR} at the end")
SHARE = re.compile(r"(\d+)%")


def ids(mistakes: tuple[Mistake, ...]) -> list[str]:
    return [mistake.id for mistake in mistakes]


def record_of(mistake: Mistake) -> dict[str, Any]:
    return measured()["entries"][mistake.id]


def shares(value: Any) -> Iterator[str]:
    """Every number of a record that is a share, in whole per cent."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from shares(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from shares(inner)
    elif isinstance(value, int | float) and 0 <= value <= 1:
        yield f"{value:.0%}".removesuffix("%")


def test_every_entry_of_the_catalogue_has_a_card_and_nothing_else_has() -> None:
    assert list(sorted(CARDS)) == sorted(ids(CATALOGUE))


@pytest.mark.parametrize("mistake", CATALOGUE, ids=ids(CATALOGUE))
def test_a_card_asks_in_few_words_and_answers_in_few(mistake: Mistake) -> None:
    card = CARDS[mistake.id]
    assert card.question.endswith("?") or "Guess" in card.question
    assert len(card.question) <= 220 and len(card.answer) <= 400
    assert card.answer.endswith(".") and "  " not in card.question + card.answer


@pytest.mark.parametrize("mistake", CATALOGUE, ids=ids(CATALOGUE))
def test_a_question_does_not_give_figures_of_its_answer_away(mistake: Mistake) -> None:
    card = CARDS[mistake.id]
    decimals = re.compile(r"\d+\.\d+|\d+%")
    assert not set(decimals.findall(card.question)) & set(decimals.findall(card.answer))


@pytest.mark.parametrize("mistake", CATALOGUE, ids=ids(CATALOGUE))
def test_losses_in_an_answer_are_those_of_both_trainings(mistake: Mistake) -> None:
    record, answer = record_of(mistake), CARDS[mistake.id].answer
    wrong, right = (record[side]["loss"] for side in ("mistaken", "correct"))
    for mistaken, correct, step in LOSS_AT.findall(answer):
        assert (mistaken, correct) == (f"{wrong[step]:.3f}", f"{right[step]:.3f}")
    for found in LAST_LOSS.finditer(answer):
        assert tuple(filter(None, found.groups())) == (f"{wrong['500']:.3f}", f"{right['500']:.3f}")


@pytest.mark.parametrize("mistake", CATALOGUE, ids=ids(CATALOGUE))
def test_shares_in_an_answer_are_among_those_that_were_measured(mistake: Mistake) -> None:
    assert set(SHARE.findall(CARDS[mistake.id].answer)) <= set(shares(record_of(mistake)))


@pytest.mark.parametrize("mistake", CATALOGUE, ids=ids(CATALOGUE))
def test_exact_match_is_told_as_it_was_measured(mistake: Mistake) -> None:
    """What is said of a model that was trained so, of one that was broken afterwards, and of the right one."""
    record, answer = record_of(mistake), CARDS[mistake.id].answer
    told = re.findall(r"(?:Trained so|trained so),? (?:it is |exact match is )?(\d+)%", answer)
    assert all(share == f"{record['mistaken']['exact_match']:.0%}"[:-1] for share in told)
    fell = re.findall(r"falls (?:from (\d+)% )?to (\d+)%", answer)
    for before, after in fell:
        assert not before or before == f"{record['correct']['exact_match']:.0%}"[:-1]
        assert after == f"{record['switched_on_after_training']['exact_match']:.0%}"[:-1]


@pytest.mark.parametrize("mistake", CATALOGUE, ids=ids(CATALOGUE))
def test_what_changes_no_translation_was_measured_to_change_none(mistake: Mistake) -> None:
    if "changes no translation" in CARDS[mistake.id].answer:
        right, switched = (record_of(mistake)[side] for side in ("correct", "switched_on_after_training"))
        assert switched["exact_match"] == right["exact_match"] == 1


def test_the_cards_are_read_without_loading_mlx() -> None:
    code = "import sys, mlxdecoder.app.cards; sys.exit(any(name.startswith('mlx.') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
