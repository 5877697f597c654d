"""The contracts of attention about what a mask hides: T1 causal, T3 padding and T5 finite."""

from __future__ import annotations

import numpy as np

from mlxdecoder.contracts.attention_subject import AttentionSubject
from mlxdecoder.contracts.contract import CallError, Seen, Untried, judged
from mlxdecoder.contracts.probe import Probe, causal, coarse, moved, size_of


def causal_holds(probe: Probe) -> Seen:
    """Change keys and values; queries before them may not move: with fewer queries than keys, and with as many."""
    n = probe.subject.sizes
    if probe.subject.reading is None or not probe.subject.carries(causal(n.T, n.S)):
        _need_causal_by_itself(probe)
        return _future(probe.square, masked=False)
    seen = _future(probe, masked=True)
    if not seen.holds or n.T == n.S:
        return seen
    try:
        return _future(probe.square, masked=True)
    except CallError:
        return seen


def _future(probe: Probe, masked: bool) -> Seen:
    """Whether keys and values at one position after another move queries that may not see them."""
    q, k, v = probe.draw()
    T, S = q.shape[2], k.shape[2]
    allowed = causal(T, S) if masked else None
    before, random = probe.subject(q, k, v, allowed), probe.random
    counted = True if allowed is None else probe.sees(allowed)
    hidden = ~causal(T, S)[0, 0]
    distances = []
    for s in range(1, S):
        k_new, v_new = k.copy(), v.copy()
        k_new[:, :, s], v_new[:, :, s] = (3 * random.standard_normal(x[:, :, s].shape) for x in (k, v))
        moves = np.where(counted, moved(before, probe.subject(q, k_new, v_new, allowed)), 0).max(axis=(0, 1))
        distances.append(np.where(hidden[:, s], moves, 0))
    return _judged_future(np.stack(distances, axis=1), size_of(before), probe.tolerance, f"{T} queries, {S} keys")


def _judged_future(influence: np.ndarray, size: float, tolerance: float, lengths: str) -> Seen:
    """`influence` [T, S - 1] is how far each query moved with each key but the first."""
    query, key = (int(i) for i in np.unravel_index(influence.argmax(), influence.shape))
    far = float(influence.max())
    if far <= tolerance * size:
        return judged(True, f"each key and value was changed; earlier outputs moved by {far:.2g} at most.", moved=far)
    proof = (
        f"the key and value at position {key + 1} were changed; under a causal mask query {query}'s output moved by "
        f"{far:.3g} (outputs are about {size:.2g} in size; {lengths}). It may not move at all.{coarse(far / size)}"
    )
    return judged(False, proof, "attention.future", moved=far, size=size, query=query, key=key + 1)


def _need_causal_by_itself(probe: Probe) -> None:
    subject = probe.subject
    if subject.without is None:
        probe.need_mask()
        raise Untried("its mask has no axis for the queries, so it cannot say which of them come first.")
    q, k, _ = probe.draw(T=subject.sizes.S)
    ahead = float(np.abs(subject.weights(q, k)[..., 0, 1:]).max())
    if not ahead <= probe.tolerance:
        raise Untried(
            f"no causal mask can be given to it, and without a mask query 0 gives a later key the weight {ahead:.2g}: "
            "right unless it is meant to be causal by itself."
        )


def padding_holds(probe: Probe) -> Seen:
    """Cut each row to its own length, and ask the same of the padded rows together."""
    probe.need_mask()
    try:
        # As many queries as keys, which are cut alike: how queries are aligned to keys stays the same then.
        distances, size = _moved_by_padding(probe, T=probe.subject.sizes.S)
    except CallError:
        distances, size = _moved_by_padding(probe, T=probe.subject.sizes.T)
    S = probe.subject.sizes.S
    lengths = _lengths(probe)
    worst = int(np.argmax(distances))
    far, padding = distances[worst], S - lengths[worst]
    if far <= probe.tolerance * size:
        return judged(True, f"rows of {lengths} keys, padded to {S}, moved by {far:.2g} at most.", moved=far)
    proof = (
        f"a row of {lengths[worst]} keys was padded with {padding} that its mask hides: its outputs moved by "
        f"{far:.3g} (they are about {size:.2g} in size). Padding may not move them at all.{coarse(far / size)}"
    )
    return judged(False, proof, "attention.padding", moved=far, size=size, padding=padding)


