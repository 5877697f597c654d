"""`mlxdecoder corpus split`: training, validation and test parts that share no sentence."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlxdecoder.commands.common import Subparsers, add_command
from mlxdecoder.commands.corpus_options import add_choice_options, corpus_files, read_chosen
from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.parts import check_new, write_parts
from mlxdecoder.text.splits import Splits, split_without_leaks


@dataclass(frozen=True)
class Size:
    """A number of pairs, or a share of all of them in percent."""

    number: float
    percent: bool

    def of(self, pairs: int) -> int:
        return round(pairs * self.number / 100) if self.percent else int(self.number)


@dataclass(frozen=True)
class Usual:
    """500 pairs, or 5 % of a small corpus, but a pair at least."""

    def of(self, pairs: int) -> int:
        return min(500, max(1, pairs // 20))


def size(text: str) -> Size:
    """Read "500" or "2.5%"."""
    found = re.fullmatch(r"(\d{1,15})|(\d{1,3}(?:\.\d{1,15})?)\s*%", text)
    if not found or float(found[2] or 0) > 100:
        raise argparse.ArgumentTypeError(f"{text!r} found; wanted a number of pairs like 500, or a share like 5%")
    return Size(float(found[1] or found[2]), percent=found[2] is not None)


def add_parser(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "split",
        run,
        "Write training, validation and test parts of which no two share a source or a target, up to case and spaces.",
        "mlxdecoder corpus split fra.txt.gz --out parts --validation 500 --test 1%",
    )
    parser.add_argument("corpus", **corpus_files())
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder for the parts")
    for part in ("validation", "test"):
        usual = "pairs, or a share like 5%% (default: 500, or 5%% where that is less)"
        parser.add_argument(f"--{part}", type=size, default=Usual(), metavar="N", help=usual)
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="the same seed gives the same parts (default: 0)"
    )
    parser.add_argument(
        "--as", dest="shape", choices=("tab", "two-files"), default="tab", help="what a part is (default: tab)"
    )
    parser.add_argument("--gzip", action="store_true", help="pack the files, names end in .gz")
    add_choice_options(parser)


def run(options: argparse.Namespace) -> None:
    check_new(options.out)
    _say(f"Reading {' and '.join(options.corpus)}")
    corpus = read_chosen(options.corpus, options, "FILE")
    print(corpus.describe(), flush=True)
    _say("Splitting")
    splits = _split(corpus.pairs, options)
    _say("Writing")
    parts = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    names = write_parts(options.out, parts, two_files=options.shape == "two-files", packed=options.gzip)
    print(_told(splits))
    print(f"Written to {options.out}: {', '.join(names)}; NFC, and a space for each tab or line end inside a sentence.")


def _split(pairs: Sequence[Pair], options: argparse.Namespace) -> Splits:
    validation, test = options.validation.of(len(pairs)), options.test.of(len(pairs))
    if validation + test >= len(pairs):
        found = f"--validation {validation} --test {test}: the corpus has {len(pairs):,} pairs"
        raise UserError(f"{found}; wanted fewer in these two, so that some are left to train on, such as 5% each.")
    try:
        return split_without_leaks(pairs, validation, test, options.seed)
    except UserError as error:
        raise UserError(f"--{error}") from error  # arguments are called like the options


def _told(splits: Splits) -> str:
    sizes = f"train {len(splits.train):,}, validation {len(splits.validation):,}, test {len(splits.test):,}"
    groups = f"{splits.groups:,} groups that share no sentence; the largest holds {splits.largest:,} pairs"
    return f"Pairs: {sizes}. They form {groups}."


def _say(line: str) -> None:
    print(f"{line} ...", file=sys.stderr)
