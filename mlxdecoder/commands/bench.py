"""`mlxdecoder bench`: speed on this machine, as ratios measured side by side."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

from tqdm import tqdm

from mlxdecoder.bench import decoding, peer, training, translation
from mlxdecoder.commands.common import Subparsers, add_command, add_json, print_json, table

Part = tuple[str, list[str], list[list[Any]]]


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "bench",
        run,
        "Measure the speed on this machine: training, translating, the cache, prefixes, tracing, the app. Minutes.",
        "mlxdecoder bench --only training",
    )
    parser.add_argument("--only", choices=tuple(PARTS), nargs="+", default=tuple(PARTS), help="measure these things")
    add_json(parser, "print one JSON object a measurement")


def run(options: argparse.Namespace) -> None:
    for name, measure in PARTS.items():
        if name in options.only:
            title, header, rows = measure()
            if options.json:
                print_json({"bench": name, "rows": [dict(zip(header, row, strict=True)) for row in rows]})
            else:
                print(
                    "\n".join(
                        [title, table(header, [[_cell(value) for value in row] for row in rows]) if rows else "", ""]
                    )
                )


def _training() -> Part:
    header = ["model", "ours, ms", "PyTorch, ms", "ours / PyTorch"]
    rows = [[name, 1e3 * ours, 1e3 * theirs, ratio] for name, ours, theirs, ratio in training.measure()]
    cores = f"{peer.cores()} cores" if rows else "skipped, since torch is not installed (pip install torch)"
    return f"Training step, {cores}", header, rows


def _translation() -> Part:
    header = [
        "MarianMT",
        "beam",
        "batch",
        "ours, sentences/s",
        "transformers",
        "CTranslate2",
        "ours / transformers",
        "ours / CTranslate2",
        "same tokens",
    ]
    total = len(translation.SIZES) * len(translation.BEAMS) * len(translation.BATCHES)
    measured = tqdm(translation.measure(), total=total, unit=" batches", leave=False, disable=None)
    rows = [list(asdict(figures).values()) for figures in measured]
    if not rows:
        missing = "transformers, ctranslate2 or torch is not installed (pip install 'mlxdecoder[others]')"
        return f"Translation, skipped, since {missing}", header, []
    counts = ", ".join(
        f"{before} for a token of the {name} one, {after} as it is prepared"
        for name in translation.SIZES
        for before, after in [translation.operations(name)]
    )
    return f"Translation by the same weights, {peer.cores()} threads each; operations: {counts}", header, rows


def _cache() -> Part:
    rows = [[n, 1e3 * cached, 1e3 * bare, ratio] for n, cached, bare, ratio in decoding.cached_and_not()]
    return (
        "Greedy decoding with a cache and without",
        ["tokens", "cached, ms", "uncached, ms", "cached / uncached"],
        rows,
    )


def _prefix() -> Part:
    times = decoding.by_prefix()
    rows = [[length, 1e3 * seconds, seconds / times[0][1]] for length, seconds in times]
    return "Time of one cached token behind a prefix", ["prefix", "ms a token", "against the shortest"], rows


def _tracing() -> Part:
    watched, bare, ratio = decoding.tracing()
    header = ["tokens", "watched, ms", "unwatched, ms", "watched / unwatched"]
    return "Recording the weights of every head", header, [[32, 1e3 * watched, 1e3 * bare, ratio]]


def _app() -> Part:
    header = ["the worker", "median, ms", "99 of 100, ms", "longest, ms"]
    if find_spec("PySide6") is None:
        return "The window, skipped, since PySide6 is not installed (pip install 'mlxdecoder[app]')", header, []
    command = [sys.executable, "-m", "mlxdecoder.app.lateness"]
    with tqdm(desc="the window", bar_format="{desc}", leave=False, disable=None):
        measured = subprocess.run(command, capture_output=True, text=True, check=False)
    if measured.returncode:
        return f"The window could not be measured: {measured.stderr.strip().splitlines()[-1]}", header, []
    return (
        "How late a clock of 16 ms is in the window, and how long painting takes",
        header,
        json.loads(measured.stdout),
    )


PARTS: dict[str, Callable[[], Part]] = {
    "training": _training,
    "translation": _translation,
    "cache": _cache,
    "prefix": _prefix,
    "tracing": _tracing,
    "app": _app,
}


def _cell(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)
