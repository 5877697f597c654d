"""The contracts of attention about its scores: T7 scale, T13 large and T13 half."""

from __future__ import annotations

import numpy as np

from mlxdecoder.contracts.attention_subject import Sizes
from mlxdecoder.contracts.contract import CallError, Seen, Untried, judged
from mlxdecoder.contracts.probe import Probe, coarse

LARGE = 1e4
TINY = 1e-30  # weights below it are rounded too coarsely to measure by
UNEXPLAINED = 0.01  # the share of the log-weights that rounding may leave
EXACT = 1e-3  # how closely a scale is measured in float32


def scale_holds(probe: Probe) -> Seen:
    """Measure how steeply the logarithms of the weights follow the dot products."""
    q, k, _ = probe.draw()
    # Small, so that no weight vanishes; the same for all heads, so that groups do not matter.
    q, k = 0.3 * q, np.broadcast_to(k[:, :1], k.shape)
    found, unexplained = _slope(q @ k[:, :1].swapaxes(-1, -2), probe.subject.weights(q, k))
    if probe.subject.without is None and abs(found) < EXACT * q.shape[-1] ** -0.5:
        raise Untried("it wants a mask, and one that hides nothing makes all weights equal; see T8 support.")
    width, tolerance = q.shape[-1], max(EXACT, 10 * probe.tolerance)
    wanted = width**-0.5
    if unexplained > max(UNEXPLAINED, 10 * probe.tolerance):
        proof = (
            f"the weights follow softmax(scale * q k^T) for no scale: {unexplained:.0%} of their logarithms is left."
        )
        return judged(False, proof, "scale.unrelated", unexplained=unexplained)
    proof = f"the dot products are multiplied by {found:.4g}{_name_of_scale(found, probe.subject.sizes, tolerance)}; "
    off = abs(found / wanted - 1)
    holds = off <= tolerance
    proof += f"1/sqrt(head width) is 1/sqrt({width}) = {wanted:.4g}.{'' if holds else coarse(off)}"
    sign = "scale.none" if abs(found - 1) <= tolerance else "scale.other"
    return judged(holds, proof, sign, scale=found, wanted=wanted)


def _slope(dots: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The scale, and the share of the log-weights that it does not explain: the medians over rows and heads."""
    T, S = dots.shape[2:]
    slopes, shares = [], []
    for x, w in zip(dots.reshape(-1, T, S), weights.reshape(-1, T, S), strict=True):
        t, s = np.nonzero(np.isfinite(w) & (w > TINY))
        if len(t) <= T + S:
            continue
        # Log-sums are free, along rows and columns: along which axis the softmax runs is for T15 queries to say.
        free = np.concatenate([np.eye(T)[t], np.eye(S)[s]], axis=1)
        dot, log = (y - free @ np.linalg.lstsq(free, y, rcond=None)[0] for y in (x[t, s], np.log(w[t, s])))
        slope = float(dot @ log / (dot @ dot))
        slopes.append(slope)
        shares.append(float(np.std(log - slope * dot) / (np.std(log) + 1e-12)))
    if not slopes:
        raise Untried("its weights are NaN or 0, so that no scale can be read off them; see T5 finite.")
    return float(np.median(slopes)), float(np.median(shares))


def _name_of_scale(found: float, n: Sizes, tolerance: float) -> str:
    names = {
        "none at all": 1.0,
        "1/head width": 1 / n.width,
        "1/sqrt(heads * head width)": (n.H * n.width) ** -0.5,
        "sqrt(head width)": n.width**0.5,
        "1/sqrt(keys)": n.S**-0.5,
        "1/sqrt(queries)": n.T**-0.5,
        "1/sqrt(heads)": n.H**-0.5,
        "1/heads": 1 / n.H,
        "1/sqrt(64)": 64**-0.5,
    }
    fitting = (name for name, scale in names.items() if abs(found / scale - 1) <= tolerance and scale != n.width**-0.5)
    return next((f" ({name})" for name in fitting), "")


def large_holds(probe: Probe) -> Seen:
    """Scores of both signs, all negative and all positive: the weights are numbers, and not all of them zero."""
    q, k, _ = probe.draw()
    steps = probe.random.permutation(np.linspace(-1, 1, k.shape[2]))
    tried = {
        f"from {-LARGE:.0f} to {LARGE:.0f}": steps,
        f"around {-LARGE:.0f}": steps / 10 - 1,
        f"around {LARGE:.0f}": steps / 10 + 1,
    }
    for name, scores in tried.items():
        q, k = np.zeros_like(q), np.zeros_like(k)
        q[..., 0] = np.sqrt(LARGE * np.sqrt(q.shape[-1]))
        k[..., 0] = q[0, 0, 0, 0] * scores
        weights = probe.subject.weights(q, k)
        bad = ~(np.abs(weights.sum(axis=-1)) > 0.01) | ~np.isfinite(weights).all(axis=-1)
        if bad.any():
            what = "are all 0" if np.isfinite(weights[bad]).all() else "are NaN or infinite"
            proof = f"with scores {name} the weights {what}: take the row's largest score away before exp."
            return judged(False, proof, "large.overflow", share=float(bad.mean()))
    return judged(True, f"the weights are numbers with scores {', '.join(tried)}.")


def half_holds(probe: Probe) -> Seen:
    """In float16, q = k = 300: the dot products are far beyond 65504, the largest number of that type."""
    if not probe.half:
        raise Untried("give half=True to try it in float16, in which the products of q = k = 300 overflow.")
    q, k, v = (np.full(x.shape, height, np.float16) for x, height in zip(probe.draw(), (300, 300, 1), strict=True))
    for masking in probe.maskings:
        where = f"in float16, q = k = 300, {masking.name}:"
        try:
            output = masking(q, k, v)[masking.counted]
        except CallError as error:
            return judged(False, f"{where} {error}", "large.overflow")
        wrong = output[~(np.abs(output - 1) < 0.01)]
        if wrong.size:
            return judged(False, f"{where} an output that must be 1 is {wrong[0]:.3g}.", "large.overflow")
    names = ", ".join(masking.name for masking in probe.maskings)
    return judged(True, f"in float16, q = k = 300 gives equal weights with {names}.")
