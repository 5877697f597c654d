"""How good the links of `mlxdecoder align` are: by links that people made, or by those of the toy grammar."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from mlxdecoder.alignment import Aligner, Gold, Place, Score, choose, read_gold, read_pair, read_toy, score
from mlxdecoder.alignment.sentences import SentencePair
from mlxdecoder.commands.common import print_json, table
from mlxdecoder.errors import UserError
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training.checkpoint import Checkpoint

TOY = {
    "validation": "like those of the training",
    "combinations": "words that training never joined",
    "lengths": "longer than any of the training",
    "constructions": "a construction that training never had",
}


@dataclass(frozen=True)
class Models:
    """What aligns: a model, maybe one that translates back, and maybe the place in the first that was asked for."""

    checkpoint: Checkpoint
    reverse: Checkpoint | None = None
    place: Place | None = None

    @property
    def tokenizer(self) -> TextTokenizer:
        """What cuts texts into words."""
        return self.checkpoint.tokenizer

    def aligner(self, pairs: Sequence[SentencePair], gold: Sequence[Gold] | None = None) -> Aligner:
        """Choose the places by these pairs, and say on stderr which they are."""
        made = choose(self.checkpoint, pairs, gold=gold, reverse=self.reverse, place=self.place)
        print(f"mlxdecoder: links are read in {made.describe()}", file=sys.stderr)
        return made

    def toy_aligner(self) -> Aligner:
        """Choose them by the validation pairs of the toy grammar."""
        return self.aligner(*read_toy(self.tokenizer, make_splits().validation))


def score_toy(models: Models, as_json: bool) -> None:
    """Choose by the validation pairs of the toy grammar, and score on each of its held-out parts."""
    aligner, splits, scores = models.toy_aligner(), make_splits(), {}
    for name in TOY:
        pairs, gold = read_toy(models.tokenizer, getattr(splits, name))
        scores[name] = len(pairs), score([links or frozenset() for links in aligner.align(pairs)], gold)
    _tell(aligner, scores, as_json)


def score_corpus(models: Models, texts: Sequence[tuple[str, str]], path: str, as_json: bool) -> None:
    """Score by the links in a file; places that were not asked for are chosen by every second pair, not scored then."""
    pairs, gold = [read_pair(models.tokenizer, *one) for one in texts], read_gold(path)
    _check(pairs, gold, path)
    if models.place is None:
        if len(pairs) < 2:
            raise UserError(f"--gold {path}: two pairs are wanted, to choose by one of them; or give --layer.")
        aligner = models.aligner(pairs[::2], gold[::2])
        pairs, gold = pairs[1::2], gold[1::2]
    else:
        aligner = models.aligner(pairs)
    found = score([links or frozenset() for links in aligner.align(pairs)], gold)
    _tell(aligner, {path: (len(pairs), found)}, as_json)


def _check(pairs: Sequence[SentencePair], gold: Sequence[Gold], path: str) -> None:
    if len(pairs) != len(gold):
        raise UserError(f"--gold {path}: {len(gold)} lines found for {len(pairs)} pairs; one for each is wanted.")
    for number, ((source, target), one) in enumerate(zip(pairs, gold, strict=True), 1):
        beyond = [(i, j) for i, j in one.possible if i >= len(source.begins) or j >= len(target.begins)]
        if beyond:
            raise UserError(
                f"--gold {path}, line {number}: {beyond[0][0]}-{beyond[0][1]} found, but the pair has "
                f"{len(source.begins)} and {len(target.begins)} words, counted from 0."
            )


def _tell(aligner: Aligner, scores: Mapping[str, tuple[int, Score]], as_json: bool) -> None:
    if as_json:
        parts = {name: {"pairs": count, **_known(one)} for name, (count, one) in scores.items()}
        print_json({"read_in": aligner.describe(), "scores": parts})
        return
    rows = [
        [f"{name}, {TOY[name]}" if name in TOY else name, f"{count:,}", *map(_percent, asdict(one).values())]
        for name, (count, one) in scores.items()
    ]
    print(table(["", "pairs", "precision", "recall", "error rate"], rows))


def _known(one: Score) -> dict[str, float | None]:
    """What there is nothing to count in is null."""
    return {name: None if math.isnan(share) else share for name, share in asdict(one).items()}


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.1%}"
