"""How much of the work a threadgroup gets: tile sizes, threads, and bytes, from the shape alone.

The limits are Apple's: 1,024 threads and 32,768 bytes a threadgroup. A core has 64 KB of threadgroup memory and room
for 768 to 3,072 threads (https://github.com/philipturner/metal-benchmarks): 20 KB a threadgroup keep three at work.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlxdecoder.kernels.launch import Groups
from mlxdecoder.kernels.shapes import Shape

MOST_BYTES = 32_768
GOOD_BYTES = 20_480
TILES = (32, 16, 8)
GOOD_GROUPS = 64  # threadgroups that keep a GPU busy
KEYS_A_SPLIT = 512  # a guess: fewer might cost more in putting together than they gain
MOST_SPLITS = 32  # a lane each in combine.metal
KEYS_A_STRIP = 64  # of weights.metal, a simdgroup


@dataclass(frozen=True)
class Plan:
    """What one launch does: `sizes` go into the kernel's text; bytes are those of the whole launch, nothing skipped.

    What several lanes read together, a log-sum-exp for one, is counted once where it is counted at all.
    """

    kernel: str
    sizes: dict[str, int]
    groups: Groups
    threadgroup_bytes: int
    device_bytes_read: int
    device_bytes_written: int


def forward(shape: Shape) -> Plan:
    """Rows that share a tile of keys are many while their heads are narrow: that is what saves device memory."""
    simdgroups = _simdgroups(shape.T, 16 if max(shape.dk, shape.dv) <= 32 else 8)
    tile, tile_bytes = _tile(shape, extra=0)
    blocks = -(-shape.T // (8 * simdgroups))
    rows = shape.B * shape.H * shape.T
    read = rows * shape.dk + shape.B * shape.H * blocks * shape.S * (shape.dk + shape.dv)
    return Plan(
        "forward",
        {"SIMDGROUPS": simdgroups, "KEYS": tile, "DK": shape.dk, "DV": shape.dv},
        Groups((blocks, shape.H, shape.B), 32 * simdgroups),
        tile_bytes,
        read * shape.bytes,
        rows * (shape.dv * shape.bytes + 4),
    )


def backward_query(shape: Shape) -> Plan:
    simdgroups = _simdgroups(shape.T, 8 if max(shape.dk, shape.dv) <= 64 else 4)
    tile, tile_bytes = _tile(shape, extra=0)
    blocks = -(-shape.T // (8 * simdgroups))
    rows = shape.B * shape.H * shape.T
    read = (rows + shape.B * shape.H * blocks * shape.S) * (shape.dk + shape.dv)
    return Plan(
        "backward_query",
        {"SIMDGROUPS": simdgroups, "KEYS": tile, "DK": shape.dk, "DV": shape.dv},
        Groups((blocks, shape.H, shape.B), 32 * simdgroups),
        tile_bytes,
        read * shape.bytes + 8 * rows,
        rows * shape.dk * shape.bytes,
    )


def backward_key(shape: Shape) -> Plan:
    simdgroups = _simdgroups(shape.S, 8 if max(shape.dk, shape.dv) <= 64 else 4)
    tile, tile_bytes = _tile(shape, extra=8)
    blocks = -(-shape.S // (8 * simdgroups))
    keys = shape.B * shape.Hkv * shape.S
    rows = shape.B * shape.H * shape.T * blocks
    return Plan(
        "backward_key",
        {"SIMDGROUPS": simdgroups, "QUERIES": tile, "DK": shape.dk, "DV": shape.dv},
        Groups((blocks, shape.Hkv, shape.B), 32 * simdgroups),
        tile_bytes,
        (keys + rows) * (shape.dk + shape.dv) * shape.bytes + 8 * rows,
        keys * (shape.dk + shape.dv) * shape.bytes,
    )


def decode(shape: Shape) -> Plan:
    """Splits are made only where there would be too few threadgroups without."""
    rows = _rows(shape.n_sharing * shape.T, shape.dk + shape.dv)
    blocks = -(-shape.n_sharing * shape.T // rows)
    groups = shape.B * shape.Hkv * blocks
    splits = max(1, min(-(-GOOD_GROUPS // groups), shape.S // KEYS_A_SPLIT, MOST_SPLITS))
    simdgroups = min(8, _power_of_two(-(-shape.S // (4 * splits))))
    all_rows = shape.B * shape.H * shape.T
    written = shape.dv * (shape.bytes if splits == 1 else 4) + 4
    return Plan(
        "decode",
        {"SIMDGROUPS": simdgroups, "ROWS": rows, "DK": shape.dk, "DV": shape.dv},
        Groups((splits, shape.Hkv * blocks, shape.B), 32 * simdgroups),
        4 * simdgroups * rows * (shape.dv + 2),
        (groups * shape.S * (shape.dk + shape.dv) + splits * simdgroups * all_rows * shape.dk) * shape.bytes,
        splits * all_rows * written,
    )


def combine(shape: Shape, splits: int) -> Plan:
    rows = shape.B * shape.H * shape.T
    return Plan(
        "combine",
        {"DV": shape.dv},
        Groups((1, rows, 1), 32),
        0,
        4 * splits * rows * (shape.dv + 1),
        rows * (shape.dv * shape.bytes + 4),
    )


def weights(shape: Shape, n_heads: int, n_rows: int) -> Plan:
    rows = _rows(n_rows, 2 * shape.dk)
    blocks = -(-n_rows // rows)
    simdgroups = min(4, _power_of_two(-(-shape.S // KEYS_A_STRIP)))
    strips = -(-shape.S // (KEYS_A_STRIP * simdgroups))
    heads = shape.B * n_heads
    queries = heads * blocks * strips * simdgroups * rows
    return Plan(
        "weights",
        {"SIMDGROUPS": simdgroups, "ROWS": rows, "DK": shape.dk},
        Groups((strips, n_heads * blocks, shape.B), 32 * simdgroups),
        0,
        heads * blocks * shape.S * shape.dk * shape.bytes + queries * shape.dk * shape.bytes,
        4 * heads * n_rows * shape.S,
    )


def mass(shape: Shape, n_heads: int, n_rows: int) -> Plan:
    rows = _rows(n_rows, 2 * shape.dk)
    blocks = -(-n_rows // rows)
    simdgroups = min(8, _power_of_two(-(-shape.S // 4)))
    heads = shape.B * n_heads
    return Plan(
        "mass",
        {"SIMDGROUPS": simdgroups, "ROWS": rows, "DK": shape.dk},
        Groups((blocks, n_heads, shape.B), 32 * simdgroups),
        8 * simdgroups * rows,
        heads * blocks * (shape.S + simdgroups * rows) * shape.dk * shape.bytes,
        8 * heads * n_rows,
    )


def _simdgroups(rows: int, most: int) -> int:
    """As many simdgroups of eight rows as there is work for, a power of two, so that few kernels are compiled."""
    return min(most, _power_of_two(-(-rows // 8)))


def _power_of_two(n: int) -> int:
    """The smallest one that is not less than n."""
    return 1 << (n - 1).bit_length()


def _tile(shape: Shape, extra: int) -> tuple[int, int]:
    """How many rows of both kinds are in threadgroup memory at a time, and their bytes."""
    row = (shape.dk + shape.dv) * shape.bytes + 32 + extra
    tile = next((tile for tile in TILES if tile * row <= GOOD_BYTES), TILES[-1])
    return tile, tile * row


def _rows(wanted: int, width: int) -> int:
    """How many rows a lane can keep its eighth of in 64 registers, a power of two."""
    return min(_power_of_two(wanted), max(1, 1 << ((512 // width).bit_length() - 1)) if width <= 512 else 1, 8)
