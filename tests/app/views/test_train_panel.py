"""The panel that trains, driven by clicks and by what the worker tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.corpus_choice import CorpusChoice
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.train_panel import TrainPanel
from tests.app.views.teaching import answer, asked, begin, greet, nameless

Sent = list[Message]


@pytest.fixture
def panel(qtbot: QtBot, session: Session, bridge: Bridge, sent: Sent, tmp_path: Path) -> TrainPanel:
    session.runs = tmp_path / "runs"
    panel = TrainPanel(session, bridge)
    qtbot.addWidget(panel)
    panel.show()
    greet(session, sent)
    return panel


def able(panel: TrainPanel) -> set[str]:
    return {command for command, button in panel.buttons.items() if button.isEnabled()}


def texts(panel: TrainPanel) -> list[str]:
    return [label.text() for label in panel.findChildren(QLabel) if label.isVisible()]


def press(panel: TrainPanel, command: str) -> None:
    panel.buttons[command].click()


def test_start_asks_for_what_is_chosen(panel: TrainPanel, session: Session, sent: Sent, tmp_path: Path) -> None:
    panel.settings.steps.setValue(123)
    press(panel, "start")
    folder = str(tmp_path / "runs" / "toy 1")
    assert asked(sent, "train").fields == {
        "preset": "toy",
        "corpus": [],
        "validation": [],
        "columns": None,
        "languages": None,
        "header": None,
        "limit": None,
        "folder": folder,
        "steps": 123,
        "resume": False,
        "probe": session.document.probe,
        "mistakes": [],
    }


def test_the_buttons_follow_the_training(panel: TrainPanel, session: Session, sent: Sent) -> None:
    assert able(panel) == {"start"}
    press(panel, "start")
    assert able(panel) == {"pause", "stop"}
    begin(session, sent)
    answer(session, sent, "train", "saved", step=50, path="/runs/toy 1")
    press(panel, "pause")
    assert able(panel) == {"resume", "stop"}
    answer(session, sent, "train", "trained", reason="paused", step=60, path="/runs/toy 1", message="")
    assert able(panel) == {"resume", "stop", "reset", "use"}
    press(panel, "resume")
    assert able(panel) == {"pause", "stop"}
    begin(session, sent, at=60)
    press(panel, "stop")
    assert able(panel) == set()
    answer(session, sent, "train", "trained", reason="stopped", step=70, path="/runs/toy 1", message="")
    assert able(panel) == {"start", "resume", "reset", "use"}


@pytest.mark.parametrize(("command", "word"), [("pause", "Pausing"), ("stop", "Stopping")])
def test_pause_and_stop_answer_before_the_worker_does(
    panel: TrainPanel, session: Session, sent: Sent, command: str, word: str
) -> None:
    press(panel, "start")
    begin(session, sent)
    press(panel, command)
    assert any(text.startswith(word) for text in texts(panel))
    assert sent[-1] == Message(command, fields={"of": asked(sent, "train").run})


def test_a_paused_training_goes_on_in_its_folder(panel: TrainPanel, session: Session, sent: Sent) -> None:
    press(panel, "start")
    begin(session, sent, folder="/runs/of mine")
    answer(session, sent, "train", "trained", reason="paused", step=60, path="/runs/of mine", message="")
    press(panel, "resume")
    told = asked(sent, "train")
    assert (told["folder"], told["resume"], told["steps"]) == ("/runs/of mine", True, None)


def test_pausing_can_be_taken_back_before_the_worker_has_paused(
    panel: TrainPanel, session: Session, sent: Sent
) -> None:
    press(panel, "start")
    begin(session, sent)
    run = asked(sent, "train").run
    press(panel, "pause")
    press(panel, "resume")
    assert sent[-1] == Message("resume", fields={"of": run})
    assert session.training.log.state == "running"


def test_a_paused_training_that_is_stopped_is_over(panel: TrainPanel, session: Session, sent: Sent) -> None:
    press(panel, "start")
    begin(session, sent)
    answer(session, sent, "train", "trained", reason="paused", step=60, path="/runs/toy 1", message="")
    press(panel, "stop")
    assert session.training.log.state == "idle"
    assert {"start", "resume"} <= able(panel)


def test_reset_clears_the_curves_and_takes_another_folder(panel: TrainPanel, session: Session, sent: Sent) -> None:
    press(panel, "start")
    first = Path(asked(sent, "train")["folder"])
    first.mkdir(parents=True)
    begin(session, sent, folder=str(first))
    answer(session, sent, "train", "progress", first_step=1, losses=[3.0, 2.0], rate=1.0, left=1.0)
    answer(session, sent, "train", "trained", reason="stopped", step=2, path=str(first), message="")
    press(panel, "reset")
    assert session.training.log.losses == []
    assert panel.settings.folder != first
    assert able(panel) == {"start"}


def test_the_trained_model_can_be_opened(panel: TrainPanel, session: Session, sent: Sent) -> None:
    press(panel, "start")
    begin(session, sent)
    answer(session, sent, "train", "trained", reason="done", step=600, path="/runs/toy 1", message="")
    press(panel, "use")
    assert asked(sent, "open")["path"] == "/runs/toy 1"


def test_why_a_training_was_refused_stands_beside_its_buttons(panel: TrainPanel, session: Session, sent: Sent) -> None:
    press(panel, "start")
    answer(session, sent, "train", "refused", message="corpus: no pairs found in it.")
    assert "corpus: no pairs found in it." in texts(panel)
    assert able(panel) == {"start"}


def test_why_a_training_cannot_go_on_is_told_as_well(panel: TrainPanel, session: Session, sent: Sent) -> None:
    press(panel, "start")
    begin(session, sent)
    answer(session, sent, "train", "trained", reason="paused", step=60, path="/runs/toy 1", message="")
    press(panel, "resume")
    answer(session, sent, "train", "refused", message="/runs/toy 1: no run found.")
    assert "/runs/toy 1: no run found." in texts(panel)


def test_what_is_said_of_other_things_does_not_stand_there(panel: TrainPanel, session: Session, sent: Sent) -> None:
    press(panel, "start")
    begin(session, sent)
    answer(session, sent, "train", "trained", reason="done", step=600, path="/runs/toy 1", message="")
    session.say("Something else.")
    assert "Something else." not in texts(panel)


def test_a_folder_that_is_taken_is_offered_no_more(
    panel: TrainPanel, session: Session, sent: Sent, tmp_path: Path
) -> None:
    press(panel, "start")
    folder = Path(asked(sent, "train")["folder"])
    folder.mkdir(parents=True)
    begin(session, sent, folder=str(folder))
    assert panel.settings.folder == tmp_path / "runs" / "toy 2"


def test_the_buttons_stay_where_they_are(panel: TrainPanel, session: Session, sent: Sent) -> None:
    before = {name: button.geometry() for name, button in panel.buttons.items()}
    press(panel, "start")
    begin(session, sent)
    answer(session, sent, "train", "progress", first_step=1, losses=[3.0] * 60, rate=20.0, left=27.0)
    QApplication.processEvents()
    assert {name: button.geometry() for name, button in panel.buttons.items()} == before


def test_what_is_prepared_and_the_pace_are_told(panel: TrainPanel, session: Session, sent: Sent) -> None:
    press(panel, "start")
    answer(session, sent, "train", "preparing", text="Reading the text")
    assert "Reading the text" in texts(panel)
    begin(session, sent)
    answer(session, sent, "train", "progress", first_step=1, losses=[3.0] * 60, rate=20.0, left=27.0)
    assert "Training: step 60 of 600" in texts(panel)
    assert "20 steps a second, about 27 s left" in texts(panel)


def test_a_crash_of_the_worker_leaves_a_training_that_can_go_on(
    panel: TrainPanel, session: Session, sent: Sent
) -> None:
    press(panel, "start")
    begin(session, sent)
    answer(session, sent, "train", "progress", first_step=1, losses=[3.0] * 60, rate=20.0, left=27.0)
    answer(session, sent, "train", "saved", step=50, path="/runs/toy 1")
    session.worker_ended("The worker has crashed.")
    assert able(panel) == {"reset"}
    greet(session, sent)
    assert "resume" in able(panel)
    press(panel, "resume")
    assert asked(sent, "train")["resume"] is True


def test_a_folder_with_a_training_in_it_is_gone_on_with(panel: TrainPanel, sent: Sent, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "run.json").write_text("{}")
    field = next(line for line in panel.findChildren(QLineEdit) if line.accessibleName() == "Folder of the training")
    field.setText(str(old))
    assert able(panel) == {"resume"}
    press(panel, "resume")
    assert (asked(sent, "train")["folder"], asked(sent, "train")["resume"]) == (str(old), True)


def test_mistakes_that_are_on_are_trained_with_unless_one_says_no(
    panel: TrainPanel, session: Session, sent: Sent
) -> None:
    assert not panel.settings.mistaken.isVisible()
    session.change("switch on", mistakes=("no-mask",))
    assert panel.settings.mistaken.isVisible()
    press(panel, "start")
    assert asked(sent, "train")["mistakes"] == ["no-mask"]
    answer(session, sent, "train", "refused", message="no")
    panel.settings.mistaken.click()
    press(panel, "start")
    assert asked(sent, "train")["mistakes"] == []


def test_a_preset_brings_its_steps_and_can_be_taken_back(panel: TrainPanel, session: Session, qtbot: QtBot) -> None:
    panel.settings.preset.setFocus()
    qtbot.keyClick(panel.settings.preset, Qt.Key.Key_Down)
    assert (session.document.preset, panel.settings.steps.value()) == ("small", 3000)
    session.undo()
    assert (panel.settings.preset.currentText(), panel.settings.steps.value()) == ("Toy", 600)


def test_what_a_preset_is_for_and_how_long_it_takes_is_told(panel: TrainPanel, session: Session) -> None:
    assert "The toy sentences." in texts(panel)
    session.change("choose preset", preset="large")
    assert "Many sentences: a day." in texts(panel)


def test_a_folder_that_was_written_stays_when_the_preset_changes(panel: TrainPanel, session: Session) -> None:
    assert panel.settings.folder.name == "toy 1"
    session.change("choose preset", preset="large")
    assert panel.settings.folder.name == "large 1"
    field = next(line for line in panel.findChildren(QLineEdit) if line.accessibleName() == "Folder of the training")
    field.setText("/runs/of mine")
    session.change("choose preset", preset="toy")
    assert panel.settings.folder == Path("/runs/of mine")


def test_the_wheel_changes_no_choice_that_it_passes_over(panel: TrainPanel, session: Session) -> None:
    session.change("choose", corpus=CorpusChoice(("/a.tsv",)))
    for widget in (panel.settings.preset, panel.settings.steps, panel.settings.corpora.limit):
        before = session.document, panel.settings.steps.value()
        turn_wheel(widget)
        assert (session.document, panel.settings.steps.value()) == before


def turn_wheel(widget: QWidget) -> None:
    middle, none = QPointF(widget.rect().center()), Qt.KeyboardModifier.NoModifier
    place, turn = widget.mapToGlobal(middle), QPoint(0, -120)
    phase = Qt.ScrollPhase.NoScrollPhase
    event = QWheelEvent(middle, place, QPoint(), turn, Qt.MouseButton.NoButton, none, phase, False)
    QApplication.sendEvent(widget, event)


def test_the_probe_sentence_can_be_changed_and_taken_back(panel: TrainPanel, session: Session, qtbot: QtBot) -> None:
    before = session.document.probe
    panel.settings.probe.selectAll()
    qtbot.keyClicks(panel.settings.probe, "A dog runs.")
    qtbot.keyClick(panel.settings.probe, Qt.Key.Key_Return)
    assert session.document.probe == "A dog runs."
    session.undo()
    assert session.document.probe == before


@pytest.mark.parametrize(
    ("button", "field", "chosen"),
    [
        ("Choose sentences to learn from", "corpus", ["pairs.tsv"]),
        ("Choose sentences to learn from", "corpus", ["train.en", "train.de"]),
        ("Choose the folder of the training", "folder", ["run"]),
    ],
)
def test_sentences_and_folder_are_chosen_in_a_dialog(
    panel: TrainPanel, sent: Sent, tmp_path: Path, button: str, field: str, chosen: list[str]
) -> None:
    paths = [str(tmp_path / name) for name in chosen]
    next(each for each in panel.findChildren(QPushButton) if each.accessibleName() == button).click()
    dialog = panel.findChildren(QFileDialog)[0]
    dialog.fileSelected.emit(paths[0])
    dialog.filesSelected.emit(paths)
    dialog.close()
    press(panel, "start")
    assert asked(sent, "train")[field] == (paths if field == "corpus" else paths[0])


def test_no_training_is_begun_while_twins_are(panel: TrainPanel, session: Session) -> None:
    session.change("switch on", mistakes=("no-mask",))
    session.twins.begin(("no-mask",), 100)
    assert able(panel) == set()
    session.requests.cancel("twin")
    assert able(panel) == {"start"}


def drop(panel: TrainPanel, *paths: Path) -> bool:
    """Drop files on the panel; gives whether they were taken."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    action, button, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    entering = QDragEnterEvent(QPoint(5, 5), action, data, button, none)
    panel.dragEnterEvent(entering)
    if entering.isAccepted():
        panel.dropEvent(QDropEvent(QPoint(5, 5), action, data, button, none))
    return entering.isAccepted()


