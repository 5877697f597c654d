"""The contracts of attention about what may touch what: T2 rows, T4 apart, T11 steady, T12 groups, T15 queries."""

from __future__ import annotations

import numpy as np

from mlxdecoder.contracts.contract import CallError, Seen, Untried, judged
from mlxdecoder.contracts.mask_meaning import Grade
from mlxdecoder.contracts.probe import Probe, coarse, moved, size_of

TINY = 1e-30
GROUPED = (6, 2)  # query heads and key heads of a function that says nothing of them


def steady_holds(probe: Probe) -> Seen:
    """Ask the same twice."""
    far, size = probe.shaken
    if probe.trouble is None:
        return judged(True, "the same question got the same answer twice.", moved=far)
    proof = f"the same question got answers {far:.3g} apart (they are about {size:.2g} in size): is dropout left on?"
    return judged(False, proof, "unsteady", moved=far, size=size)


def rows_hold(probe: Probe) -> Seen:
    """Where all values are ones, every output is the sum of the weights; where not, their sum by these weights."""
    q, k, v = probe.draw()
    worst, where = 1.0, ""
    for masking in probe.maskings:
        sums = masking(q, k, np.ones_like(v))[..., 0]
        sums = np.where(np.isfinite(sums) & masking.counted, sums, 1.0)  # T5 finite is about the others
        b, h, t = np.unravel_index(np.abs(sums - 1).argmax(), sums.shape)
        if abs(sums[b, h, t] - 1) > abs(worst - 1):
            worst, where = float(sums[b, h, t]), f"with {masking.name} the weights of query {t} (row {b}, head {h})"
    if abs(worst - 1) <= probe.tolerance:
        names = ", ".join(masking.name for masking in probe.maskings)
        proof = f"all sums are 1 within {abs(worst - 1):.1g}, with {names}."
        return _not_linear(probe) or _other_without(probe) or judged(True, proof, sum=worst)
    columns = probe.subject.weights(q, k).sum(axis=2)
    if np.abs(columns - 1).max() <= probe.tolerance:
        why = "Instead each key's weights, over all queries, sum to 1: the softmax runs along the wrong axis."
        return judged(False, f"{where} sum to {worst:.3g}. {why}", "rows.columns", sum=worst)
    sign = "rows.short" if worst < 1 else "rows.long"
    proof = f"{where} sum to {worst:.3g}. They must sum to 1.{coarse(abs(worst - 1))}"
    return judged(False, proof, sign, sum=worst)


def _not_linear(probe: Probe) -> Seen | None:
    """The weights are read off values like 1 0 0: other values must be summed up by these weights."""
    q, k, v = probe.draw()
    v = np.broadcast_to(v[:1, :1], v.shape)  # the same for all, so that mixed heads and rows do not matter
    output, wanted = probe.subject(q, k, v), probe.subject.weights(q, k) @ v[:1, :1]
    far, size = float(np.nan_to_num(np.abs(output - wanted)).max()), size_of(output)
    if far <= probe.tolerance * size:
        return None
    proof = (
        f"the outputs are {far:.3g} away from the values summed up by the weights (they are about {size:.2g} in size): "
        f"something is done to them besides.{coarse(far / size)}"
    )
    return judged(False, proof, "rows.other", moved=far, size=size)


def _other_without(probe: Probe) -> Seen | None:
    """Where None is a mask too, it may hide keys by default, but must not change how the others share the weight."""
    if not (probe.subject.promises_none and probe.known.grade is Grade.HIDES):
        return None
    q, k, _ = probe.draw()
    shown, without = probe.subject.weights(q, k), probe.subject.unmasked.weights(q, k)
    wanted = np.where(without == 0, 0, shown)
    wanted /= np.maximum(wanted.sum(axis=-1, keepdims=True), TINY)
    far = np.nan_to_num(np.abs(without - wanted))
    b, h, t, s = np.unravel_index(far.argmax(), far.shape)
    if far[b, h, t, s] <= probe.tolerance:
        return None
    proof = (
        f"with None as the mask query {t} (row {b}, head {h}) gives key {s} the weight {without[b, h, t, s]:.3g}, and "
        f"with a mask that hides nothing {wanted[b, h, t, s]:.3g}. They must be equal.{coarse(far.max())}"
    )
    return judged(False, proof, "rows.other", moved=float(far.max()))


