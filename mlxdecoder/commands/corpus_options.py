"""The options that say which corpus is meant, and what of it: the same for every command that reads one."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, Literal

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Corpus, read_corpus
from mlxdecoder.text.readers import Choice

FORMATS = "tab-separated, CSV, TMX, gettext PO or JSON lines, or two files of equal length; plain, gzip or zip"
LIMITS = {
    "pairs": "read no further than N pairs that are kept; blank, half-blank and repeated rows do not count",
    "rows": "read the first N rows of the corpus, whatever they hold",
}


def corpus_files() -> dict[str, Any]:
    """What argparse should know of an argument that takes the file or the two files of a corpus."""
    return {"nargs": "+", "metavar": "FILE", "help": f"{FORMATS}; which of them is found out"}


def add_choice_options(parser: argparse.ArgumentParser, limit_of: Literal["pairs", "rows"] = "pairs") -> None:
    """`--columns`, `--languages`, `--header` and `--limit`, which counts pairs that are kept, or rows of any kind."""
    two = ("SOURCE", "TARGET")
    parser.add_argument("--columns", nargs=2, metavar=two, help="columns of the corpus, by name or number from 1")
    parser.add_argument("--languages", nargs=2, metavar=two, help="languages of TMX, or endings in a zip file: en fr")
    named = "whether the first row of a table names the columns (default: found out)"
    parser.add_argument("--header", action=argparse.BooleanOptionalAction, help=named)
    parser.add_argument("--limit", type=_at_least_one, metavar="N", help=LIMITS[limit_of])


def _at_least_one(text: str) -> int:
    if not re.fullmatch(r"0*[1-9]\d{0,17}", text):
        raise argparse.ArgumentTypeError(f"found {text}, wanted a number from 1")
    return int(text)


def chosen(options: argparse.Namespace) -> Choice:
    """The choice that `--columns`, `--languages` and `--header` say."""
    columns, languages = (None if two is None else (two[0], two[1]) for two in (options.columns, options.languages))
    return Choice(columns, languages, options.header)


def as_typed(options: argparse.Namespace) -> list[str]:
    """What was chosen, as words of a command line."""
    words: list[str] = []
    for name in ("columns", "languages"):
        words += [f"--{name}", *getattr(options, name)] if getattr(options, name) else []
    words += {True: ["--header"], False: ["--no-header"], None: []}[options.header]
    return words + (["--limit", str(options.limit)] if options.limit else [])


def read_chosen(files: Sequence[str], options: argparse.Namespace, option: str = "--corpus") -> Corpus:
    """Read what of the files of `option` is chosen; UserError for what cannot be read."""
    source, target = two_at_most(files, option)
    return read_corpus(source, target, options.limit, choice=chosen(options))


def two_at_most(files: Sequence[str], option: str = "--corpus") -> tuple[str, str | None]:
    """The file, or the two, that an option was given."""
    if len(files) > 2:
        raise UserError(f"{option}: {len(files)} files found; one or two are wanted.")
    return files[0], files[1] if len(files) == 2 else None
