"""The session as the window uses it: what is opened, what is undone, and what is never lost."""

from __future__ import annotations

import pytest

from mlxdecoder.app.session.document import Document
from tests.app.session.desk import MODEL, Desk, opened


@pytest.fixture
def desk() -> Desk:
    return opened()


def test_the_first_model_is_opened_generated_with_and_leaves_nothing_to_undo(desk: Desk) -> None:
    assert desk.newest("generate")["sentence"] == desk.session.document.sentence
    assert desk.session.history.undoable is None and not desk.session.history.modified


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


def test_the_head_is_kept_when_the_kind_changes_and_the_layer_as_far_as_there_is_one(desk: Desk) -> None:
    desk.session.look(kind="cross", layer=1, head=2)
    desk.session.look(kind="encoder")
    desk.session.look(kind="cross")
    view = desk.session.document.view
    assert (view.layer, view.head) == (1, 2)
    desk.session.look(layer=7)
    assert desk.session.document.view.layer == 1
