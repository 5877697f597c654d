"""`mlxdecoder lesson`: the worked examples, ours beside PyTorch's."""

from __future__ import annotations

import argparse

from mlxdecoder.commands.common import Subparsers, add_command, add_json, print_json


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "lesson",
        run,
        "Recompute the lesson's tables and show them beside PyTorch's; or its ladder of averages, or its contracts.",
        "mlxdecoder lesson averaging",
    )
    parser.add_argument("part", nargs="?", choices=("tables", "averaging", "contracts"), default="tables")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from mlxdecoder import lesson

    report = lesson.run(options.part)
    if options.json:
        print_json(report.to_dict())
    else:
        print(report.text())
    return 0 if report.agrees else 1
