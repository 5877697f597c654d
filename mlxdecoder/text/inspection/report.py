"""An inspection in words, at most 100 columns wide, and as a value for JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from mlxdecoder.text.inspection import Finding, Inspection, Lengths
from mlxdecoder.text.inspection.examples import shown
from mlxdecoder.text.inspection.lengths import PERCENTILES, draw, label
from mlxdecoder.text.inspection.measures import SIDES

_OF_THE_SIDES = {"wide", "swapped", "script"}  # what is found where columns, or source and target, are not as they seem


def describe(found: Inspection) -> str:
    """All of it, as paragraphs: what training drops, suspicions, characters, scripts, lengths."""
    paragraphs = [
        [f"{found.rows:,} rows; training keeps {_about(found)}{_kept(found):,} pairs", *_drops(found)],
        ["Have a look at", *_told(found, found.suspicions)],
        ["Characters that you may not expect, in all rows", *_told(found, found.marks)],
        ["Scripts of source and target", *_scripts(found)],
        *([f"Lengths in {lengths.unit}", draw(lengths)] for lengths in found.lengths if found.pairs),
    ]
    return "\n\n".join("\n".join(lines) for lines in paragraphs if len(lines) > 1 or lines is paragraphs[0])


def summary(found: Inspection) -> list[str]:
    """How many pairs are kept; what is dropped, and why; and what may be wrong with the sides, in a line each.

    A line without anything to say is left out: `Dropped: blank rows (3), duplicates (2).`
    """
    doubts = [one for one in found.suspicions if one.id in _OF_THE_SIDES]
    told = [f"{found.rows:,} rows; {_about(found)}{_kept(found):,} pairs."]
    for what, findings in (("Dropped", found.dropped), ("Have a look", doubts)):
        if findings:
            told.append(f"{what}: {', '.join(map(_short, findings))}.")
    return told


def to_dict(found: Inspection) -> dict[str, Any]:
    """All of it, with the same names."""
    groups = {"dropped": found.dropped, "suspicions": found.suspicions, "characters": found.marks}
    return {
        "rows": found.rows,
        "pairs": found.pairs,
        **{name: [_finding(found, one) for one in group] for name, group in groups.items()},
        "too_long": asdict(found.too_long),
        "scripts": [
            {"source": source, "target": target, "pairs": n} for (source, target), n in found.scripts.most_common()
        ],
        "lengths": {lengths.unit: _lengths(lengths) for lengths in found.lengths},
    }


def _kept(found: Inspection) -> int:
    return found.pairs - found.too_long.count


def _about(found: Inspection) -> str:
    return "about " if found.too_long.count else ""


def _short(one: Finding) -> str:
    """A finding without what is said to explain it."""
    about = "about " if one.id == "too-long" else ""
    side = f"{one.side} " if one.side else ""
    return f"{side}{re.split('[:;]', one.said)[0]} ({about}{one.count:,})"


def _drops(found: Inspection) -> Iterator[str]:
    yield from _told(found, found.dropped)
    tokens = found.too_long
    if tokens.refusal:
        yield f"  Training will not begin like this: {tokens.refusal}"
    elif tokens.sample:
        source, target = tokens.per_token
        yield (
            f"  A token holds {source:.1f} characters of the source and {target:.1f} of the target, with "
            f"{tokens.pieces:,} pieces\n  learnt from {tokens.sample:,} pairs; from that follows how many are too long."
        )


def _told(found: Inspection, findings: Sequence[Finding]) -> Iterator[str]:
    for one in findings:
        yield f"  {one.count:>9,}  {f'{one.side}: ' if one.side else ''}{one.said}"
        yield from (f"{'':13}{shown(found.example(one, place), one)}" for place in one.rows)


def _scripts(found: Inspection) -> Iterator[str]:
    for (source, target), count in found.scripts.most_common():
        yield f"  {count:>9,}  {source} to {target}"


def _finding(found: Inspection, one: Finding) -> dict[str, Any]:
    rows = (found.example(one, place) for place in one.rows)
    examples = [{"place": row.place, "source": row.source, "target": row.target} for row in rows]
    return {"id": one.id, "said": one.said, "side": one.side or None, "count": one.count, "examples": examples}


def _lengths(lengths: Lengths) -> dict[str, Any]:
    return {
        side: {
            "percentiles": dict(zip(map(str, PERCENTILES), lengths.percentiles[side], strict=True)),
            "histogram": {label(lengths, place): count for place, count in enumerate(lengths.histogram[side])},
        }
        for side in SIDES
    }
