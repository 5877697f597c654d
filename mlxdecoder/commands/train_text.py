"""What a training run reads: the pairs to train on and those to measure by, and where both come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlxdecoder.commands.corpus_options import two_at_most
from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Corpus, Pair, read_corpus
from mlxdecoder.text.readers import Choice
from mlxdecoder.text.splits import Splits, find_leaks, split_without_leaks
from mlxdecoder.text.toy import make_splits

Progress = Callable[[str], None]
HELD_OUT = 500  # pairs, but never more than a fifth of a corpus


@dataclass(frozen=True)
class Text:
    """What is trained on, what is held out, and a word about it."""

    train: Sequence[Pair]
    validation: Sequence[Pair]
    said: str


@dataclass(frozen=True)
class Origin:
    """Where the pairs come from, one or two files or the toy grammar, and the mistakes that the app trains with.

    `choice` holds for all files; `validation` are the files to measure by, if pairs of `corpus` are not. Kept in the
    checkpoints of the run.
    """

    corpus: list[str]
    limit: int | None
    mistakes: tuple[str, ...] = ()
    choice: Choice = Choice()
    validation: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Origin:
        """What `to_dict` gave, now or in an older version."""
        columns, languages = (tuple(values[name]) if name in values else None for name in ("columns", "languages"))
        mistakes, validation = (tuple(values.get(name, ())) for name in ("mistakes", "validation"))
        choice = Choice(columns, languages, values.get("header"))
        return cls(values["corpus"], values.get("limit"), mistakes, choice, validation)

    def to_dict(self) -> dict[str, Any]:
        """Give it for JSON; what was not asked for is left out."""
        asked = {
            "columns": self.choice.columns,
            "languages": self.choice.languages,
            "mistakes": self.mistakes,
            "validation": self.validation,
        }
        given: dict[str, Any] = {name: list(value) for name, value in asked.items() if value}
        header = {} if self.choice.header is None else {"header": self.choice.header}
        return {"corpus": self.corpus, "limit": self.limit} | given | header

    def read(self, progress: Progress | None = None) -> Text:
        """Read all files; UserError for what cannot be read, and when too little is left.

        `progress` is told now and then how far it is; what it raises ends the reading.
        """
        if not self.corpus:
            return _toy()
        corpus = self._read("--corpus", self.corpus, self.limit, progress)
        if self.validation:
            return _side_by_side(corpus, self._read("--validation", self.validation, None, progress))
        return _held_out(corpus, self.corpus[0])

    def _read(self, option: str, files: Sequence[str], limit: int | None, progress: Progress | None) -> Corpus:
        source, target = two_at_most(files, option)
        return read_corpus(source, target, limit, choice=self.choice, progress=progress)


def _toy() -> Text:
    toy = make_splits()
    train, held_out = ([Pair(pair.source, pair.target) for pair in part] for part in (toy.train, toy.validation))
    return Text(train, held_out, f"Toy grammar: {len(train)} pairs to train on, {len(held_out)} held out.")


def _held_out(corpus: Corpus, path: str) -> Text:
    """Pairs of a corpus to measure by, which share no sentence with the others."""
    if len(corpus.pairs) < 5:
        raise UserError(f"--corpus: {len(corpus.pairs)} pairs found in {path}; at least 5 are wanted.")
    splits = _split(corpus.pairs, path)
    counts = f"{len(splits.train)} pairs to train on, {len(splits.validation)} held out, with no sentence in both."
    return Text(splits.train, splits.validation, f"{corpus.describe()}\n{counts}")


def _split(pairs: Sequence[Pair], name: str) -> Splits:
    """Hold out a fifth, at most 500 pairs; fewer where more would tear apart pairs that share a sentence."""
    count = min(HELD_OUT, len(pairs) // 5)
    while count:
        try:
            return split_without_leaks(pairs, count, 0)
        except UserError:
            count //= 2
    raise UserError(f"--corpus: all pairs of {name} share sentences, so that none can be held out to measure by.")


def _side_by_side(corpus: Corpus, validation: Corpus) -> Text:
    """A corpus to train on beside one to measure by, without the pairs that share a sentence with that."""
    leaks = set(find_leaks(validation.pairs, corpus.pairs))
    train = [pair for pair in corpus.pairs if pair not in leaks]
    if not train:
        raise UserError(f"--validation: every pair of {corpus.name} shares a sentence with {validation.name}.")
    counts = f"{len(train)} pairs to train on, {len(validation.pairs)} to measure by, with no sentence in both."
    dropped = f" Dropped from training, since they share one: {len(leaks)}." if leaks else ""
    return Text(train, validation.pairs, f"{corpus.describe()}\n{validation.describe()}\n{counts}{dropped}")
