"""One rule and how it is tried: what the contracts on decoders, translators and batches are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from mlxdecoder.contracts.finding import Finding, Report
from mlxdecoder.errors import UserError


class CallError(UserError):
    """A call of the user's function that raised, with its shapes; within a contract it counts as a failure."""


class Untried(Exception):
    """A contract cannot be tried; the message says why, or what to give."""


class Subject(Protocol):
    """What a contract asks of the thing under test."""

    @property
    def name(self) -> str: ...

    @property
    def notes(self) -> Sequence[str]: ...

    @property
    def trouble(self) -> str | None:
        """Why nothing can be shown by comparing answers, such as NaN or dropout; None where all is well."""


AnySubject = TypeVar("AnySubject", bound=Subject)


@dataclass(frozen=True)
class Seen:
    """What a trial has shown: the changing part of a `Finding`."""

    holds: bool | None
    proof: str
    signs: frozenset[str] = frozenset()
    measured: Mapping[str, Any] = field(default_factory=dict)


def judged(holds: bool, proof: str, *signs: str, **measured: Any) -> Seen:
    """The outcome of a trial; the signs count only where it failed."""
    return Seen(holds, proof, frozenset() if holds else frozenset(signs), measured)


@dataclass(frozen=True)
class Contract(Generic[AnySubject]):
    """A rule in a line, and the trial of it; `gated` ones compare answers, and are not tried on a troubled subject."""

    name: str
    rule: str
    look: Callable[[AnySubject], Seen]
    gated: bool = True

    def finding(self, subject: AnySubject) -> Finding:
        seen = self._seen(subject)
        return Finding(self.name, self.rule, seen.holds, seen.proof, seen.signs, seen.measured)

    def _seen(self, subject: AnySubject) -> Seen:
        try:
            if self.gated and subject.trouble is not None:
                raise Untried(subject.trouble)
            return self.look(subject)
        except Untried as reason:
            return Seen(None, str(reason))
        except CallError as error:
            return Seen(False, str(error))


def report(
    kind: str,
    subject: AnySubject,
    contracts: Sequence[Contract[AnySubject]],
    only: Collection[str] | None = None,
) -> Report:
    """Try all contracts, or those named in `only`, in their order; raises `UserError` for names that are none."""
    known = [contract.name for contract in contracts]
    if only is not None and (isinstance(only, str) or not only or not set(only) <= set(known)):
        raise UserError(f"only = {only!r}: a list of contracts on {kind} is wanted, of {', '.join(known)}.")
    chosen = [contract for contract in contracts if only is None or contract.name in only]
    findings = tuple(contract.finding(subject) for contract in chosen)
    return Report(subject.name, kind, findings, tuple(subject.notes))
