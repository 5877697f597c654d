"""The command `mlxdecoder`: what it is asked, and how it answers when something is wrong."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = ("train", "translate", "attend", "lesson", "shapes", "demo", "bench")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit status: 0, 2 for a wrong request, 130 when interrupted."""
    from mlxdecoder.errors import UserError

    options = make_parser().parse_args(arguments)
    try:
        _warn_of_slow_products()
        return int(options.run(options) or 0)
    except UserError as error:
        print(f"mlxdecoder {options.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        print(f"mlxdecoder {options.command}: {named}{error.strerror or error}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nmlxdecoder: interrupted.", file=sys.stderr)
        return 130


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands; each module in `mlxdecoder.commands` adds its own."""
    parser = argparse.ArgumentParser(
        prog="mlxdecoder",
        description="The transformer decoder block in MLX: train a small translator and watch its attention.",
        epilog='example: echo "The black cat sleeps." | mlxdecoder translate',
    )
    parser.add_argument("--version", action="version", version=_version())
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"mlxdecoder.commands.{name}").add_parser(subparsers)
    return parser


def _version() -> str:
    from mlxdecoder import __version__

    return f"mlxdecoder {__version__}"


def _warn_of_slow_products() -> None:
    from mlxdecoder.blas import missing_hint

    if hint := missing_hint():
        print(f"mlxdecoder: {hint}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
