"""What the views are told, and when."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session


def told_by(bridge: Bridge) -> list[str]:
    told: list[str] = []
    bridge.changed.connect(told.append)
    return told


def test_without_a_pause_every_token_is_told_at_once(session: Session) -> None:
    bridge = Bridge(session)
    told, later = told_by(bridge), told_by(bridge.later(17))
    for _ in range(3):
        bridge._tell("token")
    assert told == ["token"] * 3 and later == []


def test_a_crowd_of_tokens_is_told_twice_the_first_at_once_and_the_last_after_the_pause(
    session: Session, qtbot: QtBot
) -> None:
    bridge = Bridge(session, pause=20)
    told = told_by(bridge)
    for _ in range(50):
        bridge._tell("token")
    assert told == ["token"]
    qtbot.waitUntil(lambda: len(told) == 2)


def test_other_topics_do_not_wait(session: Session, qtbot: QtBot) -> None:
    bridge = Bridge(session, pause=20).later(10)
    told = told_by(bridge)
    bridge._tell("token")
    bridge._tell("recording")
    assert told == ["recording"]
    qtbot.waitUntil(lambda: told == ["recording", "token"])