def _lengths(probe: Probe) -> list[int]:
    """How many keys each row of the batch has without its padding."""
    n = probe.subject.sizes
    return [n.S - 1 - b % (n.S - 1) for b in range(n.B)]


def _moved_by_padding(probe: Probe, T: int) -> tuple[list[float], float]:
    """How far the outputs of each row are moved by its padding, and the size of all."""
    q, k, v = probe.draw(T=T)
    S, lengths, distances, compared = k.shape[2], _lengths(probe), [], []
    padded = _padded(probe.subject, q, k, v, (np.arange(S) < np.array(lengths)[:, None])[:, None, None])
    for b, length in enumerate(lengths):
        rows, n = slice(b, b + 1), length if T == S else T
        alone = probe.subject(q[rows, :, :n], k[rows, :, :length], v[rows, :, :length])
        compared.append(padded[rows, :, :n])
        distances.append(float(moved(alone, compared[-1]).max()))
    if not all(np.isfinite(outputs).all() for outputs in compared):
        raise Untried("its outputs are NaN or infinite under a padding mask; see T5 finite.")
    return distances, size_of(padded)


def _padded(subject: AttentionSubject, q: np.ndarray, k: np.ndarray, v: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    if subject.carries(allowed):
        return subject(q, k, v, allowed)
    rows = [subject(q[b : b + 1], k[b : b + 1], v[b : b + 1], allowed[b : b + 1]) for b in range(len(q))]
    return np.concatenate(rows)


def finite_holds(probe: Probe) -> Seen:
    """Where a query sees something, its output is a number."""
    q, k, v = probe.draw()
    for masking in probe.maskings:
        output = masking(q, k, v)
        bad = ~np.isfinite(output).all(axis=-1) & masking.counted
        if bad.any():
            b, h, t = np.argwhere(bad)[0]
            proof = (
                f"with {masking.name} the output of query {t} (row {b}, head {h}) is {output[b, h, t][0]:.3g}, and "
                f"{bad.mean():.0%} of the outputs are no numbers, though their queries see something."
            )
            return judged(False, proof, "nan.masked", share=float(bad.mean()))
    return judged(True, f"all outputs are numbers with {', '.join(masking.name for masking in probe.maskings)}.")


def empty_rows_hold(probe: Probe) -> Seen:
    """A query from which everything is hidden gets zeros, and the others what they get anyway."""
    probe.need_mask()
    q, k, _ = probe.draw()
    allowed = _with_empty_rows(probe)
    weights = probe.subject.weights(q, k, allowed)
    empty = ~allowed.any(axis=-1)
    found, S = weights[empty], k.shape[2]
    b, _, t = np.argwhere(empty)[0]
    where = f"query {t} of row {b} may see nothing: it gets"
    if not np.isfinite(weights).all():
        beside = "" if np.isfinite(weights[~empty]).all() else ", and so do queries that see something"
        return judged(False, f"{where} NaN{beside}. Zeros are wanted.", "nan.empty")
    largest = float(np.abs(found).max())
    if largest <= probe.tolerance:
        return judged(True, f"{where} zeros.", weight=largest)
    if np.abs(found - 1 / S).max() <= probe.tolerance:
        proof = f"{where} the mean of all values, each with weight 1/{S}. Zeros are wanted."
        return judged(False, proof, "empty.uniform", weight=largest)
    proof = f"{where} values all the same, with weights up to {largest:.2g}. Zeros are wanted."
    return judged(False, proof, "empty.other", weight=largest)


def _with_empty_rows(probe: Probe) -> np.ndarray:
    """The mask that hides everything from as few queries as the subject's masks can say."""
    n = probe.subject.sizes
    for rows, queries in ((n.B - 1, n.T // 2), (slice(None), n.T // 2), (n.B - 1, slice(None)), (slice(None),) * 2):
        allowed = np.ones((n.B, n.H, n.T, n.S), bool)
        allowed[rows, :, queries] = False
        if probe.subject.carries(allowed):
            return allowed
    raise Untried("its mask can leave no query without keys.")
