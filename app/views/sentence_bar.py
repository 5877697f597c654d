"""The sentence, and under it what the model makes of it, word by word."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Slot
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QSizePolicy,
    QWidget,
)

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.growing_text import GrowingText
from mlxdecoder.app.views.parts import Text, button
from mlxdecoder.app.views.steps import generate_anew, generating, recording_shown
from mlxdecoder.app.views.what_this_shows import WhatThisShows
from mlxdecoder.app.views.wording import counted
from mlxdecoder.app.views.words import whole

LONGEST = 10_000
HELP = (
    "Type a sentence and press Return: the model reads it whole and writes its translation one token at a time. "
    "A language model goes on with what you typed. Characters that the model has never seen are read byte by byte, "
    "and it knows nothing about them."
)
WORDS = {  # by architecture: what is typed, what the button says, what comes of it
    "translator": ("&Sentence", "Translate", "Translation"),
    "language_model": ("&Prompt", "Continue", "Continuation"),
    "encoder": ("&Sentence", "Read", "Nothing is written"),
}
ENDINGS = {
    "stop": "Ended by itself: the end mark is step {count}.",
    "length": "Cut off at the limit of {tokens}.",
    "stopped": "Stopped after {tokens}.",
}


class SentenceBar(QWidget):
    """Where the sentence is typed, translated and stopped."""

    def __init__(self, session: Session, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self._sentence: str | None = None  # the one that was put into the field last
        self.sentence = QLineEdit(self)
        self.sentence.setMaxLength(LONGEST)
        self.sentence.setAccessibleName("Sentence")
        self.translation = GrowingText("Translation", self)
        self.translate_button = button("Translate")
        self.stop_button = button("Stop", "Stop at once; what has been written stays")
        self.status = Text()
        self.status.setMinimumWidth(120)
        self.busy_sign = _busy_sign(self)
        self.unknown = Text()
        self.what_this_shows = WhatThisShows("the sentence and its translation", HELP, self)
        self._lay_out()
        self.sentence.returnPressed.connect(self.translate)
        self.sentence.inputRejected.connect(self._tell_cut)
        self.translate_button.clicked.connect(self.translate)
        self.stop_button.clicked.connect(self.stop)
        bridge.changed.connect(self.session_changed)
        self._show_sentence()
        self._show_words()
        self._show_progress()

    @Slot()
    def _tell_cut(self) -> None:
        self.session.say(f"sentence: cut off, for there is room for {LONGEST:,} characters.")

    @Slot()
    def translate(self) -> None:
        """Translate what is typed, anew even if it is the same."""
        text = " ".join(self.sentence.text().splitlines())
        if not text.strip():
            self.status.say("Type a sentence first.")
            self.sentence.setFocus()
            return
        document = self.session.document
        if text != document.sentence:
            view = replace(document.view, step=None)
            self.session.change("change the sentence", sentence=text, forced={}, view=view)
        generate_anew(self.session)

    @Slot()
    def stop(self) -> None:
        """Stop at once; what has been written stays."""
        self.session.requests.cancel("wrong", "right")

    @Slot(str)
    def session_changed(self, topic: str) -> None:
        if topic in ("document", "model"):
            self._show_sentence()
            self._show_words()
        if topic in ("document", "recording", "token", "busy", "worker", "model"):
            self._show_progress()

    def _show_sentence(self) -> None:
        if self._sentence != self.session.document.sentence:  # or typing would be overwritten by every change
            self._sentence = self.session.document.sentence
            self.sentence.setText(self._sentence)
            self.sentence.setCursorPosition(0)

    def _show_words(self) -> None:
        asked, verb, made = WORDS[self.session.model.architecture if self.session.model else "translator"]
        self.source_label.setText(asked)
        self.translate_button.setText(verb)
        if self.session.document.mistakes:
            made += ", correct" if self.session.document.view.side == "right" else ", with mistakes"
        self.made_label.setText(made)
        self.translation.setAccessibleName(made)

    def _show_progress(self) -> None:
        recording, busy = recording_shown(self.session), generating(self.session)
        self.translation.show_text(recording.translation)
        self.status.say(self._how_it_stands())
        self.busy_sign.setVisible(busy or self.session.requests.busy("open"))
        self.stop_button.setEnabled(busy)
        unknown = " ".join(whole(each) for each in recording.unknown)
        self.unknown.say(f"The model has never seen: {unknown}" if unknown else "")

    def _how_it_stands(self) -> str:
        recording, session = recording_shown(self.session), self.session
        count = len(recording.tokens)
        tokens = counted(count, "token")
        if session.requests.busy("open"):
            return "Loading the model…"
        if recording.reason is None and generating(session):
            return f"Writing… {tokens}"
        if recording.reason == "refused":
            return session.notice
        if not recording.tokens:
            return "" if recording.reason is None else f"Read {counted(len(recording.source), 'token')}."
        return ENDINGS[recording.reason or "stopped"].format(tokens=tokens, count=count)

    def _lay_out(self) -> None:
        self.source_label, self.made_label = QLabel(self), QLabel(self)
        self.source_label.setBuddy(self.sentence)
        grid = QGridLayout(self)
        grid.setContentsMargins(8, 8, 8, 4)
        grid.addWidget(self.source_label, 0, 0)
        grid.addWidget(self.sentence, 0, 1)
        grid.addWidget(self.translate_button, 0, 2)
        grid.addWidget(self.stop_button, 0, 3)
        grid.addWidget(self.made_label, 1, 0)
        grid.addWidget(self.translation, 1, 1, 2, 1)
        grid.addWidget(self.status, 1, 2, 1, 2)
        grid.addLayout(self._last_line(), 2, 2, 1, 2)
        grid.addWidget(self.unknown, 3, 1, 1, 3)
        grid.setColumnStretch(1, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def _last_line(self) -> QHBoxLayout:
        line = QHBoxLayout()
        line.addWidget(self.busy_sign, 1)
        line.addWidget(self.what_this_shows)
        return line


def _busy_sign(parent: QWidget) -> QProgressBar:
    sign = QProgressBar(parent)
    sign.setRange(0, 0)  # which Qt draws as "busy"
    sign.setTextVisible(False)
    sign.setFixedHeight(6)
    sign.setAccessibleName("The model is busy")
    policy = sign.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    sign.setSizePolicy(policy)
    return sign
