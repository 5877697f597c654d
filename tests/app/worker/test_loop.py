"""The loop does one job after another, whatever becomes of each."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Inbox, Link
from mlxdecoder.app.worker.loop import JOBS, Loop
from mlxdecoder.errors import UserError

Do = Callable[[Link], None]


class Finite(Inbox):
    """An inbox that closes when it is empty, where the real one would wait for more."""

    def wait_for(self, holds: Callable[[], bool]) -> None:
        if not holds():
            self.close()


class Worker:
    """A loop whose jobs are written in the test; it ends when all that was asked is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told = list[Message]()
        self._patch = monkeypatch

    def job(self, kind: str, do: Do) -> None:
        self._patch.setitem(JOBS, kind, lambda engine, message, link: do(link))

    def run(self, *kinds: str) -> list[tuple[str, int]]:
        inbox = Finite()
        for run, kind in enumerate(kinds, 1):
            inbox.put(Message(kind, run))
        Loop(Engine(), inbox, self.told.append).run()
        return [(message.kind, message.run) for message in self.told]


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    return Worker(monkeypatch)


def raising(error: Exception) -> Do:
    def do(link: Link) -> None:
        raise error

    return do


def test_a_wrong_request_is_refused_in_the_words_of_the_error(worker: Worker) -> None:
    worker.job("shapes", raising(UserError("sentence: no words found in it.")))
    worker.job("cost", lambda link: link.tell("cost"))
    assert worker.run("shapes", "cost") == [("refused", 1), ("cost", 2)]
    assert worker.told[0]["message"] == "sentence: no words found in it."


def test_a_fault_of_ours_is_told_with_its_details_and_the_worker_goes_on(worker: Worker) -> None:
    worker.job("shapes", raising(ZeroDivisionError("by nothing")))
    worker.job("cost", lambda link: link.tell("cost"))
    assert worker.run("shapes", "cost") == [("broken", 1), ("cost", 2)]
    assert worker.told[0]["message"] == "ZeroDivisionError: by nothing"
    assert "Traceback" in worker.told[0]["details"] and "test_loop.py" in worker.told[0]["details"]


def test_a_file_that_cannot_be_written_is_no_fault_of_ours(worker: Worker) -> None:
    worker.job("export", raising(PermissionError(13, "Permission denied", "/no/figure.png")))
    assert worker.run("export") == [("refused", 1)]
    assert worker.told[0]["message"] == "/no/figure.png: Permission denied."


def test_what_nobody_knows_is_refused(worker: Worker) -> None:
    assert worker.run("sing") == [("refused", 1)]
    assert "'sing'" in worker.told[0]["message"]


def test_without_a_model_a_generation_is_refused(worker: Worker) -> None:
    assert worker.run("generate") == [("refused", 1)]
    assert "No model is open" in worker.told[0]["message"]


def training(link: Link) -> None:
    for _ in range(2):
        link.tell("progress")
        link.breathe()
    link.tell("trained")


def test_short_requests_are_served_between_the_steps_of_a_long_one(worker: Worker) -> None:
    worker.job("train", training)
    worker.job("shapes", lambda link: link.tell("shapes"))
    assert worker.run("train", "shapes") == [("progress", 1), ("shapes", 2), ("progress", 1), ("trained", 1)]


def test_a_long_request_waits_for_the_end_of_another(worker: Worker) -> None:
    worker.job("train", training)
    worker.job("twin", lambda link: link.tell("twinned"))
    worker.job("shapes", lambda link: link.tell("shapes"))
    told = worker.run("train", "twin", "shapes")
    assert told == [("progress", 1), ("shapes", 3), ("progress", 1), ("trained", 1), ("twinned", 2)]


def test_what_breaks_while_a_training_breathes_does_not_break_the_training(worker: Worker) -> None:
    worker.job("train", training)
    worker.job("shapes", raising(ValueError("no")))
    assert worker.run("train", "shapes") == [("progress", 1), ("broken", 2), ("progress", 1), ("trained", 1)]


def test_what_reads_files_holds_up_nothing_else(worker: Worker) -> None:
    """A disk may be slow, or never answer."""
    answers, answered = threading.Event(), threading.Event()

    def slow(link: Link) -> None:
        answers.wait(60)
        link.tell("inspected")
        answered.set()

    def quick(link: Link) -> None:
        link.tell("cost")
        answers.set()
        answered.wait(60)

    worker.job("inspect", slow)
    worker.job("cost", quick)
    assert worker.run("inspect", "cost") == [("cost", 2), ("inspected", 1)]


def test_what_goes_wrong_beside_the_others_is_told_as_well(worker: Worker) -> None:
    told = threading.Event()
    worker.job("inspect", raising(UserError("pairs.tsv: binary")))
    worker.job("cost", lambda link: told.wait(60) and None)
    worker.told = Watched(told)
    assert worker.run("inspect", "cost") == [("refused", 1)]


class Watched(list[Message]):
    """A list that tells when something is put into it."""

    def __init__(self, event: threading.Event) -> None:
        super().__init__()
        self._event = event

    def append(self, message: Message) -> None:
        super().append(message)
        self._event.set()
