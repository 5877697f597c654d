"""The catalogue as toggles, the sign that something is on, and the way back."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.break_panel import BreakPanel
from mlxdecoder.app.views.broken_banner import BrokenBanner
from tests.app.views.teaching import answer, asked, greet, nameless

Sent = list[Message]


@pytest.fixture
def panel(qtbot: QtBot, session: Session, bridge: Bridge, sent: Sent) -> BreakPanel:
    panel = BreakPanel(session, bridge)
    qtbot.addWidget(panel)
    panel.resize(380, 700)
    panel.show()
    greet(session, sent)
    return panel


def item(panel: BreakPanel, name: str) -> QTreeWidgetItem:
    return next(item for item in panel.tree.items() if item.data(0, Qt.ItemDataRole.UserRole) == name)


def toggle(panel: BreakPanel, qtbot: QtBot, name: str) -> None:
    """Go to an entry and press the space bar."""
    panel.tree.setCurrentItem(item(panel, name))
    panel.tree.setFocus()
    qtbot.keyClick(panel.tree, Qt.Key.Key_Space)


def checked(panel: BreakPanel) -> list[str]:
    on = Qt.CheckState.Checked
    return [item.data(0, Qt.ItemDataRole.UserRole) for item in panel.tree.items() if item.checkState(0) == on]


def shown(panel: BreakPanel) -> list[str]:
    return [item.text(0) for item in panel.tree.items() if not item.isHidden()]


def test_mistakes_are_grouped_by_stage_and_harmless_ones_stand_apart(panel: BreakPanel) -> None:
    groups = [panel.tree.topLevelItem(place) for place in range(panel.tree.topLevelItemCount())]
    named = {
        group.text(0): [group.child(place).text(0) for place in range(group.childCount())] for group in groups if group
    }
    assert named == {
        "Mask": ["Off by one", "No mask"],
        "Softmax": ["Over queries"],
        "Labels": ["Unshifted"],
        "Cache": ["Position zero"],
        "Looks wrong, is not": ["Renormalised"],
    }


def test_a_toggle_switches_on_and_generates_anew(panel: BreakPanel, session: Session, sent: Sent, qtbot: QtBot) -> None:
    toggle(panel, qtbot, "no-mask")
    assert session.document.mistakes == ("no-mask",)
    generated = [message["mistakes"] for message in sent if message.kind == "generate"][-2:]
    assert generated == [["no-mask"], []]  # and beside it without


def test_any_combination_can_be_on_in_the_order_of_the_catalogue(
    panel: BreakPanel, session: Session, qtbot: QtBot
) -> None:
    for name in ("over-queries", "off-by-one", "renormalised"):
        toggle(panel, qtbot, name)
    assert session.document.mistakes == ("off-by-one", "renormalised", "over-queries")


def test_toggles_are_undone_and_redone(panel: BreakPanel, session: Session, qtbot: QtBot) -> None:
    toggle(panel, qtbot, "no-mask")
    toggle(panel, qtbot, "over-queries")
    assert session.history.undoable == "switch on: Over queries"
    session.undo()
    assert checked(panel) == ["no-mask"]
    session.undo()
    assert checked(panel) == []
    session.redo()
    assert checked(panel) == ["no-mask"]


def test_the_search_finds_all_words_in_title_stage_or_code(panel: BreakPanel, qtbot: QtBot) -> None:
    qtbot.keyClicks(panel.search, "softmax QUERIES over")
    assert shown(panel) == ["Over queries"]
    panel.search.setText("scores as")
    assert shown(panel) == ["No mask"]
    panel.search.setText("nothing of the kind")
    assert any("No mistake has all of" in label.text() for label in panel.findChildren(QLabel) if label.isVisible())
    panel.search.clear()
    assert len(shown(panel)) == 6


def test_the_search_does_not_give_an_effect_away(panel: BreakPanel) -> None:
    panel.search.setText("answer about")
    assert shown(panel) == []


def test_where_a_mistake_shows_stands_beside_it(panel: BreakPanel) -> None:
    assert item(panel, "unshifted").text(1) == "training"
    assert item(panel, "position-zero").text(1) == "generating"
    assert item(panel, "no-mask").text(1) == ""


def test_the_card_follows_the_arrow_keys(panel: BreakPanel, qtbot: QtBot) -> None:
    panel.tree.setCurrentItem(item(panel, "off-by-one"))
    qtbot.keyClick(panel.tree, Qt.Key.Key_Down)
    assert panel.card.entry is not None
    assert panel.card.entry.id == "no-mask"


def test_long_titles_are_wrapped_not_cut(panel: BreakPanel, session: Session, sent: Sent) -> None:
    from tests.app.views.teaching import entry

    long = entry("a-title-that-is-much-too-long-for-one-line-of-a-panel-of-this-width")
    session.receive(Message("welcome", fields={"catalogue": [long, entry("short")], "presets": []}))
    QApplication.processEvents()
    heights = [panel.tree.visualItemRect(each).height() for each in panel.tree.items()]
    assert heights[0] > 1.5 * heights[1]


def test_the_banner_names_what_is_on_and_leads_back(
    panel: BreakPanel, session: Session, bridge: Bridge, qtbot: QtBot
) -> None:
    banner = BrokenBanner(session, bridge, panel)
    assert not banner.isVisible()
    toggle(panel, qtbot, "no-mask")
    toggle(panel, qtbot, "over-queries")
    assert banner.isVisible()
    assert any("No mask; Over queries" in label.text() for label in banner.findChildren(QLabel))
    banner.back.click()
    assert not banner.isVisible()
    assert checked(panel) == []
    session.undo()
    assert checked(panel) == ["no-mask", "over-queries"]


def test_of_a_mistake_that_does_not_concern_the_model_it_is_said_why(
    panel: BreakPanel, session: Session, bridge: Bridge, qtbot: QtBot, sent: Sent
) -> None:
    from tests.app.views.teaching import MODEL, entry

    told = [entry("stale", concerns=["translator"]), entry("no-mask")]
    session.receive(Message("welcome", fields={"catalogue": told, "presets": []}))
    answer(session, sent, "open", "model", **MODEL)
    banner = BrokenBanner(session, bridge, panel)
    for name in ("stale", "no-mask"):
        toggle(panel, qtbot, name)
    assert any(label.text().endswith(": Stale; No mask") for label in banner.findChildren(QLabel))
    session.open_model("/models/llama")
    answer(session, sent, "open", "model", **{**MODEL, "architecture": "language_model", "kinds": ["decoder"]})
    (said,) = [label.text() for label in banner.findChildren(QLabel) if "Stale" in label.text()]
    assert "Stale (not applicable: a language model has neither a source nor cross-attention); No mask" in said
    panel.card.show_entry("stale")
    assert any(label.text().startswith("Not applicable: a lang") for label in panel.card.findChildren(QLabel))


def test_a_banner_that_nobody_has_placed_yet_opens_no_window(session: Session, bridge: Bridge, qtbot: QtBot) -> None:
    session.change("switch on", mistakes=("of another version",))
    banner = BrokenBanner(session, bridge)
    qtbot.addWidget(banner)
    session.change("switch on", mistakes=("of another version", "and another"))
    assert not banner.isVisible()


def test_a_mistake_that_the_catalogue_does_not_know_is_kept_and_can_be_left(
    panel: BreakPanel, session: Session, qtbot: QtBot
) -> None:
    session.change("open", mistakes=("of-another-version",))
    toggle(panel, qtbot, "no-mask")
    assert session.document.mistakes == ("of-another-version", "no-mask")


def test_without_a_worker_toggles_are_kept_for_later(
    panel: BreakPanel, session: Session, sent: Sent, qtbot: QtBot
) -> None:
    session.worker_ended("gone")
    before = len(sent)
    toggle(panel, qtbot, "no-mask")
    assert session.document.mistakes == ("no-mask",)
    assert len(sent) == before


def test_a_suspect_leads_to_its_card(panel: BreakPanel, session: Session, sent: Sent, qtbot: QtBot) -> None:
    panel.search.setText("softmax")
    panel.tabs.setCurrentIndex(2)
    panel.diagnose_button.click()
    suspects = [{"id": "no-mask", "title": "No mask", "why": "90% alike"}]
    answer(session, sent, "diagnose", "diagnosis", holds=False, text="T1 fails", suspects=suspects)
    with qtbot.waitSignal(panel.wanted):
        panel.diagnosis.card.click()
    assert panel.card.entry is not None
    assert (panel.card.entry.id, panel.tabs.currentIndex()) == ("no-mask", 0)
    assert not item(panel, "no-mask").isHidden()


def test_a_diagnosis_is_of_the_model_with_what_is_on(
    panel: BreakPanel, session: Session, sent: Sent, qtbot: QtBot
) -> None:
    toggle(panel, qtbot, "no-mask")
    panel.diagnose_button.click()
    assert asked(sent, "diagnose")["mistakes"] == ["no-mask"]
    assert panel.diagnosis.isVisible()
    assert not panel.diagnosis.isModal()
    answer(session, sent, "diagnose", "diagnosis", holds=True, text="all hold", suspects=[])
    assert panel.diagnosis.report.toPlainText() == "all hold"
    toggle(panel, qtbot, "no-mask")
    assert any("has changed since" in label.text() for label in panel.diagnosis.findChildren(QLabel))


def test_a_diagnosis_that_was_asked_for_elsewhere_is_shown_too(panel: BreakPanel, session: Session, sent: Sent) -> None:
    session.requests.ask("diagnose", mistakes=[])
    assert panel.diagnosis.isVisible()
    answer(session, sent, "diagnose", "diagnosis", holds=False, text="T1 fails", suspects=[])
    assert panel.diagnosis.report.toPlainText() == "T1 fails"


def test_a_diagnosis_that_is_refused_says_why(panel: BreakPanel, session: Session, sent: Sent) -> None:
    panel.diagnose_button.click()
    answer(session, sent, "diagnose", "refused", message="No model is open.")
    assert any("No model is open." in label.text() for label in panel.diagnosis.findChildren(QLabel))


def test_everything_that_can_have_the_focus_has_a_name(panel: BreakPanel, qtbot: QtBot) -> None:
    toggle(panel, qtbot, "no-mask")
    panel.diagnose_button.click()
    assert nameless(panel) + nameless(panel.diagnosis) == []
