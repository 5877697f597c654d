"""The options that say which corpus is meant, and what of it: the same for every command that reads one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Corpus, read_corpus
from mlxdecoder.text.readers import Choice

FORMATS = "tab-separated, CSV, TMX, gettext PO or JSON lines, or two files of equal length; plain, gzip or zip"


def add_corpus_options(parser: argparse.ArgumentParser) -> None:
    """`--corpus FILE [FILE]`, required, and what may be chosen of it."""
    parser.add_argument("--corpus", required=True, **corpus_files())
    add_choice_options(parser)


def corpus_files() -> dict[str, Any]:
    """What argparse should know of an argument that takes the file or the two files of a corpus."""
    return {"nargs": "+", "metavar": "FILE", "help": f"{FORMATS}; which of them is found out"}


def add_choice_options(parser: argparse.ArgumentParser) -> None:
    """`--columns`, `--languages` and `--limit`."""
    two = ("SOURCE", "TARGET")
    parser.add_argument("--columns", nargs=2, metavar=two, help="columns of the corpus, by name or number from 1")
    parser.add_argument("--languages", nargs=2, metavar=two, help="languages of TMX, or endings in a zip file: en fr")
    parser.add_argument("--limit", type=int, metavar="N", help="read the first N pairs of the corpus only")


def chosen(options: argparse.Namespace) -> Choice:
    """The choice that `--columns` and `--languages` say."""
    columns, languages = (None if two is None else (two[0], two[1]) for two in (options.columns, options.languages))
    return Choice(columns, languages)


def read_chosen(files: Sequence[str], options: argparse.Namespace, option: str = "--corpus") -> Corpus:
    """Read what of the files of `option` is chosen; UserError for what cannot be read."""
    source, target = two_at_most(files, option)
    return read_corpus(source, target, options.limit, choice=chosen(options))


def two_at_most(files: Sequence[str], option: str = "--corpus") -> tuple[str, str | None]:
    """The file, or the two, that an option was given."""
    if len(files) > 2:
        raise UserError(f"{option}: {len(files)} files found; one or two are wanted.")
    return files[0], files[1] if len(files) == 2 else None
