"""`python -m mlxdecoder.app [FILE]` opens the window; `--worker` is the process that computes for it."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence

MISSING = "The app needs PySide6 and pyqtgraph: pip install 'mlxdecoder[app]'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; gives the exit status: 0, 1 for a failed self-test, 2 for a wrong request."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments == ["--worker"]:  # before anything of Qt is imported: the worker has no use for it
        from mlxdecoder.app.worker.main import run

        return run()
    options = _parser().parse_args(arguments)
    if not is_installed():
        print(f"mlxdecoder app: {MISSING}", file=sys.stderr)
        return 2
    if options.self_test:
        from mlxdecoder.app.self_test import self_test

        return self_test()
    from mlxdecoder.app.application import start

    return start(options.file)


def is_installed() -> bool:
    """Whether what the window is made of is there."""
    return all(importlib.util.find_spec(name) for name in ("PySide6", "pyqtgraph"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mlxdecoder app", description="Train, watch and break a small translator.")
    parser.add_argument("file", nargs="?", metavar="FILE", help="a session, a checkpoint or a corpus to open")
    parser.add_argument("--self-test", action="store_true", help="see whether everything works here, and exit")
    parser.add_argument("--worker", action="store_true", help="compute for a window, over stdin and stdout; goes alone")
    return parser


if __name__ == "__main__":
    sys.exit(main())
