"""What a corpus holds, before anything is trained on it: counts, findings with examples, scripts and lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from mlxdecoder.errors import UserError
from mlxdecoder.text.inspection.examples import pick
from mlxdecoder.text.inspection.findings import Finding, dropped, fates, marked, script_pairs, suspicions
from mlxdecoder.text.inspection.lengths import Lengths, lengths_of
from mlxdecoder.text.inspection.measures import Measures, measure
from mlxdecoder.text.inspection.tokens import Candidates, TooLong, candidates, estimate
from mlxdecoder.text.readers import Row

__all__ = ["Finding", "Inspection", "Lengths", "TooLong", "inspect_corpus"]


@dataclass(frozen=True)
class Inspection:
    """What was found in the `rows` of a corpus; `pairs` of them are read, and all but those `too_long` are trained on.

    `dropped` says why the others are not, `suspicions` are about the pairs, `marks` about the text of all rows;
    findings without a row are left out. `scripts` counts the pairs by the scripts of their sides, `examples` holds rows
    by place.
    """

    rows: int
    pairs: int
    dropped: list[Finding]
    suspicions: list[Finding]
    marks: list[Finding]
    too_long: TooLong
    scripts: Counter[tuple[str, str]]
    lengths: list[Lengths]
    examples: dict[int, Row]


def inspect_corpus(
    rows: Iterable[Row], again: Callable[[], Iterable[Row]], longest: int, vocab_size: int, limit: int | None = None
) -> Inspection:
    """Inspect the rows of a corpus; `again` gives them once more, of which some are kept as examples.

    `longest` is the limit of tokens a side in training, `vocab_size` what its tokenizer is asked for. With `limit`, the
    rows that hold so many pairs count alone. About 50 bytes are kept for each row, three times as many for a moment,
    and no sentences but those of examples and of a sample. Raises UserError for what cannot be read, or not twice, and
    for a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UserError(f"limit: found {limit}, wanted 1 or more pairs")
    measures = _limited(measure(rows), limit)
    found = fates(measures)
    tokens = candidates(measures, found.kept, longest)
    drops, doubts, marks = dropped(found), [*suspicions(measures, found.kept)], [*marked(measures)]
    wanted = {*tokens.sample, *tokens.longest, *(row for one in drops + doubts + marks for row in one.rows)}
    picked = pick(again(), wanted) if wanted else {}
    sample = [picked[place] for place in tokens.sample]
    too_long = estimate(measures, found.kept, sample, longest, vocab_size)
    return Inspection(
        rows=len(measures.table),
        pairs=int(found.kept.sum()),
        dropped=_filled([*drops, _as_finding(too_long, tokens)]),
        suspicions=_filled(doubts),
        marks=_filled(marks),
        too_long=too_long,
        scripts=script_pairs(measures, found.kept),
        lengths=[lengths_of(measures, found.kept, unit) for unit in ("characters", "words")],
        examples=picked,
    )


def _limited(measures: Measures, limit: int | None) -> Measures:
    """The rows up to the one with which `limit` pairs are kept."""
    if limit is None:
        return measures
    return measures.first(int(np.searchsorted(np.cumsum(fates(measures).kept), limit)) + 1)


def _as_finding(too_long: TooLong, tokens: Candidates) -> Finding:
    said = f"more than {too_long.longest} tokens on a side; an estimate"
    return Finding("too-long", said, "", too_long.count, tuple(tokens.longest[: too_long.count]))


def _filled(findings: Iterable[Finding]) -> list[Finding]:
    return [one for one in findings if one.count]
