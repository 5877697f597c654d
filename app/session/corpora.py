"""What is trained on and measured by: the commands that choose it, and what the worker has told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.corpus_choice import CorpusChoice
from mlxdecoder.app.session.corpus_log import CorpusLog
from mlxdecoder.app.session.topics import Listener

if TYPE_CHECKING:
    from mlxdecoder.app.session.session import Session

Which = str  # "corpus", "validation"
CHOOSE = "choose sentences"


class Corpora:
    """The corpora of a session: `logs` has what is known of either, `tell` is told that it has changed."""

    def __init__(self, session: Session, tell: Listener) -> None:
        self.logs: dict[Which, CorpusLog] = {"corpus": CorpusLog(), "validation": CorpusLog()}
        self._session, self._tell = session, tell

    # What is chosen ---------------------------------------------------------------------------------------------

    @property
    def choice(self) -> CorpusChoice:
        return self._session.document.corpus

    def choose(self, files: Sequence[str]) -> None:
        """Learn from this file or these two, without any from the toy sentences; a preset that is usual follows."""
        if CorpusChoice(tuple(files)) == self.choice:
            self.read_again("corpus")  # it may have changed
            return
        usual = {preset.usual_for: preset.name for preset in self._session.presets}
        before, now = ("corpus" if some else "toy" for some in (self.choice.files, files))
        preset = self._session.document.preset
        preset = usual.get(now, preset) if preset == usual.get(before) else preset
        self._session.change(CHOOSE, corpus=CorpusChoice(tuple(files)), preset=preset)

    def choose_sides(self, source: int, target: int) -> None:
        """Take two of what is offered, by their places."""
        log = self.logs["corpus"]
        if log.sides == "files":
            if (source, target) != log.chosen:
                self._turn_files()
        elif source != target:
            log.chosen = source, target  # at once: it may change again before the worker answers
            pair = (log.offered[source], log.offered[target])
            header = self.choice.header if log.sides == "columns" else None
            sides: dict[str, Any] = {"columns": None, "languages": None, "header": header, log.sides: pair}
            self._become(f"choose {log.sides}", replace(self.choice, **sides))

    def swap(self) -> None:
        """Let source and target change places."""
        if chosen := self.logs["corpus"].chosen:
            self.choose_sides(chosen[1], chosen[0])

    def name_columns(self, header: bool) -> None:
        """Take the first row for the names of the columns, or for a pair; the columns stay what they are, by number."""
        chosen = self.logs["corpus"].chosen
        columns = (str(chosen[0] + 1), str(chosen[1] + 1)) if chosen else None
        self._become("name the columns", replace(self.choice, header=header, columns=columns))

    def limit(self, pairs: int | None) -> None:
        """Learn from the first pairs alone."""
        self._become("limit the pairs", replace(self.choice, limit=pairs))

    def measure_by(self, files: Sequence[str]) -> None:
        """Measure by this file or these two, without any by pairs that are held out."""
        self._become("choose what to measure by", replace(self.choice, validation=tuple(files)))

    # What is known of it ----------------------------------------------------------------------------------------

    def look(self, which: Which) -> None:
        """Have what is chosen read, unless it is known or being read."""
        wanted = {**self.choice.inspected(which), "preset": self._session.document.preset}
        log = self.logs[which]
        if not wanted["corpus"]:
            self._forget(which)
        elif self._session.alive and (log.state == "unread" or wanted != log.asked):
            self._read(which, wanted)

    def read_again(self, which: Which) -> None:
        """Read once more what was read, was stopped, or could not be read."""
        if self.logs[which].asked and self._session.alive:
            self._read(which, self.logs[which].asked)

    def stop(self, which: Which) -> None:
        """Read no further; what is known stays known."""
        self._session.requests.cancel(which)
        self.logs[which].state = "stopped"
        self._tell("corpus")

    def take(self, which: Which, message: Message) -> None:
        """What the worker tells of a corpus."""
        self.logs[which].take(message)
        self._tell("corpus")

    def worker_ended(self) -> None:
        """What was being read will not be known."""
        for log in self.logs.values():
            log.state = "unread" if log.state == "reading" else log.state

    # Inside -----------------------------------------------------------------------------------------------------

    def _read(self, which: Which, wanted: Mapping[str, Any]) -> None:
        """Ask for it; of the same files, what could be chosen is shown until more is known."""
        log = self.logs[which]
        known = log if sorted(log.asked.get("corpus", ())) == sorted(wanted["corpus"]) else CorpusLog()
        self.logs[which] = replace(known, asked=wanted, state="reading", rows=0, counted="", why="")
        self._session.requests.ask("inspect", which, **wanted)
        self._tell("corpus")

    def _forget(self, which: Which) -> None:
        if self.logs[which].asked:
            self.logs[which] = CorpusLog()
            self._session.requests.cancel(which)
            self._tell("corpus")

    def _turn_files(self) -> None:
        """Two files change places, and those to measure by with them."""
        log, both = self.logs["corpus"], (self.choice.files, self.choice.validation)
        log.offered = log.offered[::-1]
        files, validation = (some[::-1] if len(some) == 2 else some for some in both)
        self._become("choose files", replace(self.choice, files=files, validation=validation))

    def _become(self, what: str, choice: CorpusChoice) -> None:
        self._session.change(what, corpus=choice)
