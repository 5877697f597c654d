"""The card of a mistake: think first, look then, test it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.card import Card
from mlxdecoder.app.views.code_lines import parts
from tests.app.views.teaching import answer, asked, greet

Sent = list[Message]


@pytest.fixture
def card(qtbot: QtBot, session: Session, bridge: Bridge, sent: Sent) -> Card:
    card = Card(session, bridge)
    qtbot.addWidget(card)
    card.show()
    greet(session, sent)
    card.show_entry("off-by-one")
    return card


def texts(card: Card) -> str:
    return "\n".join(label.text() for label in card.findChildren(QLabel) if label.isVisible())


def test_the_effect_is_folded_until_it_is_asked_for(card: Card) -> None:
    hidden = ("answer about off-by-one", "heatmap of off-by-one", "curves of off-by-one", "generation of off-by-one")
    assert "What does off-by-one do?" in texts(card)
    assert not any(text in texts(card) for text in hidden)
    card.reveal.click()
    assert all(text in texts(card) for text in hidden)


def test_an_answer_of_ones_own_is_kept_and_opens_the_effect(card: Card, qtbot: QtBot) -> None:
    qtbot.keyClicks(card.guess, "It copies")
    card.show_entry("no-mask")
    assert card.guess.text() == ""
    card.show_entry("off-by-one")
    assert card.guess.text() == "It copies"
    qtbot.keyClick(card.guess, Qt.Key.Key_Return)
    assert "answer about off-by-one" in texts(card)


def test_what_was_revealed_stays_so_and_nothing_else_is(card: Card) -> None:
    card.reveal.click()
    card.show_entry("no-mask")
    assert "answer about no-mask" not in texts(card)
    card.show_entry("off-by-one")
    assert "answer about off-by-one" in texts(card)


def test_what_differs_between_the_lines_is_marked() -> None:
    assert parts("a <= b + 1", "a <= b") == [("a <= b", False), (" + 1", True)]
    assert parts("a <= b", "a <= b + 1") == [("a <= b", False)]


def test_lines_that_have_little_in_common_are_not_marked_all_over() -> None:
    assert parts("pass  # as they are", "scores = mx.where(mask, scores, -mx.inf)") == [("pass  # as they are", False)]


def test_code_is_shown_as_it_is(card: Card, session: Session) -> None:
    code = [label for label in card.findChildren(QLabel) if label.accessibleName().startswith("Wrong: ")]
    assert [label.accessibleName() for label in code] == ["Wrong: allowed = keys <= queries + 1"]
    assert "&lt;=" in code[0].text()


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("unshifted", "Shows only in training"),
        ("position-zero", "Shows only while generating"),
        ("renormalised", "Looks like a mistake, and is none."),
    ],
)
def test_where_to_look_is_said(card: Card, name: str, advice: str) -> None:
    card.show_entry(name)
    assert advice in texts(card)


def test_it_can_be_switched_on_from_its_card(card: Card, session: Session) -> None:
    card.on.click()
    assert session.document.mistakes == ("off-by-one",)
    session.undo()
    assert not card.on.isChecked()


def contract(name: str, holds: bool | None, proof: str) -> dict[str, object]:
    return {"name": name, "on": "decoder", "states": "the rule", "holds": holds, "proof": proof}


def test_the_contracts_are_tried_on_the_model_as_it_is_now(card: Card, session: Session, sent: Sent) -> None:
    card.on.click()
    card.verdict.ask.click()
    assert asked(sent, "verdict").fields == {"of": "off-by-one", "mistakes": ["off-by-one"]}
    assert "Trying…" in texts(card)
    told = [contract("T1 causal", False, "moved by 3.4"), contract("T2", None, "no rows"), contract("T3", True, "0.0")]
    answer(session, sent, "verdict", "verdict", contracts=told)
    for line in (
        "T1 causal on the decoder FAILS: the rule\nmoved by 3.4",
        "T2 on the decoder not tried",
        "T3 on the decoder holds",
    ):
        assert line in texts(card)


def test_a_verdict_is_taken_back_when_the_model_is_another(card: Card, session: Session, sent: Sent) -> None:
    card.verdict.ask.click()
    answer(session, sent, "verdict", "verdict", contracts=[contract("T1 causal", True, "0.0")])
    assert "T1 causal on the decoder holds" in texts(card)
    card.on.click()
    assert "T1 causal on the decoder holds" not in texts(card)


def test_the_verdict_of_another_card_is_not_shown(card: Card, session: Session, sent: Sent) -> None:
    card.verdict.ask.click()
    card.show_entry("no-mask")
    answer(session, sent, "verdict", "verdict", contracts=[contract("T1 causal", True, "0.0")])
    assert "T1 causal on the decoder holds" not in texts(card)


def test_a_verdict_that_is_refused_says_why(card: Card, session: Session, sent: Sent) -> None:
    card.verdict.ask.click()
    answer(session, sent, "verdict", "refused", message="No model is open.")
    assert "Could not be tried. No model is open." in texts(card)
    assert card.verdict.ask.isEnabled()


def test_where_nothing_is_to_be_found_no_contract_is_offered(card: Card) -> None:
    card.show_entry("renormalised")
    assert not card.verdict.ask.isVisible()
