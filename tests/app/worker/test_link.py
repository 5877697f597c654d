"""How requests wait for their turn, and how what runs is stopped, paused and held back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.link import Inbox, Link

PATIENCE = 20.0


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def told() -> list[Message]:
    return []


def control(inbox: Inbox, kind: str, of: int) -> None:
    inbox.put(Message(kind, fields={"of": of}))


def link_of(inbox: Inbox, told: list[Message], kind: str = "generate", serve: Callable[[], None] | None = None) -> Link:
    inbox.put(Message(kind, 1))
    assert inbox.next() is not None
    return Link(1, inbox, told.append, serve)


@contextmanager
def blocked(call: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """A call in another thread; what is given waits for it to return."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()

    def returns() -> bool:
        thread.join(PATIENCE)
        return not thread.is_alive()

    yield returns
    assert returns()


def test_requests_have_their_turn_in_the_order_in_which_they_came(inbox: Inbox) -> None:
    for run in (1, 2, 3):
        inbox.put(Message("generate", run))
    assert [message.run for _ in range(3) if (message := inbox.next())] == [1, 2, 3]


def test_a_short_request_that_is_stopped_before_its_turn_is_passed_over(inbox: Inbox) -> None:
    inbox.put(Message("generate", 1))
    inbox.put(Message("generate", 2))
    control(inbox, "stop", 1)
    message = inbox.next()
    assert message is not None and message.run == 2


def test_the_inbox_goes_on_waiting_when_all_that_waited_was_stopped(inbox: Inbox) -> None:
    inbox.put(Message("generate", 1))
    control(inbox, "stop", 1)
    taken: list[Message | None] = []
    done = threading.Event()
    with blocked(lambda: (taken.append(inbox.next()), done.set())[0]):
        assert not done.wait(0.05)
        inbox.put(Message("generate", 2))
    assert [message and message.run for message in taken] == [2]


def test_a_training_that_is_stopped_before_its_turn_still_has_one_to_say_so(inbox: Inbox) -> None:
    inbox.put(Message("train", 1))
    control(inbox, "stop", 1)
    message = inbox.next()
    assert message is not None and message.run == 1
    assert Link(1, inbox, lambda sent: None).stopped()


def test_long_requests_wait_while_short_ones_are_let_in(inbox: Inbox) -> None:
    inbox.put(Message("train", 1))
    inbox.put(Message("shapes", 2))
    message = inbox.next_short()
    assert message is not None and message.run == 2
    assert inbox.next_short() is None
    assert inbox.has_saving() and not inbox.has_short()


def test_a_stop_reaches_the_run_that_is_meant_and_no_other(inbox: Inbox, told: list[Message]) -> None:
    link = link_of(inbox, told)
    control(inbox, "stop", 2)
    assert not link.stopped()
    control(inbox, "stop", 1)
    assert link.stopped()


def test_what_controls_an_unknown_run_is_of_no_consequence(inbox: Inbox) -> None:
    for kind in ("stop", "pause", "resume", "seen"):
        control(inbox, kind, 99)
        inbox.put(Message(kind))
    inbox.put(Message("generate", 99))
    message = inbox.next()
    assert message is not None and not Link(99, inbox, lambda sent: None).stopped()


def test_a_run_that_was_answered_is_forgotten(inbox: Inbox, told: list[Message]) -> None:
    link = link_of(inbox, told)
    inbox.forget(1)
    assert link.stopped() and not inbox.has_saving()


def test_everything_is_stopped_when_nobody_is_there_any_more(inbox: Inbox, told: list[Message]) -> None:
    link = link_of(inbox, told)
    inbox.put(Message("generate", 2))
    inbox.put(Message("quit"))
    assert link.stopped() and inbox.next() is None and inbox.next_short() is None


@pytest.mark.parametrize(("kind", "saves"), [("export", True), ("train", True), ("twin", True), ("generate", False)])
def test_what_saves_is_given_time_at_the_end(inbox: Inbox, told: list[Message], kind: str, saves: bool) -> None:
    link_of(inbox, told, kind)
    inbox.close()
    assert inbox.has_saving() == saves


def test_an_export_goes_on_when_nobody_is_there_any_more_unless_it_is_stopped(
    inbox: Inbox, told: list[Message]
) -> None:
    link = link_of(inbox, told, "export")
    control(inbox, "stop", 2)
    inbox.close()
    assert not link.stopped()
    control(inbox, "stop", 1)
    assert link.stopped()


def test_the_inbox_blocks_until_something_comes_or_it_is_closed(inbox: Inbox) -> None:
    taken: list[Message | None] = []
    with blocked(lambda: taken.append(inbox.next())):
        inbox.put(Message("shapes", 4))
    with blocked(lambda: taken.append(inbox.next())):
        inbox.close()
    assert [message and message.run for message in taken] == [4, None]


def test_what_is_told_carries_its_run_its_fields_and_its_arrays(inbox: Inbox, told: list[Message]) -> None:
    weights = np.ones(3, np.float32)
    link_of(inbox, told).tell("token", {"weights": weights}, kind="cross", step=4)
    assert (told[0].kind, told[0].run, told[0].fields) == ("token", 1, {"kind": "cross", "step": 4})
    assert told[0].arrays["weights"] is weights


def test_of_a_stopped_run_only_the_last_words_are_told(inbox: Inbox, told: list[Message]) -> None:
    link = link_of(inbox, told)
    control(inbox, "stop", 1)
    for kind in ("token", "progress", "saved", "trained", "generated", "shapes"):
        link.tell(kind)
    assert [message.kind for message in told] == ["saved", "trained", "generated"]


@pytest.mark.parametrize("end", ["seen", "stop", "quit"])
def test_a_run_waits_until_enough_of_its_frames_were_seen_or_it_is_to_end(
    inbox: Inbox, told: list[Message], end: str
) -> None:
    link = link_of(inbox, told)
    for _ in range(4):
        link.wait_for_room(most=3)
        link.tell("token")
    done = threading.Event()
    with blocked(lambda: (link.wait_for_room(most=3), done.set())[0]):
        control(inbox, "seen", 2)  # of another run
        assert not done.wait(0.05)
        control(inbox, end, 1)


@pytest.mark.parametrize("end", ["resume", "stop", "quit"])
def test_a_paused_run_waits_until_it_is_to_go_on_or_to_end(inbox: Inbox, told: list[Message], end: str) -> None:
    link = link_of(inbox, told, "train")
    link.wait_while_paused()
    control(inbox, "pause", 1)
    assert link.paused()
    done = threading.Event()
    with blocked(lambda: (link.wait_while_paused(), done.set())[0]):
        assert not done.wait(0.05)
        control(inbox, end, 1)
    assert link.stopped() == (end != "resume")


def test_a_paused_training_serves_the_others_meanwhile(inbox: Inbox, told: list[Message]) -> None:
    served: list[int] = []

    def serve() -> None:
        while message := inbox.next_short():
            served.append(message.run)
            control(inbox, "resume", 1)

    link = link_of(inbox, told, "train", serve)
    control(inbox, "pause", 1)
    with blocked(link.wait_while_paused):
        inbox.put(Message("generate", 2))
    assert served == [2]


def test_a_short_run_lets_nobody_in(inbox: Inbox, told: list[Message]) -> None:
    link = link_of(inbox, told)
    inbox.put(Message("generate", 2))
    link.breathe()
    assert inbox.has_short()
