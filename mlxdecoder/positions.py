"""How a model learns the order of its tokens: five schemes behind one interface, and none.

A scheme may act at three places: on the embeddings, on queries and keys (rotary), and on the scores (a bias).
Positions are whole numbers, [T] or [B, T] where the rows of a batch stand at different places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import mlx.core as mx
import mlx.nn as nn
import numpy as np

import mlxdecoder.kernels as kernels
from mlxdecoder.config import ModelConfig, SinusoidOrder
from mlxdecoder.errors import UserError

FIRST_TABLE = 2048  # positions; a longer one is made when it is needed


@dataclass(frozen=True)
class Rotation:
    """Turns pairs of features by the angles whose cosines and sines are given, [T, dh / 2] or [B, 1, T, dh / 2]."""

    cosine: mx.array
    sine: mx.array

    def __call__(self, x: mx.array) -> mx.array:
        """Turn queries or keys [B, H, T, dh]."""
        return rotate(x, self.cosine, self.sine)

    def both(self, query: mx.array, key: mx.array) -> tuple[mx.array, mx.array]:
        """Turn queries [B, H, T, dh] and keys [B, Hkv, T, dh], where kernels run in one launch."""
        if kernels.where() == "off" or query.dtype not in kernels.TYPES:
            return self(query), self(key)
        return kernels.rotate_both(query, key, self.cosine, self.sine)


class Positions(nn.Module):
    """No positions at all; the other schemes replace what they need."""

    def embed(self, x: mx.array, positions: np.ndarray) -> mx.array:
        """Add what tells the position to embeddings [B, T, d]."""
        return x

    def rotation(self, positions: np.ndarray) -> Rotation | None:
        """What is done to queries or keys [B, H, T, dh] that stand at these positions."""
        return None

    def bias(self, queries: np.ndarray, keys: np.ndarray) -> mx.array | None:
        """What is added to the scores between positions [T] and [S], or [B, T] and [B, S]: [B or 1, H, T, S]."""
        return None


class Learned(Positions):
    """A trained vector for each position up to `max_length`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.table = mx.random.normal((config.max_length, config.d_model), scale=config.d_model**-0.5)

    def embed(self, x: mx.array, positions: np.ndarray) -> mx.array:
        longest = int(positions.max(initial=-1)) + 1
        if longest > len(self.table):
            raise UserError(
                f"tokens: {longest} positions needed, but max_length = {len(self.table)} were learned; "
                "shorten the text or use another kind of positions."
            )
        return x + self.table[mx.array(positions)]


