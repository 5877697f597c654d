"""What a contract answers: whether it holds, the proof in numbers, and signs that point at a mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any


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
    def mark(self) -> str:
        return {True: "holds", False: "FAILS", None: "untried"}[self.holds]

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
        return tuple(finding for finding in self.findings if finding.holds is False)

    @property
    def holds(self) -> bool:
        """Whether every contract that could be tried holds."""
        return not self.failed

    @property
    def signs(self) -> frozenset[str]:
        return frozenset().union(*(finding.signs for finding in self.findings))

    def __str__(self) -> str:
        tried = [finding for finding in self.findings if finding.holds is not None]
        head = f"{self.subject} ({self.kind}): {len(tried) - len(self.failed)} of {len(tried)} contracts hold"
        lines = [head, *(f"  note     {note}" for note in self.notes)]
        for finding in self.findings:
            lines += [f"  {finding.mark:<8} {finding.contract}: {finding.rule}", f"           {finding.proof}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "kind": self.kind,
            "holds": self.holds,
            "notes": list(self.notes),
            "findings": [finding.to_dict() for finding in self.findings],
        }
