"""`mlxdecoder app`: the window, in a process of its own, which MLX stays out of."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from mlxdecoder.app.__main__ import MISSING, is_installed
from mlxdecoder.app.screen import has_screen
from mlxdecoder.commands.common import Subparsers, add_command
from mlxdecoder.errors import UserError


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "app",
        run,
        "Open the app: train, watch and break a small translator in a window.",
        "mlxdecoder app session.mlxdecoder",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a session, a checkpoint or a corpus to open")
    parser.add_argument("--self-test", action="store_true", help="see whether the app works here, and exit")


def run(options: argparse.Namespace) -> int:
    if not is_installed():
        raise UserError(f"{MISSING}.")
    if not options.self_test and not has_screen(sys.platform, os.environ):
        raise UserError("no screen found; `mlxdecoder demo` does the same work in the terminal.")
    asked = [*(["--self-test"] if options.self_test else []), *([options.file] if options.file else [])]
    return subprocess.run([sys.executable, "-P", "-m", "mlxdecoder.app", *asked], check=False).returncode
