"""The contracts of attention about what a mask hides: T1 causal, T3 padding, T5 finite, T8 support."""

from __future__ import annotations

import numpy as np

from mlxdecoder.contracts.attention_subject import AttentionSubject
from mlxdecoder.contracts.contract import Seen, judged
from mlxdecoder.contracts.mask_meaning import Grade
from mlxdecoder.contracts.probe import Probe, Untried, causal, moved, size_of

STARK = 150.0  # scores of this size, with both signs, show a fill value that is not low enough
BLIND = 0.01  # of the weight that a key has without a mask


def causal_holds(probe: Probe) -> Seen:
    """Change the keys and values at one position after another; queries that may not see it may not move."""
    subject = probe.subject
    allowed = None
    if subject.reading is None or not subject.carries(causal(subject.sizes.T, subject.sizes.S)):
        _need_causal_by_itself(probe)
        q, k, v = probe.draw(T=subject.sizes.S)
    else:
        allowed = causal(subject.sizes.T, subject.sizes.S)
        q, k, v = probe.draw()
    before, random = subject(q, k, v, allowed), probe.random
    hidden = ~causal(q.shape[2], k.shape[2])[0, 0]
    distances = []
    for s in range(1, k.shape[2]):
        k_new, v_new = k.copy(), v.copy()
        k_new[:, :, s], v_new[:, :, s] = (3 * random.standard_normal(x[:, :, s].shape) for x in (k, v))
        moves = moved(before, subject(q, k_new, v_new, allowed)).max(axis=(0, 1))
        distances.append(np.where(hidden[:, s], moves, 0))
    influence = np.stack(distances, axis=1)  # [T, S - 1]
    query, key = (int(i) for i in np.unravel_index(influence.argmax(), influence.shape))
    far, size = float(influence.max()), size_of(before)
    if far <= probe.tolerance * size:
        return judged(True, f"each key and value was changed; earlier outputs moved by {far:.2g} at most.", moved=far)
    proof = (
        f"the key and value at position {key + 1} were changed; under a causal mask query {query}'s output moved by "
        f"{far:.3g} (outputs are about {size:.2g} in size). It may not move at all."
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
    subject = probe.subject
    q, k, v = probe.draw()
    B, T, S = q.shape[0], q.shape[2], k.shape[2]
    lengths = [S - 1 - b % (S - 1) for b in range(B)]
    allowed = np.stack([np.arange(S) < length for length in lengths])[:, None, None]
    padded = _padded(subject, q, k, v, allowed)
    if not np.isfinite(padded).all():
        raise Untried("its outputs are NaN or infinite under a padding mask; see T5 finite.")
    distances = []
    for b, length in enumerate(lengths):
        rows = slice(b, b + 1)
        n = length if T == S else T  # where there must be as many queries as keys, both are cut
        alone = subject(q[rows, :, :n], k[rows, :, :length], v[rows, :, :length])
        distances.append(float(moved(alone, padded[rows, :, :n]).max()))
    worst, size = int(np.argmax(distances)), size_of(padded)
    far, padding = distances[worst], S - lengths[worst]
    if far <= probe.tolerance * size:
        return judged(True, f"rows of {lengths} keys, padded to {S}, moved by {far:.2g} at most.", moved=far)
    proof = (
        f"a row of {lengths[worst]} keys was padded with {padding} that its mask hides: its outputs moved by "
        f"{far:.3g} (they are about {size:.2g} in size). Padding may not move them at all."
    )
    return judged(False, proof, "attention.padding", moved=far, size=size, padding=padding)


def _padded(subject: AttentionSubject, q: np.ndarray, k: np.ndarray, v: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    if subject.carries(allowed):
        return subject(q, k, v, allowed)
    rows = [subject(q[b : b + 1], k[b : b + 1], v[b : b + 1], allowed[b : b + 1]) for b in range(len(q))]
    return np.concatenate(rows)


def finite_holds(probe: Probe) -> Seen:
    """Every query sees something, so every output is a number."""
    q, k, v = probe.draw()
    tried: list[tuple[str, np.ndarray | None]] = [("no mask", None), *probe.masks()]
    for name, allowed in tried:
        output = probe.subject(q, k, v, allowed)
        bad = ~np.isfinite(output).all(axis=-1)
        if bad.any():
            b, h, t = np.argwhere(bad)[0]
            proof = (
                f"with {name} the output of query {t} (row {b}, head {h}) is {output[b, h, t][0]:.3g}, and "
                f"{bad.mean():.0%} of the outputs are no numbers, though every query sees something."
            )
            return judged(False, proof, "nan.masked", share=float(bad.mean()))
    return judged(True, f"all outputs are numbers with {', '.join(name for name, _ in tried)}.")


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


def support_holds(probe: Probe) -> Seen:
    """Compare where the weights are with where the mask allows them, with mild scores and with stark ones."""
    if probe.known.grade is Grade.IGNORES and probe.subject.reading is None:
        return judged(False, probe.known.why_no_mask, "support.leak")
    probe.need_mask()
    subject = probe.subject
    q, k, _ = probe.draw()
    open_weights = subject.unmasked.weights(q, k)
    leaks, blind = [], []
    for name, allowed in probe.masks():
        weights = subject.weights(q, k, allowed)
        if inverted := _inverted(name, weights, allowed):
            return inverted
        leaks.append(_leak(f"with {name}", weights, allowed))
        blind.append(_blind(name, weights, open_weights, allowed))
    leaks += _stark_leaks(probe)
    (leak, leak_proof), (share, blind_proof) = max(leaks), min(blind)
    if leak > probe.tolerance:
        return judged(False, leak_proof, "support.leak", leak=leak)
    if share < BLIND:
        return judged(False, blind_proof, "support.blind", share=share)
    return judged(True, f"hidden keys get the weight {leak:.2g} at most, and seen keys get some.", leak=leak)


def _inverted(name: str, weights: np.ndarray, allowed: np.ndarray) -> Seen | None:
    finite = np.isfinite(weights).all(axis=-1)
    hidden = np.where(allowed, 0, weights).sum(axis=-1)[finite]
    seen = np.where(allowed, weights, 0).sum(axis=-1)[finite]
    if not len(hidden) or not (seen < BLIND * hidden).all():
        return None
    proof = (
        f"with {name} the hidden keys get the weight {hidden.mean():.3g} together and the seen ones {seen.mean():.2g}: "
        "the mask is read the wrong way round."
    )
    return judged(False, proof, "support.inverted", hidden=float(hidden.mean()), seen=float(seen.mean()))


def _leak(where: str, weights: np.ndarray, allowed: np.ndarray) -> tuple[float, str]:
    hidden = np.where(allowed | ~np.isfinite(weights), 0, np.abs(weights))
    _, _, t, s = np.unravel_index(hidden.argmax(), hidden.shape)
    leak = float(hidden.max())
    return leak, f"{where} query {t} gives key {s} the weight {leak:.3g}, though it is hidden. It must be 0."


def _stark_leaks(probe: Probe) -> list[tuple[float, str]]:
    """Hide the keys with high scores and leave those with low ones: a fill value must be lower than any score."""
    subject = probe.subject
    q, k, _ = probe.draw()
    S, height = k.shape[2], STARK * np.sqrt(q.shape[-1])
    allowed = np.broadcast_to(np.arange(S) % 3 != 1, (*q.shape[:3], S))
    if not subject.carries(allowed):
        return []
    q[..., 0], k[..., 0] = 1, np.where(allowed[0, 0, 0], -height, height)
    where = f"the keys with scores of about {STARK:.0f} are hidden, those with {-STARK:.0f} are seen:"
    return [_leak(where, subject.weights(q, k, allowed), allowed)]


def _blind(name: str, weights: np.ndarray, open_weights: np.ndarray, allowed: np.ndarray) -> tuple[float, str]:
    """The smallest weight of a seen key, as a share of what it has without a mask."""
    counted = allowed & (open_weights > 0) & np.isfinite(weights)
    shares = np.where(counted, weights / np.where(counted, open_weights, 1), 1.0)
    _, _, t, s = np.unravel_index(shares.argmin(), shares.shape)
    least = float(shares.min())
    return (
        least,
        f"with {name} query {t} gives key {s} the weight {least:.2g} of what it has unmasked, though it is seen.",
    )
