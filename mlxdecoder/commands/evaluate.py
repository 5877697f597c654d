"""`mlxdecoder evaluate`: what a model is worth."""

from __future__ import annotations

from mlxdecoder.commands import evaluate_recall
from mlxdecoder.commands.common import Subparsers

ABOUT = "Measure what a model is worth: how far back it finds a fact."


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "evaluate", help=ABOUT, description=ABOUT, epilog="example: mlxdecoder evaluate recall"
    )
    evaluate_recall.add_parser(parser.add_subparsers(dest="action", required=True, metavar="ACTION"))
