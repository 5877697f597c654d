"""What the command would not translate, for its length, is not read in the app either, and the window says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.document import Document
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.sentence_bar import SentenceBar
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Inbox
from mlxdecoder.app.worker.loop import Loop
from mlxdecoder.errors import UserError
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import load
from tests.app.worker.asking import ask, engine_with, generate, untrained

MOST = 512
WORDS = "not translated, for it has more pieces than 512, or than the model can read; cut it up"


class Worker(Inbox):
    """A worker in this process: whatever was asked is answered when the test wants it."""

    def wait_for(self, holds: Callable[[], bool]) -> None:
        if not holds():
            self.close()

    def answer(self, engine: Engine, session: Session) -> None:
        self.closed = False
        Loop(engine, self, session.receive).run()


def cats(number: int) -> str:
    """A sentence of so many pieces."""
    return " ".join(["cat"] * number)


def learned(longest: int) -> Checkpoint:
    return untrained(positions="learned", max_length=longest)


@pytest.mark.parametrize("mistakes", [(), ("no-causal-mask",)])
def test_the_window_says_so_in_the_words_of_the_command(
    run: Callable[..., tuple[int, str, str]], mistakes: tuple[str, ...], qtbot: QtBot
) -> None:
    worker = Worker()
    session = Session(worker.put, Document(sentence=cats(MOST + 1), mistakes=mistakes))
    bar = SentenceBar(session, Bridge(session))
    qtbot.addWidget(bar)
    session.receive(Message("welcome", fields={"catalogue": [], "presets": [], "device": "cpu"}))
    worker.answer(Engine(), session)
    assert WORDS in bar.status.text() and bar.translation.toPlainText() == ""
    assert not session.requests.busy()
    assert WORDS in run("translate", cats(MOST + 1))[2]


@pytest.mark.parametrize(("make", "most"), [(load, MOST), (lambda: learned(20), 20), (lambda: learned(600), MOST)])
def test_the_longest_sentence_that_is_read_is_that_of_the_command(make: Callable[[], Checkpoint], most: int) -> None:
    engine = engine_with(make())
    (source,) = generate(engine, cats(most), stop_after=1, max_tokens=1)[:1]
    assert len(source["tokens"]) == most
    with pytest.raises(UserError, match=WORDS):
        generate(engine, cats(most + 1))


@pytest.mark.parametrize("kind", ["shapes", "cost", "compare"])
def test_nor_is_it_looked_at_otherwise(kind: str) -> None:
    with pytest.raises(UserError, match=WORDS):
        ask(engine_with(load()), kind, sentence=cats(MOST + 1), mistakes=["no-causal-mask"])


def test_other_models_have_other_limits() -> None:
    (source, *_) = generate(engine_with(untrained("encoder")), cats(MOST + 1))
    assert len(source["tokens"]) == MOST + 1
