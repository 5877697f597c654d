"""The command `mlxdecoder`: what it is asked, and how it answers when something is wrong."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module

from mlxdecoder.errors import UserError
from mlxdecoder.streams import open_streams, unheard_is_fine

COMMANDS = (
    "app", "corpus", "train", "translate", "generate", "evaluate", "attend", "align", "import", "export", "mistakes",
    "check", "lesson", "shapes", "kernels", "demo", "bench",
)  # fmt: skip

MODULES = {"import": "import_model"}  # a word of Python's own is no name for a module


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit status: 0, 2 for a wrong request, 130 when interrupted."""
    command, options = "mlxdecoder", argparse.Namespace()
    try:
        open_streams()
        make_parser().parse_args(arguments, options)
        command = f"mlxdecoder {options.command}"
        _warn_of_slow_products()
        with unheard_is_fine():
            return int(options.run(options) or 0)
        return 0  # the reader of our output had seen enough
    except UserError as error:
        return _refuse(f"{command}: {as_typed(str(error), options)}")
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{command}: {named}{error.strerror or error}.")
    except MemoryError:
        return _refuse(f"{command}: more memory is wanted than there is; ask for less at once.")
    except KeyboardInterrupt:
        print("\nmlxdecoder: interrupted; nothing more was saved.", file=sys.stderr)
        return 130


def as_typed(message: str, options: argparse.Namespace) -> str:
    """A message that begins with a name of Python's, `n_best = 3: ...`, with the option that a user types for it."""
    begins = re.match(r"(\w+)( = |: )", message)
    given = map(str, vars(options).values())  # a folder may be called so as well
    if not begins or begins[1] in given or "parser" not in options:
        return message
    actions = [action for action in options.parser._actions if action.option_strings]
    typed = [action.option_strings[-1] for action in actions if action.dest == begins[1]]
    between = begins[2].replace(" = ", " ")
    return f"{typed[0]}{between}{message[begins.end() :]}" if typed else message


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


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
        import_module(f"mlxdecoder.commands.{MODULES.get(name, name)}").add_parser(subparsers)
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
