"""The contracts of attention: try a function f(q, k, v, mask) against each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from mlxdecoder.contracts.attention_masking import (
    causal_holds,
    empty_rows_hold,
    finite_holds,
    padding_holds,
    support_holds,
)
from mlxdecoder.contracts.attention_rows import apart_holds, groups_hold, queries_hold, rows_hold, steady_holds
from mlxdecoder.contracts.attention_scores import half_holds, large_holds, scale_holds
from mlxdecoder.contracts.attention_subject import Sizes
from mlxdecoder.contracts.contract import report
from mlxdecoder.contracts.finding import Report
from mlxdecoder.contracts.mask_meaning import get_to_know
from mlxdecoder.contracts.probe import Probe, contract

CONTRACTS = (
    contract("T1 causal", "later keys and values do not move earlier outputs under a causal mask", causal_holds),
    contract("T2 rows", "the weights of each query sum to 1", rows_hold),
    contract("T3 padding", "a row alone and padded gives the same", padding_holds),
    contract("T4 apart", "other rows of the batch and other heads do not move an output", apart_holds),
    contract("T5 finite", "there is no NaN where something is seen", finite_holds, gated=False),
    contract("T5 empty rows", "queries that see nothing get zeros", empty_rows_hold),
    contract("T7 scale", "the weights are softmax(q k^T / sqrt(head width))", scale_holds),
    contract("T8 support", "hidden keys get no weight, seen keys get some", support_holds),
    contract("T11 steady", "the same question gets the same answer", steady_holds, gated=False),
    contract("T12 groups", "query head h uses key and value head h // (H / Hkv)", groups_hold),
    contract("T13 large", "large scores do not overflow", large_holds),
    contract("T13 half", "large operands in float16 do not overflow", half_holds),
    contract("T15 queries", "another query's change moves no output", queries_hold),
)


def attention_findings(
    f: Callable[..., Any],
    *,
    arrays: str | None = None,
    mask: str | None = None,
    rank: int | None = None,
    n_heads: int | None = None,
    n_kv_heads: int | None = None,
    head_width: int | None = None,
    half: bool = False,
    seed: int = 0,
    tolerance: float = 1e-4,
    only: Collection[str] | None = None,
) -> Report:
    """Try f(q [B, H, T, dh], k [B, Hkv, S, dh], v [B, Hkv, S, dv], mask) -> [B, H, T, dv] against every contract.

    Functions without heads, [B, T, d], or without a batch are taken too, as are those without a mask. What is not said
    is found by trying: `arrays` ("mlx", "numpy", "torch"), what the `mask` means ("allowed", "blocked", "additive")
    and its `rank`. `n_kv_heads` demands grouped heads; `half` adds float16. Attributes of f named `mask`, `rank`,
    `n_heads`, `n_kv_heads` and `head_width` stand in for what is not given. `tolerance` is relative to the outputs'
    standard deviation; `only` names the contracts to be tried. Raises `UserError` when f answers no call, or for an
    option that is none.
    """
    given = {"mask": mask, "rank": rank, "n_heads": n_heads, "n_kv_heads": n_kv_heads, "head_width": head_width}
    said: dict[str, Any] = {name: _said(f, name) if value is None else value for name, value in given.items()}
    known = get_to_know(f, arrays=arrays, mask=said["mask"], rank=said["rank"], sizes=_sizes(said), seed=seed)
    return report("attention", Probe(known, seed, tolerance, said["n_kv_heads"] is not None, half), CONTRACTS, only)


def _said(f: Callable[..., Any], name: str) -> Any:
    """An attribute of f that can be an option; a module's mask, say, may well be an array."""
    value = getattr(f, name, None)
    return value if isinstance(value, (str, int)) else None


def _sizes(said: dict[str, Any]) -> Sizes:
    """Three rows, or two where three is the number of heads: no two axes may be mistaken for each other."""
    Hkv = said["n_kv_heads"]
    H = said["n_heads"] or (3 * Hkv if Hkv else Sizes.H)
    return Sizes(B=2 if H == 3 else 3, H=H, Hkv=Hkv or H, width=said["head_width"] or Sizes.width)
