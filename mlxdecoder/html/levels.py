"""Numbers in few characters: each weight is a level between 0 and 1, written as two digits of base 64."""

from __future__ import annotations

import numpy as np

# The digits of Base64, so that two of them are 12 bits.
DIGITS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
TOP = 4091  # the level of 1; what is painted and read is within 1 / (2 * 4091) of the truth
EXACT, NOT_A_NUMBER, INFINITE, NEGATIVE_INFINITE = range(TOP + 1, TOP + 5)

Spelled = float | str


def encode(values: np.ndarray) -> tuple[str, list[float]]:
    """The levels of `values`, two characters each, row by row, and the values that lie outside 0 to 1, in order."""
    within = (values >= 0) & (values <= 1)
    codes = np.where(within, np.rint(np.where(within, values, 0) * TOP), EXACT).astype(np.int64)
    codes[np.isnan(values)] = NOT_A_NUMBER
    codes[np.isposinf(values)] = INFINITE
    codes[np.isneginf(values)] = NEGATIVE_INFINITE
    digits = DIGITS[np.stack([codes >> 6, codes & 63], axis=-1)]
    return digits.tobytes().decode("ascii"), [float(str(value)) for value in values[codes == EXACT]]


def spelled(values: np.ndarray) -> list[Spelled]:
    """Numbers for JSON, to six digits; what it has no number for by the name that JavaScript reads."""
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return [names.get(str(value)) or float(f"{value:.6g}") for value in values.tolist()]
