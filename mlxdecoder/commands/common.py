"""What several commands share: their look, the model that they use, their way of printing."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.models import LanguageModel
from mlxdecoder.training.checkpoint import Checkpoint

Subparsers = Any  # argparse keeps the type of what add_subparsers gives to itself
OTHERS = {
    "translator": ("a translator", "mlxdecoder translate, evaluate, attend or app"),
    "encoder": ("an encoder", "mlxdecoder attend, shapes or app"),
}


def add_command(
    subparsers: Subparsers, name: str, run: Callable[[argparse.Namespace], int | None], help: str, example: str
) -> argparse.ArgumentParser:
    """A parser for one command, with an example in its help."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=help,
        epilog=f"example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_model(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    said = "a checkpoint, training run or local Hugging Face folder"
    default = "" if required else " (default: the packaged toy model)"
    parser.add_argument("--model", metavar="DIR", required=required, help=f"{said}{default}")


def as_language_model(checkpoint: Checkpoint, who: str) -> LanguageModel:
    """The model of a checkpoint; raises `UserError`, which says what another one is good for, when it is none."""
    if isinstance(checkpoint.model, LanguageModel):
        return checkpoint.model
    found, instead = OTHERS[checkpoint.model.config.architecture]
    raise UserError(f"--model {checkpoint.path}: holds {found}; {who} asks language models. For {found}: {instead}.")


def add_json(parser: argparse.ArgumentParser, what: str = "print JSON for programs") -> None:
    parser.add_argument("--json", action="store_true", help=what)


def print_json(value: object) -> None:
    """One line of JSON, at once, so that a reader at the other end of a pipe can follow."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False), flush=True)


def warn_of_unknown(characters: list[str]) -> None:
    """Say on stderr which characters of a text the model has never seen."""
    if characters:
        print(f"mlxdecoder: the model has never seen {' '.join(characters)}", file=sys.stderr)


def command_line() -> str:
    """How to call the command from here: by its name where a shell finds it, else by its path."""
    return "mlxdecoder" if shutil.which("mlxdecoder") else os.path.relpath(sys.argv[0])


def table(header: list[str], rows: list[list[str]]) -> str:
    """Rows under their header, columns aligned: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(row: list[str]) -> str:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, rows)])
