"""The pipe to the worker: what goes through it, and how its end is noticed, whatever way it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from mlxdecoder.app import client as client_module
from mlxdecoder.app.client import WorkerClient, worker_command
from mlxdecoder.app.protocol import Message

FAKE = [sys.executable, str(Path(__file__).parent / "fake_worker.py")]
WAIT = 20_000


@pytest.fixture
def client(qtbot: QtBot) -> Iterator[WorkerClient]:
    """A client whose worker has said that it is there."""
    made = WorkerClient(FAKE)
    with qtbot.waitSignal(made.received, timeout=WAIT):
        made.start()
    yield made
    made.shut_down()


def end_of(client: WorkerClient, qtbot: QtBot, kind: str) -> str:
    with qtbot.waitSignal(client.ended, timeout=WAIT) as ended:
        client.send(Message(kind))
    return str(ended.args[0])


def test_a_message_comes_back_as_it_went(client: WorkerClient, qtbot: QtBot) -> None:
    values = np.arange(6, dtype=np.float16).reshape(2, 3)
    with qtbot.waitSignal(client.received, timeout=WAIT) as received:
        client.send(Message("echo", 7, {"text": "猫"}, {"values": values}))
    (message,) = received.args
    assert (message.kind, message.run, message["text"]) == ("echoed", 7, "猫")
    assert message.arrays["values"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_flood_arrives_whole_and_in_order_while_the_loop_goes_on(client: WorkerClient, qtbot: QtBot) -> None:
    numbers: list[int] = []
    client.received.connect(lambda message: numbers.append(message["number"]))
    client.send(Message("flood", fields={"count": 5000}))
    qtbot.waitUntil(lambda: len(numbers) == 5000, timeout=WAIT)
    assert numbers == list(range(5000))


def test_a_worker_that_is_killed_is_reported_with_its_signal(client: WorkerClient, qtbot: QtBot) -> None:
    assert "unexpectedly (signal 9)" in end_of(client, qtbot, "die")
    assert not client.running
    assert client.pid == 0


def test_a_worker_that_leaves_without_being_asked_is_reported_with_its_status(
    client: WorkerClient, qtbot: QtBot
) -> None:
    assert "unexpectedly (exit status 3)" in end_of(client, qtbot, "leave")


def test_what_a_worker_complained_of_is_kept(client: WorkerClient, qtbot: QtBot) -> None:
    end_of(client, qtbot, "complain")
    assert "it hurts" in client.errors


def test_a_worker_that_babbles_is_ended(client: WorkerClient, qtbot: QtBot) -> None:
    assert "cannot be understood" in end_of(client, qtbot, "babble")


def test_after_the_end_nothing_that_is_sent_does_harm_and_a_new_worker_can_be_started(
    client: WorkerClient, qtbot: QtBot
) -> None:
    end_of(client, qtbot, "die")
    client.send(Message("echo"))
    with qtbot.waitSignal(client.received, timeout=WAIT) as received:
        client.start()
    assert received.args[0].kind == "welcome"


def test_a_program_that_is_not_there_is_reported(qtbot: QtBot) -> None:
    client = WorkerClient(["/nowhere/worker"])
    with qtbot.waitSignal(client.ended, timeout=WAIT) as ended:
        client.start()
    assert "could not be started" in ended.args[0]


def test_stopping_ends_the_worker_without_reproach(client: WorkerClient, qtbot: QtBot) -> None:
    with qtbot.waitSignal(client.ended, timeout=WAIT) as ended:
        client.stop()
    assert ended.args == [""]


def test_a_worker_that_hears_nothing_is_ended_all_the_same(
    client: WorkerClient, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "PATIENCE", 50)
    monkeypatch.setattr(client_module, "INSISTENCE", 50)
    with qtbot.waitSignal(client.received, timeout=WAIT):
        client.send(Message("deafen"))
    with qtbot.waitSignal(client.ended, timeout=WAIT):
        client.stop()
    assert not client.running


def test_restarting_gives_another_process(client: WorkerClient, qtbot: QtBot) -> None:
    before = client.pid
    with qtbot.waitSignal(client.received, timeout=WAIT) as received:
        client.restart()
    assert received.args[0].kind == "welcome"
    assert client.pid not in (0, before)


def test_shutting_down_waits_for_a_worker_that_saves(client: WorkerClient, qtbot: QtBot, tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    with qtbot.waitSignal(client.received, timeout=WAIT):
        client.send(Message("linger", fields={"path": str(place)}))
    client.shut_down()
    assert place.read_text() == "saved"


def test_in_a_bundle_the_worker_is_the_same_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/Applications/mlxdecoder")
    assert worker_command() == ["/Applications/mlxdecoder", "--worker"]
