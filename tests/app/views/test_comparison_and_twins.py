"""Right and mistaken beside each other: in words, and trained as twins."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.comparison import Comparison
from mlxdecoder.app.views.twin import TwinView
from tests.app.views.teaching import answer, asked, begin, greet

Sent = list[Message]


@pytest.fixture
def comparison(qtbot: QtBot, session: Session, bridge: Bridge, sent: Sent) -> Comparison:
    return placed(Comparison(session, bridge), qtbot, session, sent)


@pytest.fixture
def twin(qtbot: QtBot, session: Session, bridge: Bridge, sent: Sent) -> TwinView:
    return placed(TwinView(session, bridge), qtbot, session, sent)


def placed(view: QWidget, qtbot: QtBot, session: Session, sent: Sent) -> QWidget:
    qtbot.addWidget(view)
    view.show()
    greet(session, sent)
    return view


def texts(view: QWidget) -> str:
    return "\n".join(label.text() for label in view.findChildren(QLabel) if label.isVisible())


def compared(session: Session, sent: Sent, first_difference: int | None) -> None:
    translations = ["Le chat dort.", "Le le le"]
    told = {
        "first_difference": first_difference,
        "translations": translations,
        "how": "read at once",
        "notes": ["A note."],
    }
    answer(session, sent, "compare", "compared", queries={}, keys={}, **told)


def test_without_a_mistake_there_is_nothing_to_compare(comparison: Comparison) -> None:
    assert not comparison.ask.isEnabled()
    assert "Switch a mistake on" in texts(comparison)


def test_both_translations_and_where_they_part_are_told(comparison: Comparison, session: Session, sent: Sent) -> None:
    session.change("switch on", mistakes=("no-mask",))
    comparison.ask.click()
    assert asked(sent, "compare").fields == {"sentence": session.document.sentence, "mistakes": ["no-mask"]}
    assert not comparison.ask.isEnabled()
    compared(session, sent, first_difference=1)
    for text in ("Le chat dort.", "Le le le", "They part at token 2.", "read at once", "A note."):
        assert text in texts(comparison)


def test_translations_that_agree_are_said_to(comparison: Comparison, session: Session, sent: Sent) -> None:
    session.change("switch on", mistakes=("no-mask",))
    comparison.ask.click()
    compared(session, sent, first_difference=None)
    assert "Both write the same tokens." in texts(comparison)


@pytest.mark.parametrize("change", [{"sentence": "Another."}, {"mistakes": ("over-queries",)}])
def test_a_comparison_of_something_else_is_not_shown(
    comparison: Comparison, session: Session, sent: Sent, change: dict[str, object]
) -> None:
    session.change("switch on", mistakes=("no-mask",))
    comparison.ask.click()
    compared(session, sent, first_difference=1)
    session.change("change", **change)
    assert "Le chat dort." not in texts(comparison)
    assert comparison.ask.isEnabled()


def test_a_comparison_that_is_refused_says_why(comparison: Comparison, session: Session, sent: Sent) -> None:
    session.change("switch on", mistakes=("no-mask",))
    comparison.ask.click()
    answer(session, sent, "compare", "refused", message="This model is an encoder.")
    assert "This model is an encoder." in texts(comparison)


def start(twin: TwinView, session: Session, steps: int = 100) -> None:
    session.change("switch on", mistakes=("no-mask",))
    twin.steps.setValue(steps)
    twin.start.click()


def test_twins_are_trained_with_what_is_on(twin: TwinView, session: Session, sent: Sent) -> None:
    assert not twin.start.isEnabled()
    start(twin, session)
    assert asked(sent, "twin").fields == {"mistakes": ["no-mask"], "steps": 100}
    assert not twin.start.isEnabled()
    assert twin.stop.isEnabled()


def test_how_far_both_are_is_told_until_they_are_done(twin: TwinView, session: Session, sent: Sent) -> None:
    start(twin, session)
    answer(session, sent, "twin", "twinned", side="right", first_step=1, losses=[3.0] * 20)
    answer(session, sent, "twin", "twinned", side="wrong", first_step=1, losses=[2.0] * 15)
    assert "Training, of 100 steps: right at 20; mistaken at 15. Mistaken by: No mask" in texts(twin)
    answer(session, sent, "twin", "twinned", side="wrong", done=True, reason="diverged")
    answer(session, sent, "twin", "twinned", side="right", done=True, reason="done")
    assert "Done" in texts(twin)
    assert "mistaken at 15, where its loss was no longer a number" in texts(twin)
    assert twin.start.isEnabled()


def test_stop_answers_at_once(twin: TwinView, session: Session, sent: Sent) -> None:
    start(twin, session)
    run = asked(sent, "twin").run
    twin.stop.click()
    assert sent[-1] == Message("stop", fields={"of": run})
    assert "Stopped" in texts(twin)
    assert twin.start.isEnabled()


def test_twins_that_are_refused_say_why(twin: TwinView, session: Session, sent: Sent) -> None:
    start(twin, session)
    answer(session, sent, "twin", "refused", message="steps: too few.")
    assert "steps: too few." in texts(twin)


def test_twins_wait_for_a_training_that_runs(twin: TwinView, session: Session, sent: Sent) -> None:
    session.change("switch on", mistakes=("no-mask",))
    session.training.begin(folder="/runs/toy 1", resume=False)
    begin(session, sent)
    assert not twin.start.isEnabled()
    answer(session, sent, "train", "trained", reason="stopped", step=5, path=None, message="")
    assert twin.start.isEnabled()


def test_what_the_twins_were_trained_with_is_told_even_when_it_is_off_again(
    twin: TwinView, session: Session, sent: Sent
) -> None:
    start(twin, session)
    session.change("switch off", mistakes=())
    assert "Mistaken by: No mask" in texts(twin)
