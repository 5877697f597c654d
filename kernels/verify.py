"""Compare every kernel, element type and mask with plain MLX where the kernels run; for a Mac, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mlx.core as mx

from mlxdecoder.kernels.fused import attention_mass, attention_weights, attention_with_lse
from mlxdecoder.kernels.rotary import rotate_both
from mlxdecoder.masks import Causal, Documents, Full, Mask, Padding, Window

TOLERANCES = {mx.float32: 5e-6, mx.float16: 2e-3, mx.bfloat16: 1.6e-2}  # of the largest value
B, HEADS, KEY_HEADS, QUERIES, KEYS = 2, 4, 2, 45, 77
WIDTHS = ((16, 16), (32, 24), (64, 64), (128, 128), (256, 256))
DOCUMENTS = Documents(tuple(tuple(slot // 20 for slot in range(KEYS)) for _ in range(B)))
MASKS: dict[str, Mask] = {
    "none": Full(),
    "causal": Causal(),
    "window and sinks": Causal() & Window(9, 2),
    "padding": Causal() & Padding((3, 60), (20, KEYS)),
    "documents": Causal() & DOCUMENTS,
}
Operands = tuple[mx.array, mx.array, mx.array]


@dataclass(frozen=True)
class Comparison:
    """How far one kernel is from plain MLX in float32, as a share of the largest value."""

    kernel: str
    width: str
    dtype: mx.Dtype
    mask: str
    error: float

    @property
    def holds(self) -> bool:
        return self.error <= TOLERANCES[self.dtype]


def comparisons() -> Iterator[Comparison]:
    """Every kernel with every type; every width without a mask; every mask at one width."""
    for dtype in TOLERANCES:
        for dk, dv in WIDTHS:
            yield from _compare(dtype, dk, dv, "none", Full())
        for name, mask in MASKS.items():
            yield from _compare(dtype, 32, 24, name, mask)
        yield from _compare_arrays(dtype)
        yield from _compare_one(dtype)
        yield from _compare_rotary(dtype)


def _compare(dtype: mx.Dtype, dk: int, dv: int, name: str, mask: Mask) -> Iterator[Comparison]:
    for kernel, T, S in (("forward", QUERIES, KEYS), ("decode", 3, KEYS), ("decode, split", 1, 2_100)):
        if S != KEYS and name != "none":
            continue
        operands = draw(dtype, T, S, dk, dv)
        allowed = mask.array(T, S)
        output, lse = attention_with_lse(*operands, mask)
        wanted, weights = explicit(operands, allowed)
        width = f"{dk}" if dk == dv else f"{dk}, {dv}"
        yield Comparison(kernel, width, dtype, name, distance(output, wanted))
        yield Comparison(f"{kernel}: log-sum-exp", width, dtype, name, _lse_error(operands, allowed, lse))
        if kernel == "forward":
            yield Comparison("backward", width, dtype, name, _gradients(operands, mask, allowed))
            made = attention_weights(operands[0], operands[1], lse, mask=mask)
            yield Comparison("weights", width, dtype, name, distance(made, weights))
            row_sum, outside = attention_mass(operands[0], operands[1], lse, Causal(), mask=mask)
            yield Comparison("mass", width, dtype, name, distance(row_sum, weights.sum(-1)))
            stray = mx.where(Causal().array(T, S), 0, weights).sum(-1)
            yield Comparison("mass: outside", width, dtype, name, distance(outside, stray))


def _compare_arrays(dtype: mx.Dtype) -> Iterator[Comparison]:
    operands = draw(dtype, QUERIES, KEYS, 32, 24)
    allowed = mx.random.uniform(shape=(B, 1, QUERIES, KEYS), key=mx.random.key(3)) < 0.5
    bias = mx.random.normal((1, HEADS, QUERIES, KEYS), key=mx.random.key(4))
    for name, mask in (("boolean array", allowed), ("additive array", bias)):
        output, _ = attention_with_lse(*operands, mask)
        wanted, _ = explicit(operands, *((mask, None) if mask is allowed else (None, mask)))
        yield Comparison("forward", "32, 24", dtype, name, distance(output, wanted))


def _compare_one(dtype: mx.Dtype) -> Iterator[Comparison]:
    """One query and one key: inputs so small that they come in another address space."""
    operands = draw(dtype, 1, 1, 8, 8)
    output, _ = attention_with_lse(*(x[:1, :1] for x in operands))
    yield Comparison("decode, one key", "8", dtype, "none", distance(output, operands[2][:1, :1].astype(mx.float32)))


def _compare_rotary(dtype: mx.Dtype) -> Iterator[Comparison]:
    query, key, _ = draw(dtype, QUERIES, QUERIES, 32, 32)
    angles = mx.random.uniform(0, 6, (QUERIES, 16), key=mx.random.key(5))
    found = rotate_both(query, key, mx.cos(angles), mx.sin(angles))
    for turned, x in zip(found, (query, key), strict=True):
        first, second = mx.split(x.astype(mx.float32), 2, axis=-1)
        along, across = mx.cos(angles), mx.sin(angles)
        wanted = mx.concatenate([first * along - second * across, first * across + second * along], -1)
        yield Comparison("rotary", "32", dtype, "", distance(turned, wanted))


def draw(dtype: mx.Dtype, T: int, S: int, dk: int, dv: int) -> Operands:
    """Queries [B, H, T, dk], keys [B, Hkv, S, dk] and values [B, Hkv, S, dv], the same each time."""
    shapes = ((B, HEADS, T, dk), (B, KEY_HEADS, S, dk), (B, KEY_HEADS, S, dv))
    made = [mx.random.normal(shape, key=mx.random.key(i)).astype(dtype) for i, shape in enumerate(shapes)]
    query, key, value = (mx.contiguous(x.swapaxes(1, 2)).swapaxes(1, 2) for x in made)  # as models lay them out
    return query, key, value


def explicit(
    operands: Operands, allowed: mx.array | None = None, bias: mx.array | None = None
) -> tuple[mx.array, mx.array]:
    """Output and weights in plain MLX, in float32."""
    query, key, value = (x.astype(mx.float32) for x in operands)
    key, value = (mx.repeat(x, query.shape[1] // x.shape[1], axis=1) for x in (key, value))
    scores = (query * query.shape[-1] ** -0.5) @ key.swapaxes(-1, -2)  # [B, H, T, S]
    scores = scores if bias is None else scores + bias
    seen = mx.ones((1, 1, 1, 1), mx.bool_) if allowed is None else allowed
    weights = mx.where(seen, mx.softmax(mx.where(seen, scores, -1e30), axis=-1), 0)
    return weights @ value, weights


def distance(found: mx.array, wanted: mx.array) -> float:
    """The largest difference, as a share of the largest value."""
    largest = mx.maximum(mx.abs(wanted).max(), 1e-30)
    return float((mx.abs(found.astype(mx.float32) - wanted.astype(mx.float32)).max() / largest).item())


def _lse_error(operands: Operands, allowed: mx.array, lse: mx.array) -> float:
    query, key, _ = (x.astype(mx.float32) for x in operands)
    scores = (query * query.shape[-1] ** -0.5) @ mx.repeat(key, query.shape[1] // key.shape[1], axis=1).swapaxes(-1, -2)
    return distance(lse, mx.logsumexp(mx.where(allowed, scores, -mx.inf), axis=-1))


def _gradients(operands: Operands, mask: Mask, allowed: mx.array) -> float:
    slope = mx.random.normal((B, HEADS, QUERIES, operands[2].shape[-1]), key=mx.random.key(6))

    def by(run: Callable[[Operands], mx.array], given: Operands) -> tuple[mx.array, ...]:
        found = mx.grad(lambda *x: (run(x).astype(mx.float32) * slope).sum(), argnums=(0, 1, 2))(*given)
        return tuple(found)

    ours = by(lambda x: attention_with_lse(*x, mask)[0], operands)
    wide = tuple(x.astype(mx.float32) for x in operands)
    plain = by(lambda x: explicit(x, allowed)[0], (wide[0], wide[1], wide[2]))
    return max(distance(a, b) for a, b in zip(ours, plain, strict=True))
