"""`mlxdecoder corpus leaks`: whether a test set shares sentences with what is trained on."""

from __future__ import annotations

import argparse

from mlxdecoder.commands.common import Subparsers, add_command
from mlxdecoder.commands.corpus_options import add_choice_options, corpus_files, read_chosen
from mlxdecoder.labels import elided
from mlxdecoder.text.splits import find_leaks

N_SHOWN = 3


def add_parser(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "leaks",
        run,
        "Count the test pairs whose source or target is also trained on, up to case and spaces; exit status 1 if any.",
        "mlxdecoder corpus leaks --train train.tsv --test test.en test.de",
    )
    for part in ("train", "test"):
        parser.add_argument(f"--{part}", required=True, **corpus_files())
    add_choice_options(parser)


def run(options: argparse.Namespace) -> int:
    train, test = (read_chosen(getattr(options, part), options, f"--{part}") for part in ("train", "test"))
    leaks = find_leaks(train.pairs, test.pairs)
    print(f"{len(leaks):,} of {len(test.pairs):,} pairs of {test.name} share a sentence with {train.name}.")
    for pair in leaks[:N_SHOWN]:
        print(f"  {elided(pair.source, 40)} → {elided(pair.target, 40)}")
    return 1 if leaks else 0
