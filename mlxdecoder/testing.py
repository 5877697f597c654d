"""Assertions for anybody's tests: one contract each, and the proof in the message when it does not hold.

>>> from mlxdecoder.testing import assert_causal
>>> from mlxdecoder import LanguageModel, ModelConfig
>>> assert_causal(LanguageModel(ModelConfig(architecture="language_model")))
>>> assert_causal(my_attention, kind="attention")

Each takes the thing under test; `kind=` where it exists for several, the first one named here when none is said; and
the options of `mlxdecoder.contracts.check` for that kind. What is asked of whom:

decoder, translator, attention   assert_causal, assert_padding_ignored (pad=), assert_rows_apart, assert_finite,
                                 assert_steady
decoder, translator              assert_past_seen, assert_documents_apart (separator=), assert_order_counts,
                                 assert_cache_agrees (make_cache=, or stepwise= for a translator)
translator                       assert_source_seen (encode=, decode=), assert_source_counts
attention                        assert_rows_sum_to_one, assert_scaled, assert_mask_obeyed, assert_groups_in_order,
                                 assert_queries_apart, assert_large_scores_finite, assert_half_types_finite,
                                 assert_empty_rows_zero
batches (begin=, end=, pad=)     assert_targets_shifted, assert_begin_marked, assert_end_counted,
                                 assert_padding_uncounted, assert_tokens_counted

`assert_holds(f, kind=...)` tries all contracts of a kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlxdecoder.contracts import Finding, Kind, Report, check
from mlxdecoder.contracts.causes import usual_causes
from mlxdecoder.errors import UserError


@dataclass(frozen=True)
class Assertion:
    """Raises `AssertionError` unless a contract holds: also when it cannot be tried, for want of an option, say.

    `kinds` are what it exists for; the first is the kind when none is said.
    """

    contract: str
    kinds: tuple[Kind, ...]

    def __call__(self, f: Callable[..., Any], *, kind: Kind | None = None, **options: Any) -> None:
        __tracebackhide__ = True
        kind = kind or self.kinds[0]
        if kind not in self.kinds:
            raise UserError(f"kind = {kind!r}: {self.contract} is a contract of {', '.join(self.kinds)}.")
        if self.contract == "T13 half":
            options.setdefault("half", True)
        report = check(f, kind, only=[self.contract], **options)
        (finding,) = report.findings
        if not finding.holds:
            raise AssertionError(_explain(report, finding))


def assert_holds(f: Callable[..., Any], *, kind: Kind, **options: Any) -> None:
    """Try all contracts of a kind; raises `AssertionError` with every proof unless all that can be tried hold.

    It also raises when none can be tried, with what to give.
    """
    __tracebackhide__ = True
    report = check(f, kind, **options)
    tried = any(finding.holds is not None for finding in report.findings)
    wanting = report.failed if tried else report.findings
    if wanting:
        raise AssertionError("\n\n".join(_explain(report, finding) for finding in wanting))


def _explain(report: Report, finding: Finding) -> str:
    outcome = "cannot be tried on" if finding.holds is None else "does not hold for"
    lines = [
        f"{finding.contract} {outcome} {report.subject} ({report.kind})",
        f"  asked: {finding.rule}",
        f"  seen: {finding.proof}",
    ]
    return "\n".join(lines + [f"  usual cause: {cause}" for cause in usual_causes(finding.signs)])


MODELS: tuple[Kind, ...] = ("decoder", "translator")
ALL: tuple[Kind, ...] = (*MODELS, "attention")
ATTENTION: tuple[Kind, ...] = ("attention",)
TRANSLATOR: tuple[Kind, ...] = ("translator",)
BATCHES: tuple[Kind, ...] = ("batches",)

assert_causal = Assertion("T1 causal", ALL)
assert_past_seen = Assertion("T1 reach", MODELS)
assert_rows_sum_to_one = Assertion("T2 rows", ATTENTION)
assert_padding_ignored = Assertion("T3 padding", ALL)
assert_rows_apart = Assertion("T4 apart", ALL)
assert_documents_apart = Assertion("T4 documents", MODELS)
assert_finite = Assertion("T5 finite", ALL)
assert_empty_rows_zero = Assertion("T5 empty rows", ATTENTION)
assert_targets_shifted = Assertion("T6 targets", BATCHES)
assert_begin_marked = Assertion("T6 begin", BATCHES)
assert_end_counted = Assertion("T6 end", BATCHES)
assert_padding_uncounted = Assertion("T6 padding", BATCHES)
assert_tokens_counted = Assertion("T6 counted", BATCHES)
assert_scaled = Assertion("T7 scale", ATTENTION)
assert_mask_obeyed = Assertion("T8 support", ATTENTION)
assert_source_seen = Assertion("T8 crossing", TRANSLATOR)
assert_cache_agrees = Assertion("T9 cache", MODELS)
assert_order_counts = Assertion("T10 order", MODELS)
assert_steady = Assertion("T11 steady", ALL)
assert_groups_in_order = Assertion("T12 groups", ATTENTION)
assert_large_scores_finite = Assertion("T13 large", ATTENTION)
assert_half_types_finite = Assertion("T13 half", ATTENTION)
assert_queries_apart = Assertion("T15 queries", ATTENTION)
assert_source_counts = Assertion("T16 source", TRANSLATOR)
