"""From the pattern of failures to the mistakes of the catalogue that make it, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from mlxdecoder.contracts.finding import Report
from mlxdecoder.mistakes import MISTAKES, Mistake

FUTURE = (
    *("future", "future.near", "future.first", "future.far"),
    *("future.instead", "future.weak", "future.patchy", "future.recent", "future.faint"),
)
ATTENTION_SIGNS = {
    "T1 causal": ("attention.future",),
    "T2 rows": ("rows.short", "rows.long", "rows.columns", "rows.other"),
    "T3 padding": ("attention.padding",),
    "T4 apart": ("rows.mixed", "heads.mixed"),
    "T5 finite": ("nan.masked",),
    "T5 empty rows": ("nan.empty", "empty.uniform", "empty.other"),
    "T7 scale": ("scale.none", "scale.other"),
    "T8 support": ("support.leak", "support.inverted", "support.blind"),
    "T11 steady": ("unsteady",),
    "T12 groups": ("groups.tiled", "groups.other"),
    "T13 large": ("large.overflow",),
    "T13 half": ("large.overflow",),
    "T15 queries": ("queries.mixed",),
}
MODEL_SIGNS = {
    "T1 causal": FUTURE,
    "T1 reach": ("past.blind", "past.partly"),
    "T4 apart": ("batch.mixed",),
    "T4 documents": ("documents.mixed", "documents.positions"),
    "T5 finite": ("nan", "nan.first"),
    "T8 crossing": ("cross.future_blind", "cross.blind"),
    "T9 cache": ("cache.differs", "cache.blind", "cache.chunks"),
    "T10 order": ("order.ignored",),
    "T11 steady": ("unsteady", "stale"),
    "T16 source": ("source.ignored",),
}
BATCHES_SIGNS = {
    "T6 targets": ("labels.unshifted", "labels.twice", "labels.other"),
    "T6 begin": ("labels.begin",),
    "T6 end": ("labels.no_end",),
    "T6 padding": ("labels.padding",),
    "T6 counted": ("labels.uncounted",),
}
POSSIBLE = {
    "attention": ATTENTION_SIGNS,
    "decoder": {**MODEL_SIGNS, "T3 padding": ("decoder.padding",)},
    "translator": {**MODEL_SIGNS, "T3 padding": ("source.padding",)},
    "batches": BATCHES_SIGNS,
}
"""Which signs a contract can give, by the kind of thing that it is tried on."""

INCIDENTAL = frozenset(("empty.uniform", "empty.other", "nan.empty", "large.overflow"))
"""What right code may do as well when it was not written for rows that see nothing, or for large scores."""

HEADING = "Likely mistakes, best first (100%: it would fail in just these ways, no more and no fewer):"
OWN_PADDING = "        here      there is no source: it is about the padding of the tokens themselves"
UNKNOWN = "No mistake of the catalogue looks like this."


@dataclass(frozen=True)
class Suspect:
    """A mistake that would look so: `likeness` is 1 when it explains all signs and no sign of it is missing."""

    mistake: Mistake
    likeness: float
    signs: frozenset[str]

    def to_dict(self) -> dict[str, Any]:
        told = {name: getattr(self.mistake, name) for name in ("number", "id", "title", "right", "wrong")}
        return {**told, "likeness": self.likeness, "signs": sorted(self.signs)}


@dataclass(frozen=True)
class Diagnosis:
    """What the contracts found, and the mistakes that come into question, the likeliest first."""

    reports: tuple[Report, ...]
    suspects: tuple[Suspect, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing says that something is wrong."""
        return all(report.holds for report in self.reports)

    def __str__(self) -> str:
        lines = [str(report) for report in self.reports]
        if self.suspects:
            lines.append(HEADING)
        has_no_source = all(report.kind == "decoder" for report in self.reports)
        for suspect in self.suspects:
            mistake = suspect.mistake
            lines.append(f"  {suspect.likeness:>4.0%}  {mistake.id} (number {mistake.number}): {mistake.title}")
            lines += [f"        look for  {mistake.wrong}", f"        right is  {mistake.right}"]
            lines += [OWN_PADDING] if has_no_source and not mistake.concerns("language_model") else []
        if not self.holds and not self.suspects:
            lines.append(UNKNOWN)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f'<pre style="white-space: pre-wrap">{escape(str(self))}</pre>'

    def to_dict(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "reports": [report.to_dict() for report in self.reports],
            "suspects": [suspect.to_dict() for suspect in self.suspects],
        }


def suspects_of(reports: Sequence[Report], most: int = 3) -> tuple[Suspect, ...]:
    """The mistakes whose signs are most like those of the reports: shared signs among all signs of either (Jaccard).

    Signs count only where the contract that gives them was tried.
    """
    seen = frozenset().union(*(report.signs for report in reports)) - INCIDENTAL
    possible = frozenset().union(*map(_possible, reports))
    suspects = [_suspect(mistake, seen, possible) for mistake in MISTAKES]
    likely = [suspect for suspect in suspects if suspect.likeness > 0]
    return tuple(sorted(likely, key=lambda suspect: -suspect.likeness)[:most])


def _suspect(mistake: Mistake, seen: frozenset[str], possible: frozenset[str]) -> Suspect:
    """The mistake in that of its ways which is most like what was seen."""
    ways = [way & possible for way in mistake.signs]
    likeness = {way: len(seen & way) / max(len(seen | way), 1) for way in ways}
    way = max(likeness, key=lambda way: likeness[way])
    return Suspect(mistake, likeness[way], seen & way)


def _possible(report: Report) -> frozenset[str]:
    tried = [finding.contract for finding in report.findings if finding.holds is not None]
    return frozenset(sign for contract in tried for sign in POSSIBLE[report.kind].get(contract, ()))
