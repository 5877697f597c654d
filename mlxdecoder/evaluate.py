"""How good a translator is on a test set: what it makes of the sources, by several searches, against the references."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mlxdecoder.errors import UserError
from mlxdecoder.text.scores import Scorer, Scores
from mlxdecoder.training.batches import Example
from mlxdecoder.training.checkpoint import Checkpoint, check_checkpoint
from mlxdecoder.training.evaluation import teacher_forced
from mlxdecoder.translate import SearchOptions, Translation, as_translator, longest, translate_all

SEARCHES: Mapping[str, SearchOptions] = {"greedy": SearchOptions(), "beam 5": SearchOptions(beam=5)}


@dataclass(frozen=True)
class Outcome:
    """What one search made of the sources, in their order, what that is worth, and the seconds that it took."""

    translations: list[Translation]
    scores: Scores
    seconds: float

    @property
    def stopped(self) -> float:
        """The share of translations that were stopped at the limit of tokens."""
        return sum(one.finish_reason == "length" for one in self.translations) / len(self.translations)

    @property
    def sentences_per_second(self) -> float:
        return len(self.translations) / self.seconds


@dataclass(frozen=True)
class Evaluation:
    """What each search reached, by its name, and the perplexity of the references.

    `perplexity` is that of a token, end marks included, with all before it given. It depends on how the tokenizer cuts
    up text, so it compares models of one tokenizer only. NaN where no pair has both sides. `too_long` counts the pairs
    that it leaves out since a side has more pieces than `longest`; such a source is translated as nothing.
    """

    outcomes: dict[str, Outcome]
    perplexity: float
    too_long: int


def evaluate(
    checkpoint: Checkpoint,
    sources: Sequence[str],
    references: Sequence[str],
    searches: Mapping[str, SearchOptions] = SEARCHES,
    *,
    lowercase: bool = False,
    moses: str | None = None,
    tokenize: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Translate the sources by each of the searches, and score what comes out against one reference a source.

    The whole test set counts, in its order: a source that is blank, or too long, is translated as nothing. `progress`
    is told how many sentences each batch has done. For `lowercase`, `moses` and `tokenize` see `Scorer`. Raises
    `UserError` for a model that is no translator, for unequal numbers of sources and references, where there is nothing
    to do, and as `Scorer` does.
    """
    check_checkpoint(checkpoint)
    _check(sources, references, searches)
    scorer = Scorer(references, lowercase=lowercase, moses=moses, tokenize=tokenize)
    perplexity, too_long = _perplexity(checkpoint, sources, references)
    made = {name: _timed(checkpoint, sources, how, progress) for name, how in searches.items()}
    scores = scorer.score({name: [one.text for one in translations] for name, (translations, _) in made.items()})
    outcomes = {name: Outcome(done, scores[name], seconds) for name, (done, seconds) in made.items()}
    return Evaluation(outcomes, perplexity, too_long)


def _check(sources: Sequence[str], references: Sequence[str], searches: Mapping[str, SearchOptions]) -> None:
    if len(sources) != len(references):
        raise UserError(f"references: {len(references)} found for {len(sources)} sources; one for each is wanted.")
    if not searches:
        raise UserError("searches: none found; at least one is wanted.")
    if not any(map(str.strip, sources)):
        raise UserError(f"sources: no text found in {len(sources)}; sentences to translate are wanted.")


def _timed(
    checkpoint: Checkpoint, sources: Sequence[str], how: SearchOptions, progress: Callable[[int], None] | None
) -> tuple[list[Translation], float]:
    begin = time.perf_counter()
    translations = translate_all(checkpoint, sources, how, progress)
    return translations, time.perf_counter() - begin


def _perplexity(checkpoint: Checkpoint, sources: Sequence[str], references: Sequence[str]) -> tuple[float, int]:
    """The perplexity of the references that can be read, and how many pairs are too long for that."""
    model, tokenizer = as_translator(checkpoint), checkpoint.tokenizer
    pairs = [
        Example(tuple(tokenizer.encode(source)), tuple(tokenizer.encode_target(wanted)))
        for source, wanted in zip(sources, references, strict=True)
    ]
    most, most_wanted = longest(model.config), longest(model.config, marks=1)
    fitting = [pair for pair in pairs if len(pair.source) <= most and len(pair.target) <= most_wanted]
    loss, _ = teacher_forced(model, [pair for pair in fitting if pair.source and pair.target])
    return math.exp(min(loss, 700)), len(pairs) - len(fitting)  # the largest float is near e^709
