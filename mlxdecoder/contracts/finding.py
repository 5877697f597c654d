"""What a contract answers: whether it holds, the proof in numbers, and signs that point at a mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

ADVICE = frozenset({"T5 empty rows"})
"""Contracts that much right code does not keep, as its rows always see something: a failure is told, not counted."""


ORDER = ("FAILS", "depends", "holds", "untried")


@dataclass(frozen=True)
class Finding:
    """The answer of one contract.

    `contract` is its name, `rule` what it asks in a line; `holds` is None where it could not be tried. `proof` says
    with numbers what was seen, or what would have to be given for a trial. `signs` name the ways in which it failed,
    for the diagnosis; `measured` holds the numbers of the proof for programs.
    """

    contract: str
    rule: str
    holds: bool | None
    proof: str
    signs: frozenset[str] = frozenset()
    measured: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether it says that something is wrong, whatever the code is for."""
        return self.holds is False and self.contract not in ADVICE

    @property
    def mark(self) -> str:
        failed = "FAILS" if self.counts else "depends"
        return {True: "holds", False: failed, None: "untried"}[self.holds]

    def to_dict(self) -> dict[str, Any]:
        return {
            "contract": self.contract,
            "rule": self.rule,
            "holds": self.holds,
            "proof": self.proof,
            "signs": sorted(self.signs),
            "measured": dict(self.measured),
        }


@dataclass(frozen=True)
class Report:
    """The findings about one thing; `notes` say what was found out about it on the way, such as what its mask means."""

    subject: str
    kind: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Finding, ...]:
        """What says that something is wrong."""
        return tuple(finding for finding in self.findings if finding.counts)

    @property
    def holds(self) -> bool:
        """Whether something could be tried, and nothing says that something is wrong."""
        return not self.failed and any(finding.holds is not None for finding in self.findings)

    @property
    def signs(self) -> frozenset[str]:
        return frozenset().union(*(finding.signs for finding in self.findings))

    def __str__(self) -> str:
        counts = {
            mark: sum(finding.mark == mark for finding in self.findings) for mark in ("holds", "FAILS", "untried")
        }
        told = f"{counts['holds']} contracts hold, {counts['FAILS']} fail, {counts['untried']} could not be tried"
        lines = [f"{self.subject} ({self.kind}): {told}", *(f"  note     {note}" for note in self.notes)]
        # What went wrong comes first, what could not be tried last.
        for finding in sorted(self.findings, key=lambda finding: ORDER.index(finding.mark)):
            lines += [f"  {finding.mark:<8} {finding.contract}: {finding.rule}", f"           {finding.proof}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f'<pre style="white-space: pre-wrap">{escape(str(self))}</pre>'

    def to_dict(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "kind": self.kind,
            "holds": self.holds,
            "notes": list(self.notes),
            "findings": [finding.to_dict() for finding in self.findings],
        }