def test_a_dropped_file_is_what_is_learnt_from(panel: TrainPanel, sent: Sent, tmp_path: Path) -> None:
    corpus = tmp_path / "pairs.tsv"
    corpus.write_text("a\tb\n")
    assert drop(panel, corpus)
    press(panel, "start")
    assert asked(sent, "train")["corpus"] == [str(corpus)]


def test_two_files_that_are_dropped_are_the_two_sides(panel: TrainPanel, sent: Sent, tmp_path: Path) -> None:
    sides = [tmp_path / name for name in ("a.en", "a.fr", "a.de")]
    for side in sides:
        side.write_text("a\n")
    assert drop(panel, *sides[:2])
    press(panel, "start")
    assert asked(sent, "train")["corpus"] == [str(side) for side in sides[:2]]
    assert not drop(panel, *sides)


def test_sessions_and_models_that_are_dropped_are_left_to_the_window(panel: TrainPanel, tmp_path: Path) -> None:
    document = tmp_path / "work.mlxdecoder"
    document.write_text("{}")
    assert not drop(panel, document)
    assert not drop(panel, tmp_path)


def test_nothing_is_dropped_into_a_training_that_runs(panel: TrainPanel, tmp_path: Path) -> None:
    corpus = tmp_path / "pairs.tsv"
    corpus.write_text("a\tb\n")
    press(panel, "start")
    assert not drop(panel, corpus)


def test_everything_that_can_have_the_focus_has_a_name(panel: TrainPanel) -> None:
    assert nameless(panel) == []


@pytest.mark.parametrize("folder", ["x" * 300, "/a\0b", "~nobody-of-this-name/run"])
def test_a_folder_of_an_impossible_name_holds_no_run(panel: TrainPanel, folder: str) -> None:
    fields = [one for one in panel.findChildren(QLineEdit) if one.accessibleName() == "Folder of the training"]
    fields[0].setText(folder)
    assert not panel.settings.holds_run


def test_a_folder_is_proposed_also_below_one_of_an_impossible_name(
    panel: TrainPanel, session: Session, tmp_path: Path
) -> None:
    session.runs = tmp_path / ("x" * 300)
    panel.settings.propose_folder()
    assert panel.settings.folder.parent == session.runs


def test_the_same_files_can_be_chosen_here_as_in_the_menu(panel: TrainPanel) -> None:
    button = next(one for one in panel.findChildren(QPushButton) if "sentences to learn" in one.accessibleName())
    button.click()
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, QFileDialog)
    for kind in (".tsv", ".txt", ".csv", ".gz"):
        assert f"*{kind}" in dialog.nameFilters()[0]
    dialog.close()
