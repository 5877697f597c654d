"""The generation of a session: what is asked and taken in, and what the heatmaps turn to when a mistake is on."""

from __future__ import annotations

import numpy as np
import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.views.switching import switch
from tests.app.session.desk import MODEL, Desk, opened


@pytest.fixture
def desk() -> Desk:
    return opened()


def test_what_a_stale_run_tells_is_not_listened_to(desk: Desk) -> None:
    stale = desk.newest("generate").run
    desk.session.generation.begin()
    desk.session.receive(Message("source", stale, {"tokens": ["old"], "begin": "<s>"}))
    assert desk.session.generation.recordings["wrong"].source == ()


def test_with_a_mistake_both_sides_are_generated_and_compared(desk: Desk) -> None:
    desk.session.change("break", mistakes=("no-scale",))
    desk.session.generation.begin()
    asked = [message["mistakes"] for message in desk.sent if message.kind == "generate"][-2:]
    assert asked == [["no-scale"], []]
    assert desk.newest("compare")["mistakes"] == ["no-scale"]


def test_a_comparison_that_is_refused_leaves_the_pictures_of_the_generation(desk: Desk) -> None:
    desk.session.change("break", mistakes=("no-scale",))
    desk.session.generation.begin()
    desk.answer("refused", "compare", message="This model cannot be compared.")
    assert desk.session.notice == "" and not desk.session.generation.reads_at_once


def test_a_comparison_that_breaks_is_told(desk: Desk) -> None:
    desk.session.change("break", mistakes=("no-scale",))
    desk.session.generation.begin()
    desk.answer("broken", "compare", message="The worker made a mistake.", details="")
    assert desk.session.notice == "The worker made a mistake."


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
    assert desk.session.generation.reads_at_once
    wrong, change = desk.session.generation.picture("wrong"), desk.session.generation.picture("change")
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
    desk.session.generation.begin()
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
    assert not desk.session.generation.reads_at_once


def test_what_was_refused_is_no_longer_said_once_something_else_is_asked(desk: Desk) -> None:
    desk.session.generation.begin()
    desk.answer("refused", "generate", message="text: give it ids, such as 5 6 7.")
    assert desk.session.notice
    desk.session.change("change the sentence", sentence="5 6 7")
    desk.session.generation.begin()
    assert desk.session.notice == ""


def test_what_was_said_of_something_else_stays(desk: Desk) -> None:
    desk.session.open_model("/nowhere")
    desk.answer("refused", "open", message="/nowhere: no such folder.")
    desk.session.generation.begin()
    assert desk.session.notice == "/nowhere: no such folder."
