"""The rows of a corpus in their order, blank ones too, for commands that answer every row."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice

from mlxdecoder.commands.corpus_options import chosen, two_at_most
from mlxdecoder.text.corpus import clean
from mlxdecoder.text.readers import Rows, open_rows


def open_chosen(options: argparse.Namespace) -> Rows:
    """The corpus of `--corpus`, opened as the options say; UserError for what cannot be read."""
    source, target = two_at_most(options.corpus)
    return open_rows(source, target, chosen(options))


def cleaned(rows: Rows, limit: int | None) -> Iterator[tuple[str, str]]:
    """Source and target of each row, at most `limit` of them, cleaned as for training."""
    return ((clean(row.source), clean(row.target)) for row in islice(rows, limit))
