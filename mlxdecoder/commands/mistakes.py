"""`mlxdecoder mistakes`: the catalogue, one entry, what a mistake does to a sentence and to a training."""

from __future__ import annotations

import argparse

from mlxdecoder.commands import mistakes_compare, mistakes_train
from mlxdecoder.commands.common import Subparsers, add_command, add_json, print_json, table
from mlxdecoder.mistakes import CATALOGUE, HARMLESS, MISTAKES, Mistake, find
from mlxdecoder.mistakes.describe import entry_to_dict, figures_of, story

ABOUT = "The catalogue of mistakes about attention: list them, read about one, see what it does."


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "mistakes", help=ABOUT, description=ABOUT, epilog="example: mlxdecoder mistakes list"
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_json(
        add_command(actions, "list", show_list, "List all mistakes, by stage.", "mlxdecoder mistakes list"),
    )
    one = add_command(
        actions, "show", show_one, "Tell all that is known of one mistake.", "mlxdecoder mistakes show no-causal-mask"
    )
    one.add_argument("id", help="its id or number")
    add_json(one)
    mistakes_compare.add_parser(actions)
    mistakes_train.add_parser(actions)


def show_list(options: argparse.Namespace) -> None:
    if options.json:
        print_json([entry_to_dict(mistake) for mistake in CATALOGUE])
        return
    print(f"{len(MISTAKES)} mistakes, and {len(HARMLESS)} that only look like one and are harmless.")
    print(
        "Share of sentences translated exactly, without -> with the mistake: trained with it from the first step, and"
    )
    print("switched on after a right training. How that was measured: mlxdecoder mistakes show ID\n")
    header = ["mistake", "no.", "stage", "trained with it", "switched on", "switched on, padded"]
    rows = [[_name(mistake), str(mistake.number), mistake.stage, *_shares(mistake)] for mistake in CATALOGUE]
    print(table(header, rows))


def show_one(options: argparse.Namespace) -> None:
    mistake = find(options.id)
    if options.json:
        print_json(entry_to_dict(mistake))
    else:
        print(story(mistake))


def _name(mistake: Mistake) -> str:
    return f"{mistake.id} (harmless)" if mistake.harmless else mistake.id


def _shares(mistake: Mistake) -> list[str]:
    figures = figures_of(mistake)
    return [figures.trained, figures.switched, figures.padded]