def apart_holds(probe: Probe) -> Seen:
    """Change everything in one row of the batch, then in one head: the others may not move."""
    q, k, v = probe.draw()
    axes = [axis for axis in (0, 1) if q.shape[axis] > 1]
    if not axes:
        raise Untried("it takes neither a batch nor heads.")
    # A shared key head moves several query heads, as it must.
    only_query = k.shape[1] < q.shape[1]
    distances = {axis: _moved_beside(probe, axis, only_query=only_query and axis == 1) for axis in axes}
    size = size_of(probe.subject(q, k, v))
    limit = probe.tolerance * size
    names = {0: "row of the batch", 1: "head"}
    signs = {0: "rows.mixed", 1: "heads.mixed"}
    measured = {names[axis]: far for axis, far in distances.items()}
    mixed = [axis for axis in axes if distances[axis] > limit]
    if not mixed:
        proof = f"rows and heads do not move each other (by {max(distances.values()):.2g} at most)."
        return judged(True, proof, **measured)
    told = "; ".join(f"one {names[axis]} was changed and the others moved by {distances[axis]:.3g}" for axis in mixed)
    proof = f"{told} (outputs are about {size:.2g} in size).{coarse(max(distances.values()) / size)}"
    return judged(False, proof, *(signs[axis] for axis in mixed), **measured)


def queries_hold(probe: Probe) -> Seen:
    """Change one query: the outputs of the others may not move."""
    far, size = _moved_beside(probe, 2, only_query=True), size_of(probe.subject(*probe.draw()))
    if far <= probe.tolerance * size:
        return judged(True, f"one query was changed and the others moved by {far:.2g} at most.", moved=far)
    proof = (
        f"one query was changed and the outputs of the others moved by {far:.3g} (they are about {size:.2g} in "
        f"size). They may not move at all: does the softmax run over the queries?{coarse(far / size)}"
    )
    return judged(False, proof, "queries.mixed", moved=far, size=size)


def _moved_beside(probe: Probe, axis: int, only_query: bool) -> float:
    """Change the first slice along an axis, then the last; how far the outputs beside it move."""
    operands, random = probe.draw(), np.random.default_rng([probe.seed, 1])
    before, far = probe.subject(*operands), 0.0
    for place, others in ((0, slice(1, None)), (-1, slice(-1))):
        q, k, v = (x.copy() for x in operands)
        for x in (q,) if only_query else (q, k, v):
            changed = np.moveaxis(x, axis, 0)[place]
            changed[...] = 3 * random.standard_normal(changed.shape)
        moves = np.moveaxis(moved(before, probe.subject(q, k, v)), axis, 0)[others]
        far = max(far, float(moves.max()))
    return far


def groups_hold(probe: Probe) -> Seen:
    """Mark the values of each key head, then change its keys, and see which query heads notice."""
    if probe.subject.operands.dropped:
        raise Untried("it takes no heads.")
    n = probe.subject.sizes
    H, Hkv = (n.H, n.Hkv) if probe.grouped else GROUPED
    heads = f"{H} query heads over {Hkv} key heads"
    try:
        by_value, by_key = _groups_of_values(probe, H, Hkv), _groups_of_keys(probe, H, Hkv)
    except CallError as error:
        if probe.grouped:
            return judged(False, f"{heads} are refused: {error}", "groups.other")
        raise Untried(f"{heads} are refused, which is fine if they are not meant: {error}") from error
    wanted, tiled = [h // (H // Hkv) for h in range(H)], [h % Hkv for h in range(H)]
    proof = f"the {H} query heads use the value heads {_listed(by_value)} and the key heads {_listed(by_key)}"
    if by_value == by_key == wanted:
        return judged(True, f"{proof}.", wanted=wanted)
    sign = "groups.tiled" if tiled in (by_value, by_key) else "groups.other"
    proof = f"{proof}; {_listed(wanted)} are wanted (h // {H // Hkv})."
    return judged(False, proof, sign, wanted=wanted, values=by_value, keys=by_key)


def _listed(heads: list[int]) -> str:
    return " ".join("?" if head < 0 else str(head) for head in heads)


def _groups_of_values(probe: Probe, H: int, Hkv: int) -> list[int]:
    """Which value head each query head's output is made of; -1 where it is none or several."""
    q, k, v = probe.draw(H=H, Hkv=Hkv)
    shares = []
    for g in range(Hkv):
        marked = np.zeros_like(v)
        marked[:, g] = 1
        shares.append(probe.subject(q, k, marked).mean(axis=(0, 2, 3)))
    share = np.abs(np.nan_to_num(np.stack(shares, axis=1)))  # [H, Hkv]
    pure = share.max(axis=1) > 0.99 * share.sum(axis=1)
    return [int(g) if alone else -1 for g, alone in zip(share.argmax(axis=1), pure, strict=True)]


def _groups_of_keys(probe: Probe, H: int, Hkv: int) -> list[int]:
    """Which key head's change moves each query head's weights; -1 where it is none or several."""
    q, k, _ = probe.draw(H=H, Hkv=Hkv)
    before, moves = probe.subject.weights(q, k), np.zeros((H, Hkv), bool)
    for g in range(Hkv):
        turned = k.copy()
        turned[:, g] *= -1
        moves[:, g] = moved(before, probe.subject.weights(q, turned)).max(axis=(0, 2)) > probe.tolerance
    return [int(row.argmax()) if row.sum() == 1 else -1 for row in moves]
