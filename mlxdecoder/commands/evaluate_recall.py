"""`mlxdecoder evaluate recall`: how far back a language model finds a fact, beside the length that it promises."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mlxdecoder.commands.common import Subparsers, add_command, add_json, as_language_model, print_json
from mlxdecoder.commands.recall_report import recall_text, toys_text
from mlxdecoder.commands.shapes import cache_rows, cache_table
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text
from mlxdecoder.recall import TASKS, Recall, measure
from mlxdecoder.recall.curve import ROWS, THRESHOLD
from mlxdecoder.recall.experiments import SCHEMES, measured, run_experiments
from mlxdecoder.recall.toys import OPTIONS
from mlxdecoder.translate import load

PICTURES = (".png", ".svg", ".pdf")
OF_MODELS = ("lengths", "tasks", "rows", "threshold")


def add_parser(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "recall",
        run,
        "Ask a language model for facts at stated distances, in rows shorter and longer than it was trained for, and\n"
        "read off its effective length. Without a model: the record of toys, one for each kind of positions.",
        "mlxdecoder evaluate recall --model ~/models/Llama-3.2-1B --out recall.png",
    )
    parser.add_argument("--model", metavar="DIR", help="a folder with a language model, such as one of Llama")
    parser.add_argument(
        "--train",
        nargs="+",
        metavar="SCHEME",
        help=f"train toys now, minutes each: all, or some of {', '.join(SCHEMES)}",
    )
    asked = parser.add_argument_group("what a model is asked")
    asked.add_argument("--lengths", nargs="+", type=int, metavar="N", help="tokens of a row (default: around its own)")
    asked.add_argument("--tasks", nargs="+", choices=tuple(TASKS), help="what is asked (default: all)")
    asked.add_argument("--rows", type=int, metavar="N", help=f"rows for each length and distance (default: {ROWS})")
    asked.add_argument("--threshold", type=float, metavar="X", help=f"accuracy that is enough (default: {THRESHOLD})")
    parser.add_argument("--seed", type=int, metavar="N", help="of what is drawn (default: 0)")
    endings = ", ".join((*PICTURES, ".json"))
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"a figure or numbers, by its ending: {endings}")
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    _check(options)
    if options.model:
        _ask(options)
    else:
        _show_toys(options)


def _check(options: argparse.Namespace) -> None:
    if options.model and options.train:
        raise UserError("--train: trains toys of its own; leave out --model.")
    given = [name for name in OF_MODELS if getattr(options, name) is not None]
    if given and not options.model:
        raise UserError(f"--{given[0]}: is for a model; name one with --model.")
    if options.seed is not None and not (options.model or options.train):
        raise UserError("--seed: nothing is drawn to show the record; give --model or --train too.")
    unknown = sorted({*(options.train or ())} - {*SCHEMES, "all"})
    if unknown:
        raise UserError(f"--train {unknown[0]}: wanted all, or some of {', '.join(SCHEMES)}.")
    endings = (*PICTURES, ".json")
    if options.out and (options.out.suffix.lower() not in endings or options.out.is_dir()):
        raise UserError(f"--out {options.out}: a file that ends in {', '.join(endings)} is wanted.")
    if options.out and options.out.suffix.lower() in PICTURES:
        import mlxdecoder.figures  # noqa: F401  says at once when matplotlib is missing, not after the training


def _ask(options: argparse.Namespace) -> None:
    model = as_language_model(load(options.model), "recall")
    given = {name: getattr(options, name) for name in OF_MODELS if getattr(options, name) is not None}
    with tqdm(unit=" curves", file=sys.stderr, leave=False, disable=None) as bar:

        def progress(task: str, length: int) -> None:
            bar.set_description_str(f"{task}, {length} tokens")
            bar.update(1)

        found = measure(model, seed=options.seed or 0, progress=progress, **given)
    caches = cache_rows(model, max(found.lengths))
    result = {"model": options.model, **found.to_dict(), "caches": caches}
    if options.json:
        print_json(result)
    else:
        print(f"{options.model}: {recall_text(found)}\n\nOne row of {max(found.lengths)} tokens, cached:\n")
        print(cache_table(caches))
    _save(options, result, lambda figures: figures.recall_figure(found, title=str(options.model)))


def _show_toys(options: argparse.Namespace) -> None:
    record = _train(options) if options.train else measured()
    found = {name: Recall.from_dict(row["recall"]) for name, row in record["schemes"].items()}
    if options.json:
        print_json(record)
    else:
        print(toys_text(found, record))
    _save(options, record, lambda figures: figures.toys_figure(found, record["trained_length"]))


def _train(options: argparse.Namespace) -> dict[str, Any]:
    schemes = SCHEMES if "all" in options.train else [scheme for scheme in SCHEMES if scheme in options.train]
    out = options.out if options.out and options.out.suffix.lower() == ".json" else None
    with tqdm(total=OPTIONS.steps, unit=" steps", file=sys.stderr, leave=False, disable=None) as bar:

        def progress(scheme: str, step: int, loss: float) -> None:
            bar.set_description_str(scheme)
            bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
            bar.update(step - bar.n)

        return run_experiments(out, schemes, replace(OPTIONS, seed=options.seed or 0), progress)


def _save(options: argparse.Namespace, result: dict[str, Any], draw: Callable[[Any], Any]) -> None:
    if not options.out:
        return
    if options.out.suffix.lower() == ".json":
        write_text(options.out, json.dumps(result, indent=1) + "\n")
    else:
        import mlxdecoder.figures as figures

        figures.save_figure(draw(figures), options.out)
    if not options.json:
        print(f"\n{options.out}")
