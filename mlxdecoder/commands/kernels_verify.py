"""`mlxdecoder kernels verify`: compare the kernels with plain MLX on this machine, and time them on a Mac."""

from __future__ import annotations

import argparse
import platform

import mlx.core as mx
from tqdm import tqdm

from mlxdecoder import kernels
from mlxdecoder.commands.common import Subparsers, add_command, add_json, print_json
from mlxdecoder.errors import UserError
from mlxdecoder.kernels.race import Lap, laps
from mlxdecoder.kernels.verify import TOLERANCES, Comparison, comparisons


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "verify",
        run,
        "Compare every kernel, element type and mask with plain MLX, and on a Mac time them against MLX's attention; "
        "prints tables to paste into an issue.",
        "mlxdecoder kernels verify",
    )
    parser.add_argument("--no-speed", action="store_true", help="compare only")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    where = kernels.where()
    if where == "off":
        raise UserError("there is no Metal here; MLXDECODER_KERNELS=emulate compares in the emulator.")
    found = list(tqdm(comparisons(), desc="comparing", unit="", disable=None, leave=False))
    timed = where == "metal" and not options.no_speed
    speeds = list(tqdm(laps(), desc="timing", unit="", disable=None, leave=False)) if timed else []
    if options.json:
        print_json(_as_dict(found, speeds))
    else:
        _print(where, found, speeds)
    return 0 if all(one.holds for one in found) else 1


def _print(where: str, found: list[Comparison], speeds: list[Lap]) -> None:
    print(f"mlxdecoder kernels on {_machine()}, {where}, MLX {mx.__version__}\n")
    print("Largest difference from plain MLX in float32, as a share of the largest value.\n")
    print(_markdown(["kernel", "mask", "width", *map(_name, TOLERANCES)], _by_type(found)))
    print("\nAllowed: " + ", ".join(f"{_name(dtype)} {limit:.1e}" for dtype, limit in TOLERANCES.items()) + ".")
    failures = [one for one in found if not one.holds]
    print(f"{len(found) - len(failures)} of {len(found)} comparisons hold." + (" Please report." if failures else ""))
    if speeds:
        print("\nMilliseconds in float16, eight heads, causal; medians of runs in turn.\n")
        header = ["task", "queries", "keys", "width", "ours", "MLX", "ours / MLX"]
        print(_markdown(header, [_cells(lap) for lap in speeds]))


def _by_type(found: list[Comparison]) -> list[list[str]]:
    """One row a kernel, mask and width, with a column a type; what is too far is marked."""
    rows: dict[tuple[str, str, str], dict[mx.Dtype, Comparison]] = {}
    for one in found:
        row = rows.setdefault((one.kernel, one.mask, one.width), {})
        worst = row.get(one.dtype)
        row[one.dtype] = one if worst is None or one.error > worst.error else worst
    return [[*names, *(_error(row[dtype]) for dtype in TOLERANCES)] for names, row in rows.items()]


def _error(one: Comparison) -> str:
    return f"{one.error:.1e}" + ("" if one.holds else " **too far**")


def _cells(lap: Lap) -> list[str]:
    numbers = [f"{lap.ours:.3f}", f"{lap.mlx:.3f}", f"{lap.ratio:.2f}"]
    return [lap.task, str(lap.T), str(lap.S), str(lap.width), *numbers]


def _markdown(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows])


def _name(dtype: mx.Dtype) -> str:
    return str(dtype).rpartition(".")[2]


def _machine() -> str:
    if kernels.where() == "metal":
        return str(mx.device_info().get("device_name", "an unnamed GPU"))
    return f"{platform.system()} {platform.machine()}"


def _as_dict(found: list[Comparison], speeds: list[Lap]) -> dict[str, object]:
    errors = [[one.kernel, one.width, _name(one.dtype), one.mask, one.error, one.holds] for one in found]
    return {"machine": _machine(), "errors": errors, "speeds": [_cells(lap) for lap in speeds]}
