"""`mlxdecoder corpus inspect`: what a corpus holds, and what training will make of it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from dataclasses import asdict

from tqdm import tqdm

from mlxdecoder.commands.common import Subparsers, add_command, add_json, command_line, print_json
from mlxdecoder.commands.corpus_options import add_choice_options, as_typed, chosen, corpus_files, two_at_most
from mlxdecoder.text.inspection import Inspection, inspect_corpus
from mlxdecoder.text.inspection.report import describe, to_dict
from mlxdecoder.text.readers import Row, Rows, open_rows
from mlxdecoder.training.prepare import LONGEST
from mlxdecoder.training.presets import FOR_CORPUS, PRESETS

REPEATS = {"near-duplicate", "several-targets", "several-sources"}
WRONG = {"swapped", "script"}


def add_parser(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "inspect",
        run,
        "Report pairs, duplicates, lengths, scripts, odd characters and suspicious pairs, and what training will drop.",
        "mlxdecoder corpus inspect fra.txt.gz",
    )
    parser.add_argument("corpus", **corpus_files())
    add_choice_options(parser)
    usual = f"count tokens as a training with this preset would (default: {FOR_CORPUS})"
    parser.add_argument("--preset", choices=tuple(PRESETS), help=usual)
    add_json(parser, "print one JSON object")


def run(options: argparse.Namespace) -> None:
    rows = _open(options)
    if not options.json:
        print(f"{rows.name}: {rows.format.describe()}\n", flush=True)
    vocab_size = PRESETS[options.preset or FOR_CORPUS].vocab_size
    found = inspect_corpus(_bar(rows), lambda: _bar(_open(options)), LONGEST, vocab_size, options.limit)
    if options.json:
        print_json(
            {"name": rows.name, "format": asdict(rows.format), **to_dict(found), "advice": _advice(options, found)}
        )
    else:
        print("\n".join([describe(found), "", *_advice(options, found)]))


def _open(options: argparse.Namespace) -> Rows:
    source, target = two_at_most(options.corpus, "FILE")
    return open_rows(source, target, chosen(options))


def _bar(rows: Rows) -> Iterable[Row]:
    # None: no bar where stderr is no terminal, such as a log.
    bar: Iterable[Row] = tqdm(rows, unit=" rows", leave=False, disable=None)
    return bar


def _advice(options: argparse.Namespace, found: Inspection) -> list[str]:
    """What to do next, in one to three lines."""
    corpus = _as_typed(options)
    if not found.pairs:
        return ["Nothing to train on: are these the columns or languages that you mean?"]
    suspicions = {one.id for one in found.suspicions}
    preset = f" --preset {options.preset}" if options.preset else ""
    advice = [f"Train with: {command_line()} train --corpus {corpus}{preset} --out my-translator"]
    if suspicions & REPEATS:
        advice.append(f"Sentences repeat: measure on parts from: {command_line()} corpus split {corpus} --out parts")
    if suspicions & WRONG:
        advice.append("Look at the rows that are exchanged, or in another script, before you train.")
    return advice


def _as_typed(options: argparse.Namespace) -> str:
    """The files and what was chosen of them, for a shell."""
    return shlex.join([*options.corpus, *as_typed(options)])