class Sinusoidal(Positions):
    """Waves of geometrically growing length, Vaswani et al. 2017, section 3.5.

    Sine and cosine in turn as in the paper ("interleaved"), or all sines first as in its code ("halves").
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self._order = config.sinusoid_order
        self._table = sinusoids(min(config.max_length, FIRST_TABLE), config.d_model, self._order)

    def embed(self, x: mx.array, positions: np.ndarray) -> mx.array:
        longest = int(positions.max(initial=-1)) + 1
        if longest > len(self._table):
            self._table = sinusoids(2 * longest, x.shape[-1], self._order)
        return x + self._table[mx.array(positions)].astype(x.dtype)


class Rotary(Positions):
    """Turn pairs of features by angles that grow with the position, Su et al. 2021, https://arxiv.org/abs/2104.09864.

    Feature i is paired with feature i + dh / 2. For contexts longer than the trained length: "linear" squeezes the
    positions (Chen et al. 2023, https://arxiv.org/abs/2306.15595), "ntk" raises the base, "dynamic" raises it as far as
    the longest position wants, "yarn" squeezes the slow waves only and sharpens the softmax (Peng et al. 2023,
    https://arxiv.org/abs/2309.00071), and so does "llama3", without sharpening (Grattafiori et al. 2024,
    https://arxiv.org/abs/2407.21783). With "dynamic", cached keys keep the turn that they had when they were read,
    and the rows of a batch share the base of the longest one, as in transformers: past the trained length, neither a
    cache nor a longer neighbour leaves the numbers as they are in a whole pass over a row alone.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self._config = config
        self._frequencies = rotary_frequencies(config)  # [dh / 2], radians a position
        yarn = 0.1 * math.log(config.rotary_factor) + 1 if config.rotary_scaling == "yarn" else 1.0
        self._strength = yarn if config.rotary_strength is None else config.rotary_strength

    def rotation(self, positions: np.ndarray) -> Rotation:
        frequencies, longest = self._frequencies, int(positions.max(initial=-1)) + 1
        if self._config.rotary_scaling == "dynamic" and longest > self._config.trained_length:
            frequencies = rotary_frequencies(self._config, longest)
        angles = positions[..., None] * frequencies  # [T, dh / 2] or [B, T, dh / 2]
        angles = angles[:, None] if angles.ndim == 3 else angles
        cosine, sine = (mx.array((wave(angles) * self._strength).astype(np.float32)) for wave in (np.cos, np.sin))
        return Rotation(cosine, sine)


class RelativeBias(Positions):
    """A learned score for each head and bucket of distances, Raffel et al. 2019, https://arxiv.org/abs/1910.10683."""

    n_buckets = 32
    max_distance = 128

    def __init__(self, config: ModelConfig, causal: bool) -> None:
        super().__init__()
        self.table = mx.random.normal((self.n_buckets, config.n_heads), scale=config.d_model**-0.5)
        self._causal = causal

    def bias(self, queries: np.ndarray, keys: np.ndarray) -> mx.array:
        buckets = relative_buckets(_distances(queries, keys), self._causal, self.n_buckets, self.max_distance)
        return self.table[mx.array(buckets)].transpose(0, 3, 1, 2)


class ALiBi(Positions):
    """Scores fall with the distance, a slope a head, Press et al. 2021, https://arxiv.org/abs/2108.12409."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self._slopes = alibi_slopes(config.n_heads)

    def bias(self, queries: np.ndarray, keys: np.ndarray) -> mx.array:
        distances = np.abs(_distances(queries, keys))[:, None]  # [B or 1, 1, T, S]
        return mx.array((-self._slopes[:, None, None] * distances).astype(np.float32))


def make_positions(config: ModelConfig, causal: bool) -> Positions:
    """The scheme that the configuration names; relative buckets tell left from right unless `causal`."""
    if config.positions == "relative":
        return RelativeBias(config, causal)
    if config.positions == "none":
        return Positions()
    return {"learned": Learned, "sinusoidal": Sinusoidal, "rotary": Rotary, "alibi": ALiBi}[config.positions](config)


@lru_cache(maxsize=8)
def sinusoids(length: int, width: int, order: SinusoidOrder = "interleaved") -> mx.array:
    """The table of `Sinusoidal`: [length, width]."""
    rates = 10_000.0 ** (-np.arange(0, width, 2) / width)  # radians a position
    angles = np.arange(length)[:, None] * rates
    axis = -1 if order == "interleaved" else 1
    table = np.stack([np.sin(angles), np.cos(angles)], axis=axis).reshape(length, width)
    return mx.array(table.astype(np.float32))


def rotate(x: mx.array, cosine: mx.array, sine: mx.array) -> mx.array:
    """Turn the pairs (i, i + dh / 2) of x [B, H, T, dh] by the angles whose cosines and sines are given."""
    first, second = mx.split(x, 2, axis=-1)
    cosine, sine = cosine.astype(x.dtype), sine.astype(x.dtype)
    return mx.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


def rotary_frequencies(config: ModelConfig, longest: int = 0) -> np.ndarray:
    """Radians a position for each pair of features [dh / 2], after the scaling that the configuration names.

    `longest` counts the positions that are needed; it matters for "dynamic" alone.
    """
    width, base = config.width_per_head, config.rotary_base * _rise_of_base(config, longest)
    frequencies: np.ndarray = base ** -(np.arange(0, width, 2) / width)
    kept = {"linear": _none_kept, "yarn": _kept_by_yarn, "llama3": _kept_by_llama}.get(config.rotary_scaling)
    if kept is None:
        return frequencies
    share = kept(config, frequencies)
    return frequencies * share + frequencies / config.rotary_factor * (1 - share)


def _rise_of_base(config: ModelConfig, longest: int) -> float:
    width, factor = config.width_per_head, config.rotary_factor
    if config.rotary_scaling == "dynamic":
        factor = factor * max(longest / config.trained_length, 1) - (factor - 1)
    elif config.rotary_scaling != "ntk":
        return 1.0
    return float(factor ** (width / max(width - 2, 1)))


def _none_kept(config: ModelConfig, frequencies: np.ndarray) -> np.ndarray:
    return np.zeros_like(frequencies)


def _kept_by_yarn(config: ModelConfig, frequencies: np.ndarray) -> np.ndarray:
    """How far each wave is left alone: its authors' code draws a line from pair to pair, not from turn to turn."""
    pair = len(frequencies) / math.log(config.rotary_base)  # pairs for each factor of e in the frequency
    turns = config.trained_length / (2 * math.pi)  # of the fastest wave
    first, last = (pair * math.log(turns / wanted) for wanted in (config.rotary_fast, config.rotary_slow))
    low, high = max(math.floor(first), 0), min(math.ceil(last), config.width_per_head - 1)
    return 1 - np.clip((np.arange(len(frequencies)) - low) / ((high - low) or 0.001), 0, 1)


def _kept_by_llama(config: ModelConfig, frequencies: np.ndarray) -> np.ndarray:
    turns = frequencies * config.trained_length / (2 * math.pi)
    return np.clip((turns - config.rotary_slow) / (config.rotary_fast - config.rotary_slow), 0, 1)


def _distances(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Key minus query: [B or 1, T, S]."""
    return np.asarray(np.atleast_2d(keys)[:, None, :] - np.atleast_2d(queries)[:, :, None])


def relative_buckets(distances: np.ndarray, causal: bool, n_buckets: int, max_distance: int) -> np.ndarray:
    """Buckets of key minus query [..., T, S]: one a distance while short, then growing with the logarithm."""
    side = np.zeros_like(distances)
    if not causal:
        n_buckets //= 2
        side = (distances > 0) * n_buckets
    away = np.abs(distances) if not causal else np.maximum(-distances, 0)
    exact = n_buckets // 2
    growth = np.log(np.maximum(away, 1) / exact) / np.log(max_distance / exact) * (n_buckets - exact)
    far = np.minimum(exact + growth.astype(int), n_buckets - 1)
    return np.asarray(side + np.where(away < exact, away, far))


def alibi_slopes(n_heads: int) -> np.ndarray:
    """One slope a head [H]: a geometric row, filled up from the next longer row where H is no power of two."""
    power = 2 ** int(math.log2(n_heads))
    slopes = 2.0 ** (-8 / power * np.arange(1, power + 1))
    between = 2.0 ** (-8 / (2 * power) * np.arange(1, 2 * power + 1, 2))
    return np.concatenate([slopes, between[: n_heads - power]])
