"""Sentence pairs in, links out: one model, or two of opposite directions, each read at the place that was chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mlxdecoder.alignment.choosing import by_agreement, by_gold, by_itself
from mlxdecoder.alignment.forced import Place, fits, places_of, word_weights
from mlxdecoder.alignment.links import Gold, Links, as_links, links_of
from mlxdecoder.alignment.sentences import SentencePair, read_pair, turned
from mlxdecoder.errors import UserError
from mlxdecoder.training.checkpoint import Checkpoint, check_checkpoint
from mlxdecoder.translate import as_translator

SAMPLE = 200  # pairs are enough to choose by
SAMPLE_LENGTH = 100  # pieces of both sides together; longer pairs would make a sample too large


@dataclass(frozen=True)
class Reader:
    """A model, and the place in it where links are read."""

    checkpoint: Checkpoint
    place: Place

    def read(self, pairs: Sequence[SentencePair], progress: Callable[[int], None] | None = None) -> list[np.ndarray]:
        """The weights of target words on source words at the place [J, I], for each pair."""
        return [weights[0] for weights in word_weights(as_translator(self.checkpoint), pairs, [self.place], progress)]


@dataclass(frozen=True)
class Aligner:
    """Aligns by the cross-attention of a model and, if there is one, of another that translates back: both are added.

    `chosen` says how the places were chosen.
    """

    forward: Reader
    backward: Reader | None
    chosen: str

    def describe(self) -> str:
        """Where links are read, and why there."""
        back = f"; the reverse model: {self.backward.place.describe()}" if self.backward else ""
        return f"{self.forward.place.describe()}{back} ({self.chosen})"

    def align(self, pairs: Sequence[SentencePair], progress: Callable[[int], None] | None = None) -> list[Links | None]:
        """The links of each pair; None for one that is blank, or too long for a model.

        `progress` is told how many pairs each batch of the first model has done.
        """
        back = self.backward
        able = _able(pairs, self.forward.checkpoint, back.checkpoint if back else None)
        weights = self.forward.read([pairs[number] for number in able], progress)
        if back:
            others = back.read([turned(back.checkpoint.tokenizer, pairs[number]) for number in able])
            weights = [one + other.T for one, other in zip(weights, others, strict=True)]
        found = {number: as_links(links_of(one)) for number, one in zip(able, weights, strict=True)}
        return [found.get(number) for number in range(len(pairs))]


def choose(
    checkpoint: Checkpoint,
    pairs: Sequence[SentencePair],
    *,
    gold: Sequence[Gold] | None = None,
    reverse: Checkpoint | None = None,
    place: Place | None = None,
) -> Aligner:
    """Choose where links are read, by some pairs that are read by `checkpoint`'s tokenizer.

    It is chosen by the `gold` alignments of these pairs; without them by agreement with `reverse`, a model that
    translates back; without that by the agreement of each layer with itself. A `place` in `checkpoint` that is given
    stays. Raises `UserError` for a model that is no translator and for a place that it does not have.
    """
    numbers = [number for number in _able(pairs, checkpoint, reverse) if _is_short(pairs[number])][:SAMPLE]
    sample, known = [pairs[number] for number in numbers], [gold[number] for number in numbers] if gold else None
    forward = _Seen.of(checkpoint, sample, place)
    if reverse is None:
        best, chosen = _choose_one(forward, known)
        return Aligner(forward.reader(best), None, chosen)
    backward = _Seen.of(reverse, [turned(reverse.tokenizer, pair) for pair in sample])
    here, there, chosen = _choose_two(forward, backward, known)
    return Aligner(forward.reader(here), backward.reader(there), chosen)


def align(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    *,
    reverse: Checkpoint | None = None,
    place: Place | None = None,
) -> list[list[tuple[int, int]]]:
    """The word links of sentence pairs, (source word, target word) from 0; none for a pair that cannot be read.

    Words are what `mlxdecoder.words` says. `reverse` is a model that translates back, `place` where in `checkpoint` the
    links are read; without it, see `choose`. Raises `UserError` as that does.
    """
    check_checkpoint(checkpoint)
    read = [read_pair(checkpoint.tokenizer, source, target) for source, target in pairs]
    aligner = choose(checkpoint, read, reverse=reverse, place=place)
    return [sorted(links or ()) for links in aligner.align(read)]


@dataclass(frozen=True)
class _Seen:
    """What a model makes of the pairs that are chosen by: the weights of each, [places, J, I]."""

    checkpoint: Checkpoint
    places: list[Place]
    weights: list[np.ndarray]

    @classmethod
    def of(cls, checkpoint: Checkpoint, pairs: Sequence[SentencePair], place: Place | None = None) -> _Seen:
        model = as_translator(checkpoint)
        places = places_of(model.config)
        if place is not None:
            _check(place, places)
            places = [place]
        return cls(checkpoint, places, word_weights(model, pairs, places))

    def reader(self, number: int) -> Reader:
        return Reader(self.checkpoint, self.places[number])


def _choose_one(seen: _Seen, gold: Sequence[Gold] | None) -> tuple[int, str]:
    if len(seen.places) == 1:
        return 0, "as asked"
    if not seen.weights:
        return 0, "there was nothing to choose by"
    if gold is not None:
        best, rate = by_gold(seen.weights, gold)
        return best, f"chosen by {_pairs(seen)} with gold alignments: error rate {rate:.1%}"
    means = [number for number, place in enumerate(seen.places) if place.head is None and not place.shifted]
    best, agreement = by_itself([weights[means] for weights in seen.weights])
    return means[best], f"the layer that agrees best with itself in both directions, {agreement:.1%} on {_pairs(seen)}"


def _choose_two(forward: _Seen, backward: _Seen, gold: Sequence[Gold] | None) -> tuple[int, int, str]:
    if not forward.weights:
        return 0, 0, "there was nothing to choose by"
    if gold is not None:
        here, said = _choose_one(forward, gold)
        there, rate = by_gold(backward.weights, [one.turned for one in gold])
        return here, there, f"{said}; the reverse model: {rate:.1%}"
    here, there, agreement = by_agreement(forward.weights, backward.weights)
    return here, there, f"where both directions agree best, {agreement:.1%} on {_pairs(forward)}"


def _able(pairs: Sequence[SentencePair], checkpoint: Checkpoint, reverse: Checkpoint | None) -> list[int]:
    """The numbers of the pairs that every model can read."""
    able = [number for number, pair in enumerate(pairs) if fits(as_translator(checkpoint), pair)]
    if reverse is None:
        return able
    return [number for number in able if fits(as_translator(reverse), turned(reverse.tokenizer, pairs[number]))]


def _pairs(seen: _Seen) -> str:
    return f"{len(seen.weights)} pairs" if len(seen.weights) > 1 else "one pair"


def _is_short(pair: SentencePair) -> bool:
    return len(pair[0].ids) + len(pair[1].ids) <= SAMPLE_LENGTH


def _check(place: Place, places: Sequence[Place]) -> None:
    if place not in places:
        layers, heads = (len({getattr(one, name) for one in places} - {None}) for name in ("layer", "head"))
        raise UserError(f"place: {place.describe()} found; the model has {layers} layers and {heads} heads, from 0.")
