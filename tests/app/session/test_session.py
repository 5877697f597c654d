"""The session as the window uses it: what is asked, what is taken in, what is undone, and what is never lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.document import Document
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.switching import switch

MODEL: dict[str, Any] = {
    "name": "toy",
    "path": None,
    "fingerprint": "f00",
    "architecture": "translator",
    "layers": 2,
    "encoder_layers": 2,
    "heads": 4,
    "kv_heads": 4,
    "width": 64,
    "vocab": 900,
    "parameters": 1,
    "kinds": ["encoder", "decoder", "cross"],
}


class Desk:
    """A session and what it has sent."""

    def __init__(self, document: Document | None = None) -> None:
        self.sent: list[Message] = []
        self.session = Session(self.sent.append, document)
        self.session.receive(Message("welcome", fields={"catalogue": [], "presets": [], "device": "cpu"}))

    def newest(self, kind: str) -> Message:
        return next(message for message in reversed(self.sent) if message.kind == kind)

    def answer(self, kind: str, to: str, **fields: Any) -> None:
        self.session.receive(Message(kind, self.newest(to).run, fields))


@pytest.fixture
def desk() -> Desk:
    found = Desk()
    found.answer("model", "open", **MODEL)
    return found


@pytest.fixture
def run(tmp_path: Path) -> dict[str, Any]:
    """A training that has saved something."""
    (tmp_path / "run.json").write_text("{}")
    return {"preset": "toy", "folder": str(tmp_path), "steps": 10, "probe": "", "mistakes": []}


def test_the_first_model_is_opened_generated_with_and_leaves_nothing_to_undo(desk: Desk) -> None:
    assert desk.newest("generate")["sentence"] == desk.session.document.sentence
    assert desk.session.history.undoable is None and not desk.session.history.modified


def test_what_a_stale_run_tells_is_not_listened_to(desk: Desk) -> None:
    stale = desk.newest("generate").run
    desk.session.generate()
    desk.session.receive(Message("source", stale, {"tokens": ["old"], "begin": "<s>"}))
    assert desk.session.recordings["wrong"].source == ()


def test_undo_brings_a_sentence_back_and_generates_with_it(desk: Desk) -> None:
    before = desk.session.document.sentence
    desk.session.change("change the sentence", sentence="The dog eats.")
    desk.session.undo()
    assert desk.session.document.sentence == before
    assert desk.newest("generate")["sentence"] == before
    desk.session.redo()
    assert desk.newest("generate")["sentence"] == "The dog eats."


def test_looking_elsewhere_generates_nothing(desk: Desk) -> None:
    count = len(desk.sent)
    desk.session.look(kind="encoder")
    desk.session.undo()
    assert len(desk.sent) == count


def test_with_a_mistake_both_sides_are_generated_and_compared(desk: Desk) -> None:
    desk.session.change("break", mistakes=("no-scale",))
    desk.session.generate()
    asked = [message["mistakes"] for message in desk.sent if message.kind == "generate"][-2:]
    assert asked == [["no-scale"], []]
    assert desk.newest("compare")["mistakes"] == ["no-scale"]


def test_a_comparison_that_is_refused_leaves_the_pictures_of_the_generation(desk: Desk) -> None:
    desk.session.change("break", mistakes=("no-scale",))
    desk.session.generate()
    desk.answer("refused", "compare", message="This model cannot be compared.")
    assert desk.session.notice == "" and not desk.session.reads_at_once


def test_a_comparison_that_breaks_is_told(desk: Desk) -> None:
    desk.session.change("break", mistakes=("no-scale",))
    desk.session.generate()
    desk.answer("broken", "compare", message="The worker made a mistake.", details="")
    assert desk.session.notice == "The worker made a mistake."


def test_a_model_that_cannot_be_opened_changes_nothing(desk: Desk) -> None:
    desk.session.change("force a token", forced={2: 50})
    before = desk.session.document
    desk.session.open_model("/no/such/model")
    desk.answer("refused", "open", message="/no/such/model: no such folder.")
    assert desk.session.document == before
    assert desk.session.history.undoable == "force a token" and desk.session.history.redoable is None


def test_a_session_whose_model_is_gone_keeps_its_name_until_it_is_saved_anew() -> None:
    kept = Document(model="/a/model/on/another/disk", fingerprint="abc", forced={1: 7})
    desk = Desk(kept)
    desk.answer("refused", "open", message="/a/model/on/another/disk: no such folder.")
    assert desk.newest("open")["path"] is None
    assert desk.session.history.saved == kept and desk.session.history.modified
    desk.answer("model", "open", **MODEL)
    assert desk.newest("generate")["forced"] == {}
    desk.session.undo()
    assert desk.session.document.model == kept.model


def test_a_training_that_dies_before_it_says_that_it_saved_can_go_on(desk: Desk, run: dict[str, Any]) -> None:
    desk.session.train(**run)
    desk.answer("training", "train", steps=10, folder=run["folder"], at=0)
    desk.session.worker_ended("The worker has stopped unexpectedly.")
    assert desk.session.training.state == "idle"
    assert desk.session.interrupted == {**run, "resume": True} == desk.session.unfinished


def test_a_training_that_has_saved_nothing_cannot_go_on(desk: Desk, tmp_path: Path) -> None:
    desk.session.train(preset="toy", folder=str(tmp_path / "none"), steps=10, probe="", mistakes=[])
    desk.session.worker_ended("The worker has stopped unexpectedly.")
    assert desk.session.interrupted is None


@pytest.mark.parametrize("how", ["dies", "is refused"])
def test_going_on_can_be_tried_again(desk: Desk, run: dict[str, Any], how: str) -> None:
    desk.session.interrupted = {**run, "resume": True}
    desk.session.go_on_training()
    if how == "dies":
        desk.session.worker_ended("The worker has stopped unexpectedly.")
    else:
        desk.answer("refused", "train", message="pairs.tsv: no such file.")
    assert desk.session.interrupted == {**run, "resume": True} == desk.session.unfinished


def test_what_goes_on_is_no_longer_interrupted(desk: Desk, run: dict[str, Any]) -> None:
    desk.session.interrupted = {**run, "resume": True}
    desk.session.go_on_training()
    desk.answer("training", "train", steps=10, folder=run["folder"], at=5)
    assert desk.session.interrupted is None and desk.session.training.state == "running"


@pytest.mark.parametrize("command", ["pause", "stop"])
def test_pause_and_stop_answer_at_once(desk: Desk, run: dict[str, Any], command: Any) -> None:
    desk.session.train(**run)
    desk.session.control_training(command)
    assert desk.session.training.state == {"pause": "pausing", "stop": "stopping"}[command]
    assert desk.newest(command)["of"] == desk.newest("train").run


def compared(desk: Desk, changed: str, leaks: str = "") -> None:
    """The answer to a comparison in which one kind of attention differs, and one has weight outside its mask."""
    arrays = {}
    for kind in MODEL["kinds"]:
        right = np.full((2, 4, 3, 3), 1 / 3, np.float32)
        arrays |= {f"{kind}.right": right, f"{kind}.wrong": right * (0.5 if kind == changed else 1)}
        arrays[f"{kind}.intended"] = np.tri(3, dtype=bool) if kind == leaks else np.ones((3, 3), bool)
    tokens = {kind: ["a", "b", "c"] for kind in MODEL["kinds"]}
    fields = {"queries": tokens, "keys": tokens, "how": "read at once", "translations": ["", ""], "notes": []}
    run = desk.newest("compare").run
    desk.session.receive(Message("compared", run, {"first_difference": None, **fields}, arrays))


def test_switching_a_mistake_on_turns_to_where_it_shows(desk: Desk) -> None:
    desk.session.look(kind="cross", stage="norms", at_once=False)
    switch(desk.session, "no-causal-mask", True)
    compared(desk, "decoder")
    view = desk.session.document.view
    assert (view.kind, view.stage, view.at_once) == ("decoder", "weights", True)
    assert desk.session.reads_at_once
    wrong, change = desk.session.picture("wrong"), desk.session.picture("change")
    assert wrong is not None and change is not None
    np.testing.assert_allclose(wrong.values, 1 / 6)
    np.testing.assert_allclose(change.values, -1 / 6)


def test_weight_outside_the_mask_goes_before_what_it_changes_elsewhere(desk: Desk) -> None:
    switch(desk.session, "no-causal-mask", True)
    compared(desk, "cross", leaks="decoder")
    assert desk.session.document.view.kind == "decoder"


def test_once_turned_to_a_mistake_one_may_look_elsewhere(desk: Desk) -> None:
    switch(desk.session, "no-causal-mask", True)
    compared(desk, "decoder")
    desk.session.look(kind="cross")
    desk.session.generate()
    compared(desk, "decoder")
    assert desk.session.document.view.kind == "cross"


def test_a_mistake_that_shows_where_one_looks_moves_nothing(desk: Desk) -> None:
    desk.session.look(kind="encoder")
    switch(desk.session, "no-scale", True)
    compared(desk, "encoder")
    assert desk.session.document.view.kind == "encoder"


def test_other_stages_are_shown_step_by_step(desk: Desk) -> None:
    switch(desk.session, "no-scale", True)
    compared(desk, "decoder")
    desk.session.look(stage="scores")
    assert not desk.session.reads_at_once


def test_the_head_is_kept_when_the_kind_changes_and_the_layer_as_far_as_there_is_one(desk: Desk) -> None:
    desk.session.look(kind="cross", layer=1, head=2)
    desk.session.look(kind="encoder")
    desk.session.look(kind="cross")
    view = desk.session.document.view
    assert (view.layer, view.head) == (1, 2)
    desk.session.look(layer=7)
    assert desk.session.document.view.layer == 1


def test_what_was_refused_is_no_longer_said_once_something_else_is_asked(desk: Desk) -> None:
    desk.session.generate()
    desk.answer("refused", "generate", message="text: give it ids, such as 5 6 7.")
    assert desk.session.notice
    desk.session.change("change the sentence", sentence="5 6 7")
    desk.session.generate()
    assert desk.session.notice == ""


def test_what_was_said_of_something_else_stays(desk: Desk) -> None:
    desk.session.open_model("/nowhere")
    desk.answer("refused", "open", message="/nowhere: no such folder.")
    desk.session.generate()
    assert desk.session.notice == "/nowhere: no such folder."
