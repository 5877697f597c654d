"""`mlxdecoder kernels`: which path serves which shape, how the work is cut up, and whether the results are right."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import mlx.core as mx

from mlxdecoder import kernels
from mlxdecoder.commands import kernels_verify
from mlxdecoder.commands.common import Subparsers, add_command, add_json, print_json, table
from mlxdecoder.errors import UserError
from mlxdecoder.kernels import plan
from mlxdecoder.kernels.paths import path_in_mlx, path_of
from mlxdecoder.kernels.shapes import MOST_DECODED, TYPES, Shape

ABOUT = "The Metal kernels: which path serves which shape, how their work is cut up, and whether they are right here."
NAMES = {str(dtype).rpartition(".")[2]: dtype for dtype in TYPES}
PLACES = {
    "metal": "Kernels run on Metal.",
    "emulator": "Kernels run in the emulator, on the processor.",
    "off": "No kernels run here.",
}
EXAMPLES = ((16, 16, 16), (128, 128, 32), (1, 40, 16), (512, 512, 64), (1, 4096, 64), (8, 4096, 128), (64, 64, 12))


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("kernels", help=ABOUT, description=ABOUT, epilog="example: mlxdecoder kernels list")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    one = add_command(
        actions,
        "plan",
        show_plan,
        "Print how each kernel cuts up a shape: tiles, threads, bytes.",
        "mlxdecoder kernels plan --queries 256 --width 64",
    )
    _add_shape(one)
    add_json(one)
    listing = add_command(
        actions, "list", show_list, "Print which path serves which shape, and why.", "mlxdecoder kernels list"
    )
    add_json(listing)
    kernels_verify.add_parser(actions)


def show_plan(options: argparse.Namespace) -> None:
    shape = _shape(options)
    path = path_of(shape, "metal")
    if shape.obstacle:
        raise UserError(f"the kernels do not serve this shape: {shape.obstacle}.")
    plans = list(_plans(shape))
    if options.json:
        print_json({"path": path.name, "plans": [_as_dict(step) for step in plans]})
        return
    print(f"Attention here is served by {path.name}: {path.reason}.\n")
    header = ["kernel", "threadgroups", "threads", "sizes", "threadgroup bytes", "bytes read", "bytes written"]
    print(table(header, [_row(step) for step in plans]))
    print("\nBytes read are an upper bound: tiles that the mask hides are skipped.")


def show_list(options: argparse.Namespace) -> None:
    where = kernels.where()
    rows = [(shape, path_of(shape, where), path_of(shape, "metal")) for shape in _examples()]
    if options.json:
        paths = [[*_sizes(shape), here.name, there.name, there.reason] for shape, here, there in rows]
        print_json({"where": where, "paths": paths})
        return
    print(f"{PLACES[where]} MLXDECODER_KERNELS=off, on or emulate changes that.\n")
    header = ["queries", "keys", "width", "here", "on Metal", "because", "MLX alone on Metal"]
    cells = [[*_sizes(shape), here.name, there.name, there.reason, path_in_mlx(shape)] for shape, here, there in rows]
    print(table(header, cells))
    print("\nA recipe with a mistake, or dropout of attention weights in training, is always computed in plain MLX.")


def _plans(shape: Shape) -> Iterator[plan.Plan]:
    if shape.T <= MOST_DECODED:
        yield plan.decode(shape)
        splits = plan.decode(shape).groups.count[0]
        if splits > 1:
            yield plan.combine(shape, splits)
    else:
        yield plan.forward(shape)
    yield plan.backward_query(shape)
    yield plan.backward_key(shape)
    yield plan.weights(shape, shape.H, shape.T)
    yield plan.mass(shape, shape.H, shape.T)


def _row(step: plan.Plan) -> list[str]:
    sizes = " ".join(f"{name}={size}" for name, size in step.sizes.items())
    counts = " x ".join(map(str, step.groups.count))
    numbers = (step.threadgroup_bytes, step.device_bytes_read, step.device_bytes_written)
    return [step.kernel, counts, str(step.groups.threads), sizes, *(f"{number:,}" for number in numbers)]


def _as_dict(step: plan.Plan) -> dict[str, object]:
    return {
        "kernel": step.kernel,
        "threadgroups": step.groups.count,
        "threads": step.groups.threads,
        "sizes": step.sizes,
        "threadgroup_bytes": step.threadgroup_bytes,
        "device_bytes_read": step.device_bytes_read,
        "device_bytes_written": step.device_bytes_written,
    }


def _examples() -> list[Shape]:
    return [Shape(1, 4, 4, T, S, width, width, mx.float16) for T, S, width in EXAMPLES]


def _sizes(shape: Shape) -> list[str]:
    return [str(size) for size in (shape.T, shape.S, shape.dk)]


def _add_shape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch", type=int, default=1, help="rows of the batch, B (default: 1)")
    parser.add_argument("--heads", type=int, default=4, help="query heads, H (default: 4)")
    parser.add_argument("--kv-heads", type=int, help="key and value heads, Hkv (default: as many)")
    parser.add_argument("--queries", type=int, default=128, help="queries, T (default: 128)")
    parser.add_argument("--keys", type=int, help="keys, S (default: as many as queries)")
    parser.add_argument("--width", type=int, default=64, help="width of queries and keys, dk (default: 64)")
    parser.add_argument("--value-width", type=int, help="width of values, dv (default: the same)")
    parser.add_argument("--type", choices=tuple(NAMES), default="float16", help="element type (default: float16)")


def _shape(options: argparse.Namespace) -> Shape:
    heads, width, queries = options.heads, options.width, options.queries
    kv_heads, keys = options.kv_heads or heads, options.keys or queries
    sizes = {"batch": options.batch, "heads": heads, "kv-heads": kv_heads, "queries": queries, "keys": keys}
    for name, size in sizes.items():
        if not 1 <= size <= 2**24:
            raise UserError(f"--{name} {size}: wanted from 1 to {2**24:,}.")
    if heads % kv_heads:
        raise UserError(f"--kv-heads {kv_heads}: wanted a divisor of {heads} heads.")
    dtype = NAMES[options.type]
    return Shape(options.batch, heads, kv_heads, queries, keys, width, options.value_width or width, dtype)
