"""Which path serves an attention, and why: our kernels, or MLX."""

from __future__ import annotations

from dataclasses import dataclass

from mlxdecoder.kernels import mode, plan
from mlxdecoder.kernels.shapes import MOST_DECODED, Shape

# Head widths for which MLX 0.32 has fused attention on Metal: for up to eight queries, and for more.
VECTOR_WIDTHS = (64, 96, 128, 192, 256, 512)
TILED_WIDTHS = (64, 72, 80, 96, 128, 192, 256)


@dataclass(frozen=True)
class Path:
    """What computes an attention, and the reason."""

    name: str
    reason: str


def path_of(shape: Shape, where: mode.Where) -> Path:
    """The path of a shape where kernels run at `where`, for the right recipe without dropout of weights."""
    if where == "off":
        return Path("MLX", "the kernels are switched off, or there is no Metal")
    if shape.obstacle:
        return Path("MLX", shape.obstacle)
    if shape.T > MOST_DECODED:
        return Path("forward", f"more than {MOST_DECODED} queries")
    splits = plan.decode(shape).groups.count[0]
    if splits > 1:
        return Path("decode + combine", f"up to {MOST_DECODED} queries; keys in {splits} parts to fill the GPU")
    return Path("decode", f"up to {MOST_DECODED} queries")


def path_in_mlx(shape: Shape) -> str:
    """What MLX's own attention would do with it on Metal, as of MLX 0.32."""
    widths = VECTOR_WIDTHS if shape.T <= MOST_DECODED else TILED_WIDTHS
    if shape.dk != shape.dv or shape.dk not in widths:
        return f"unfused: width {shape.dk}" + (f" and {shape.dv}" if shape.dk != shape.dv else "")
    return "fused, vector" if shape.T <= MOST_DECODED else "fused, tiled"
