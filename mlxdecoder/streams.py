"""The standard streams as users leave them: closed, with a narrow encoding, or with nobody at the other end."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

ONE_AT_A_TIME = threading.Lock()


def open_streams() -> None:
    """Give closed streams a place, and let no character fail that the terminal's encoding lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def own_stdin() -> BinaryIO:
    """The bytes of stdin for a thread that may be left waiting: with its own reader held, Python aborts at its end."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:  # what tests put there is no file
        return sys.stdin.buffer


@contextmanager
def unheard_is_fine() -> Iterator[None]:
    """What is printed in here may be lost when the reader of our output has gone, but nothing else."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def stderr_unseen() -> Iterator[None]:
    """Hide what is written to descriptor 2 in here, as libraries of other languages do past `sys.stderr`."""
    with ONE_AT_A_TIME, open(os.devnull, "wb") as nothing:
        try:
            kept = os.dup(2)
        except OSError:  # closed
            yield
            return
        try:
            os.dup2(nothing.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
