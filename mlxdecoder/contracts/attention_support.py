"""The contract of attention about where the weights are: T8 support."""

from __future__ import annotations

import numpy as np

from mlxdecoder.contracts.contract import Seen, judged
from mlxdecoder.contracts.mask_meaning import Grade
from mlxdecoder.contracts.probe import Probe

STARK = 150.0  # scores of this size, with both signs, show a fill value that is not low enough
BLIND = 0.01  # of the weight that a key has without a mask


def support_holds(probe: Probe) -> Seen:
    """Compare where the weights are with where the mask allows them, with mild scores and with stark ones."""
    if probe.known.grade is Grade.IGNORES and probe.subject.reading is None:
        return judged(False, probe.known.why_no_mask, "support.leak")
    probe.need_mask()
    subject = probe.subject
    q, k, _ = probe.draw()
    # A function may be causal without a mask, or hide a key from all with any mask.
    shown = subject.weights(q, k)
    open_weights = np.where(shown > 0, shown, subject.unmasked.weights(q, k))
    leaks, blind = [], []
    for masking in probe.masks():
        name, allowed = masking.name, masking.allowed
        assert allowed is not None
        weights = subject.weights(q, k, allowed)
        if inverted := _inverted(name, weights, allowed):
            return inverted
        leaks.append(_leak(f"with {name}", weights, allowed | ~masking.counted[..., None]))
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
    return [_leak(where, subject.weights(q, k, allowed), allowed | ~probe.sees(allowed)[..., None])]


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
