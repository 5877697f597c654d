"""How `mlxdecoder evaluate` tells what it found: as a table with notes, or as values for JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from mlxdecoder.commands.common import table
from mlxdecoder.evaluate import Evaluation
from mlxdecoder.text.scores import Score, Scores
from mlxdecoder.translate import LONGEST, Translation

TITLES = {"bleu": "BLEU", "bleu_lowercase": "BLEU, lower case", "bleu_moses": "BLEU of older papers", "chrf": "chrF"}
LEFT_OUT = "  Such a source counts as translated as nothing; the perplexity leaves the pair out."
SHOWN = 10  # characters that the model does not know


def as_text(scores: Mapping[str, Scores], found: Evaluation | None = None) -> str:
    """A column for each system; below them what the figures mean and how they were computed."""
    systems, measures = list(scores.values()), _measures(scores)
    rows = [_row(TITLES[name], [*map(_score, column)], [*map(_chance, column)]) for name, column in measures.items()]
    rows.append(_row("exact match", [f"{one.exact_match:.1%}" for one in systems]))
    rows.append(_row("length ratio", [f"{one.length_ratio:.3f}" for one in systems]))
    if found:
        outcomes = found.outcomes.values()
        rows.append(_row("stopped at the limit", [f"{one.stopped:.1%}" for one in outcomes]))
        rows.append(_row("sentences a second", [f"{one.sentences_per_second:,.1f}" for one in outcomes]))
    header = _row("", list(scores), ["p"] * len(scores))
    return "\n".join([table(header, rows), "", *_notes(scores, found), *_signatures(measures)])


def as_dict(scores: Mapping[str, Scores], found: Evaluation | None = None) -> dict[str, Any]:
    """The same for programs; what there is not is null, or left out where it was not asked for."""
    systems = {name: _asked(one) for name, one in scores.items()}
    if not found:
        return {"systems": systems}
    for name, outcome in found.outcomes.items():
        systems[name] |= {"stopped_at_limit": outcome.stopped, "sentences_per_second": outcome.sentences_per_second}
    perplexity = None if math.isnan(found.perplexity) else found.perplexity
    return {"perplexity": perplexity, "too_long": found.too_long, "systems": systems}


def warn_of_foreign(translations: Sequence[Translation]) -> None:
    """Say on stderr how many sources the model cannot read well, since it never saw their characters."""
    foreign = [one for one in translations if one.unknown]
    if foreign:
        characters = list(dict.fromkeys(character for one in foreign for character in one.unknown))
        more = f" and {len(characters) - SHOWN} more" if len(characters) > SHOWN else ""
        said = f"{len(foreign):,} of {len(translations):,} sources hold characters that the model has never seen"
        print(f"mlxdecoder: {said}: {' '.join(characters[:SHOWN])}{more}", file=sys.stderr)


def _measures(scores: Mapping[str, Scores]) -> dict[str, list[Score]]:
    """The scores of all systems by measure, without the measures that nobody asked for."""
    columns = {name: [getattr(one, name) for one in scores.values()] for name in TITLES}
    return {name: column for name, column in columns.items() if None not in column}


def _asked(scores: Scores) -> dict[str, Any]:
    return {name: value for name, value in asdict(scores).items() if value is not None}


def _row(title: str, cells: Sequence[str], chances: Sequence[str] = ()) -> list[str]:
    """Behind each cell but the first stands the chance of its difference from the first."""
    beside = chances or [""] * len(cells)
    return [title, cells[0], *chain.from_iterable(zip(cells[1:], beside[1:], strict=True))]


def _score(score: Score) -> str:
    return f"{score.value:.1f}" + ("" if score.margin is None else f" ± {score.margin:.1f}")


def _chance(score: Score) -> str:
    return "" if score.p_value is None else f"{score.p_value:.3f}"


def _notes(scores: Mapping[str, Scores], found: Evaluation | None) -> list[str]:
    first, *others = scores
    notes = []
    if found and not math.isnan(found.perplexity):
        notes.append(f"Perplexity of the references: {found.perplexity:.2f} a token of this model's tokenizer.")
    if found and found.too_long:
        notes.append(f"{found.too_long:,} pairs have a side of more than {LONGEST} pieces, or than the model can read.")
        notes.append(LEFT_OUT)
    if scores[first].bleu.margin is not None:
        notes.append("± spans the 95 % interval of a bootstrap over the sentences.")
    if others:
        notes.append(f"p: how often chance alone makes such a difference from {first}, by a paired bootstrap.")
    return notes


def _signatures(measures: Mapping[str, Sequence[Score]]) -> list[str]:
    return [f"{TITLES[name]}: {column[0].signature}" for name, column in measures.items()]
