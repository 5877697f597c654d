"""`mlxdecoder corpus`: what a corpus holds, and parts of it to train on and to measure by."""

from __future__ import annotations

from mlxdecoder.commands import corpus_inspect, corpus_leaks, corpus_split
from mlxdecoder.commands.common import Subparsers

ABOUT = "What a corpus holds and what training drops of it; parts without leaks; leaks between parts."


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "corpus", help=ABOUT, description=ABOUT, epilog="example: mlxdecoder corpus inspect fra.txt.gz"
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    corpus_inspect.add_parser(actions)
    corpus_split.add_parser(actions)
    corpus_leaks.add_parser(actions)
