"""`mlxdecoder corpus split`: training, validation and test parts that share no sentence."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from mlxdecoder.commands.common import Subparsers, add_command
from mlxdecoder.commands.corpus_options import add_choice_options, corpus_files, read_chosen
from mlxdecoder.text.parts import check_new, write_parts
from mlxdecoder.text.splits import Splits, split_without_leaks


@dataclass(frozen=True)
class Size:
    """A number of pairs, or a share of all of them in percent."""

    number: float
    percent: bool

    def of(self, pairs: int) -> int:
        return round(pairs * self.number / 100) if self.percent else int(self.number)


def size(text: str) -> Size:
    """Read "500" or "2.5%"."""
    found = re.fullmatch(r"(\d+)|(\d+(?:\.\d+)?)\s*%", text)
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
        parser.add_argument(
            f"--{part}", type=size, default=Size(500, False), metavar="N", help="pairs, or like 5%% (default: 500)"
        )
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
    count = len(corpus.pairs)
    splits = split_without_leaks(corpus.pairs, options.validation.of(count), options.test.of(count), options.seed)
    _say("Writing")
    parts = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    names = write_parts(options.out, parts, two_files=options.shape == "two-files", packed=options.gzip)
    print(_told(splits))
    print(f"Written to {options.out}: {', '.join(names)}; NFC, and a space for each tab or line end inside a sentence.")


def _told(splits: Splits) -> str:
    sizes = f"train {len(splits.train):,}, validation {len(splits.validation):,}, test {len(splits.test):,}"
    groups = f"{splits.groups:,} groups that share no sentence; the largest holds {splits.largest:,} pairs"
    return f"Pairs: {sizes}. They form {groups}."


def _say(line: str) -> None:
    print(f"{line} ...", file=sys.stderr)
