"""What is looked at: kinds, stages, sides, average, and the scale."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.colours import scale_of
from mlxdecoder.app.views.view_bar import ViewBar
from tests.app.views.pixels import colour_of
from tests.app.views.sessions import recorded, tell_model, weights
from tests.app.views.test_shown import compared

Sent = list[Message]


@pytest.fixture
def bar(qtbot: QtBot, session: Session, bridge: Bridge) -> ViewBar:
    bar = ViewBar(session, bridge)
    qtbot.addWidget(bar)
    bar.resize(900, 60)
    bar.show()
    return bar


def box(bar: ViewBar, name: str) -> QComboBox:
    return next(each for each in bar.findChildren(QComboBox) if name in each.accessibleName())


def choices(box: QComboBox) -> list[str]:
    return [box.itemText(at) for at in range(box.count())]


def choose(box: QComboBox, value: str) -> None:
    """As a click does: the index changes, then the choice is told."""
    box.setCurrentIndex(box.findData(value))
    box.activated.emit(box.currentIndex())


def test_the_kinds_are_those_of_the_model(bar: ViewBar, session: Session, sent: Sent) -> None:
    tell_model(session, sent)
    assert choices(box(bar, "Kind")) == ["Encoder", "Decoder", "Cross"]
    choose(box(bar, "Kind"), "decoder")
    assert session.document.view.kind == "decoder"


def test_a_language_model_has_self_attention_alone(bar: ViewBar, session: Session, sent: Sent) -> None:
    tell_model(session, sent, ["decoder"])
    assert choices(box(bar, "Kind")) == ["Self-attention"]
    assert box(bar, "Kind").currentData() == session.document.view.kind == "decoder"


def test_the_four_stages_and_norms_can_be_chosen_and_are_explained(bar: ViewBar, session: Session, sent: Sent) -> None:
    tell_model(session, sent)
    stages = box(bar, "Stage")
    assert stages.count() == 5
    for at in range(stages.count()):
        choose(stages, stages.itemData(at))
        assert session.document.view.stage == stages.itemData(at)
        assert len(stages.itemData(at, Qt.ItemDataRole.ToolTipRole)) > 40
        assert stages.toolTip() == stages.itemData(at, Qt.ItemDataRole.ToolTipRole)


def test_the_side_is_asked_for_only_while_mistakes_are_on(bar: ViewBar, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    assert not box(bar, "mistaken").isVisible()
    session.change("break", mistakes=("no-scale",))
    assert box(bar, "mistaken").isVisible()
    choose(box(bar, "mistaken"), "change")
    assert session.document.view.side == "change"


def test_the_average_is_off_until_it_is_asked_for(bar: ViewBar, session: Session, sent: Sent, qtbot: QtBot) -> None:
    recorded(session, sent)
    average = bar.findChild(QCheckBox)
    assert not average.isChecked()
    qtbot.keyClick(average, Qt.Key.Key_Space)
    assert session.document.view.average
    session.undo()
    assert not average.isChecked()


def test_words_can_be_asked_for_where_values_can_be_added(
    bar: ViewBar, session: Session, sent: Sent, qtbot: QtBot
) -> None:
    recorded(session, sent)
    words = next(each for each in bar.findChildren(QCheckBox) if each.text() == "W&ords")
    assert not words.isChecked() and "rows averaged, columns summed" in words.toolTip()
    qtbot.keyClick(words, Qt.Key.Key_Space)
    assert session.document.view.words
    for stage in ("scores", "scaled", "masked"):
        session.look(stage=stage)
        assert not words.isEnabled()
    session.undo()
    assert words.isEnabled() and not words.isChecked()


def test_the_legend_has_the_colours_and_numbers_of_the_scale(bar: ViewBar, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    assert bar.legend.accessibleDescription() == "weight from 0 to 1"
    image = bar.legend.grab().toImage()
    seen = {image.pixel(x, 6) for x in range(image.width())}
    scale = scale_of("weights", "wrong", 1.0)
    assert {colour_of(0.0, scale), colour_of(1.0, scale)} <= seen


def test_the_legend_of_a_difference_is_symmetric(bar: ViewBar, session: Session, sent: Sent) -> None:
    compared(session, sent)
    assert bar.legend.accessibleDescription() == "mistaken minus correct from −1 to 1"


def test_scores_reach_as_far_as_they_do(bar: ViewBar, session: Session, sent: Sent) -> None:
    scores = weights(6, 5) * 0
    scores[1, 2, 3, 4] = -3.2
    recorded(session, sent, cross=scores, decoder=weights(6, 6) * 0, stage="scores")
    session.look(stage="scores")
    assert bar.legend.accessibleDescription() == "score from −5 to 5"


def test_it_breaks_into_rows_where_it_is_narrow(bar: ViewBar, session: Session, sent: Sent) -> None:
    compared(session, sent)
    assert bar.minimumSizeHint().width() < 320
    high = bar.heightForWidth(1200)
    assert bar.heightForWidth(330) > high > 0


def test_everything_has_a_name(bar: ViewBar) -> None:
    for each in bar.findChildren(QComboBox):
        assert each.accessibleName()
    assert bar.findChild(QCheckBox).text()
