"""The contracts of attention: try a function f(q, k, v, mask) against each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import count
from typing import Any

from mlxdecoder.contracts.attention_masking import (
    causal_holds,
    empty_rows_hold,
    finite_holds,
    padding_holds,
)
from mlxdecoder.contracts.attention_rows import GROUPED, apart_holds, groups_hold, queries_hold, rows_hold, steady_holds
from mlxdecoder.contracts.attention_scores import half_holds, large_holds, scale_holds
from mlxdecoder.contracts.attention_subject import Sizes
from mlxdecoder.contracts.attention_support import support_holds
from mlxdecoder.contracts.contract import Contract, report
from mlxdecoder.contracts.finding import Report
from mlxdecoder.contracts.mask_forms import KINDS
from mlxdecoder.contracts.mask_meaning import RANKS, get_to_know
from mlxdecoder.contracts.options import check_probing, check_size, is_size, said
from mlxdecoder.contracts.probe import Probe
from mlxdecoder.errors import UserError

CONTRACTS: tuple[Contract[Probe], ...] = (
    Contract("T1 causal", "later keys and values do not move earlier outputs under a causal mask", causal_holds),
    Contract("T2 rows", "the weights of each query sum to 1", rows_hold),
    Contract("T3 padding", "a row alone and padded gives the same", padding_holds),
    Contract("T4 apart", "other rows of the batch and other heads do not move an output", apart_holds),
    Contract("T5 finite", "there is no NaN where something is seen", finite_holds, gated=False),
    Contract("T5 empty rows", "queries that see nothing get zeros", empty_rows_hold),
    Contract("T7 scale", "the weights are softmax(q k^T / sqrt(head width))", scale_holds),
    Contract("T8 support", "hidden keys get no weight, seen keys get some", support_holds),
    Contract("T11 steady", "the same question gets the same answer", steady_holds, gated=False),
    Contract("T12 groups", "query head h uses key and value head h // (H / Hkv)", groups_hold),
    Contract("T13 large", "large scores do not overflow", large_holds),
    Contract("T13 half", "large operands in float16 do not overflow", half_holds),
    Contract("T15 queries", "another query's change moves no output", queries_hold),
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
    check_probing(seed, tolerance)
    mask = said(f, "mask", mask, lambda found: isinstance(found, str) and found in KINDS)
    rank = said(f, "rank", rank, lambda found: is_size(found) and found in RANKS)
    heads = {"n_heads": n_heads, "n_kv_heads": n_kv_heads, "head_width": head_width}
    heads = {name: check_size(name, said(f, name, value, is_size)) for name, value in heads.items()}
    known = get_to_know(f, arrays=arrays, mask=mask, rank=rank, sizes=_sizes(**heads), seed=seed)
    return report("attention", Probe(known, seed, tolerance, heads["n_kv_heads"] is not None, half), CONTRACTS, only)


def _sizes(n_heads: int | None, n_kv_heads: int | None, head_width: int | None) -> Sizes:
    """Sizes that all differ, as far as what is given lets them: no axis may be mistaken for another."""
    groups = (3 * n_kv_heads, 2 * n_kv_heads) if n_kv_heads else (4, 6)
    H = n_heads or _free(groups, {head_width})
    Hkv = n_kv_heads or H
    if H % Hkv:
        raise UserError(f"n_heads = {H}: a multiple of n_kv_heads = {Hkv} is wanted.")
    width = head_width or _free((32, 16, 8), {H, Hkv})
    taken = {H, Hkv, width, *GROUPED}
    B = _free(count(3), taken)
    T = _free(count(5), {*taken, B})
    return Sizes(B=B, H=H, Hkv=Hkv, T=T, S=_free(count(T + 2), {*taken, B}), width=width)


def _free(sizes: Iterable[int], taken: Collection[int | None]) -> int:
    return next(size for size in sizes if size not in taken)
