"""What a corpus holds, before anything is trained on it: counts, findings with examples, scripts and lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

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
    by place and by the mark that they show, long texts cut.
    """

    rows: int
    pairs: int
    dropped: list[Finding]
    suspicions: list[Finding]
    marks: list[Finding]
    too_long: TooLong
    scripts: Counter[tuple[str, str]]
    lengths: list[Lengths]
    examples: dict[tuple[int, str], Row]

    def example(self, finding: Finding, row: int) -> Row:
        """One of the rows that a finding names, cut so that its point is in sight."""
        return self.examples[row, finding.mark]


def inspect_corpus(
    rows: Iterable[Row], again: Callable[[], Iterable[Row]], longest: int, vocab_size: int, limit: int | None = None
) -> Inspection:
    """Inspect the rows of a corpus; `again` gives them once more, of which some are kept as examples.

    `longest` is the limit of tokens a side in training, `vocab_size` what its tokenizer is asked for. With `limit`, no
    more rows are read than hold so many pairs. About 50 bytes are kept for each row, three times as many for a moment,
    and no sentences but those of examples and of a sample. Raises UserError for what cannot be read, or not twice, and
    for a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UserError(f"limit: found {limit}, wanted 1 or more pairs")
    measures = measure(rows, limit)
    found = fates(measures)
    tokens = candidates(measures, found.kept, longest)
    groups = [dropped(found), [*suspicions(measures, found.kept)], [*marked(measures)]]
    picked = _picked(again, tokens, chain(*groups))
    too_long = estimate(measures, found.kept, [picked[place, ""] for place in tokens.sample], longest, vocab_size)
    groups[0].append(_as_finding(too_long, tokens))
    return _inspection(measures, found.kept, groups, too_long, picked)


def _picked(
    again: Callable[[], Iterable[Row]], tokens: Candidates, findings: Iterable[Finding]
) -> dict[tuple[int, str], Row]:
    """The rows that are looked at once more, by place and mark."""
    wanted = {row: {""} for row in (*tokens.sample, *tokens.longest)}
    for one in findings:
        for row in one.rows:
            wanted.setdefault(row, set()).add(one.mark)
    return pick(again(), wanted) if wanted else {}


def _inspection(
    measures: Measures,
    kept: np.ndarray,
    groups: Sequence[Sequence[Finding]],
    too_long: TooLong,
    picked: dict[tuple[int, str], Row],
) -> Inspection:
    drops, doubts, marks = ([one for one in group if one.count] for group in groups)
    return Inspection(
        rows=len(measures.table),
        pairs=int(kept.sum()),
        dropped=drops,
        suspicions=doubts,
        marks=marks,
        too_long=too_long,
        scripts=script_pairs(measures, kept),
        lengths=[lengths_of(measures, kept, unit) for unit in ("characters", "words")],
        examples=picked,
    )


def _as_finding(too_long: TooLong, tokens: Candidates) -> Finding:
    said = f"more than {too_long.longest} tokens on a side; an estimate"
    return Finding("too-long", said, "", too_long.count, tuple(tokens.longest[: too_long.count]))
