"""What commands that generate are asked: the options of a search, and lines of stdin as they come."""

from __future__ import annotations

import argparse
import queue
import sys
import threading
from collections.abc import Iterator
from dataclasses import fields

from mlxdecoder.streams import own_stdin
from mlxdecoder.text.readers import read_lines
from mlxdecoder.translate import SearchOptions

LINES_AT_ONCE = 1024
_FIELDS = [field.name for field in fields(SearchOptions)]
NAMED_OTHERWISE = {"temp": "temperature"}  # options whose field in `SearchOptions` has another name


def add_drawing(parser: argparse.ArgumentParser) -> None:
    """The options of a sampler."""
    parser.add_argument("--temp", type=float, default=0.0, help="draw at this temperature instead (default: 0)")
    parser.add_argument("--top-k", type=int, default=0, help="draw from the k best tokens")
    parser.add_argument("--top-p", type=float, default=1.0, help="draw from the best tokens that hold this mass")
    parser.add_argument("--min-p", type=float, default=0.0, help="draw from tokens with this share of the best one's")
    parser.add_argument("--seed", type=int, help="makes the same draws again")


def search_options(options: argparse.Namespace) -> SearchOptions:
    """The search that was asked for; what a command has no option for stays as it is by default."""
    given = {NAMED_OTHERWISE.get(name, name): value for name, value in vars(options).items()}
    return SearchOptions(**{name: given[name] for name in _FIELDS if name in given})


def lines_of_stdin(what: str) -> Iterator[list[str]]:
    """The lines of stdin by `lines_at_hand`; on a terminal, it is said what to type."""
    if sys.stdin.isatty():
        print(f"Type {what} and press return; Ctrl-D ends.", file=sys.stderr)
    return lines_at_hand(read_lines(own_stdin()))


def lines_at_hand(lines: Iterator[str]) -> Iterator[list[str]]:
    """As many lines as are there without waiting, but at least one: a file in a few pieces, a dialogue line by line."""
    waiting: queue.Queue[str | Exception | None] = queue.Queue(maxsize=LINES_AT_ONCE)
    threading.Thread(target=_read_into, args=(waiting, lines), daemon=True).start()
    last: str | Exception | None = ""
    while isinstance(last, str):
        items = [waiting.get()]
        while len(items) < LINES_AT_ONCE and not waiting.empty():
            items.append(waiting.get())
        if chunk := [item for item in items if isinstance(item, str)]:
            yield chunk
        last = items[-1]
    if last is not None:
        raise last


def _read_into(waiting: queue.Queue[str | Exception | None], lines: Iterator[str]) -> None:
    """Every line, and at the end None, or what went wrong."""
    try:
        for line in lines:
            waiting.put(line)
        waiting.put(None)
    except Exception as error:
        waiting.put(error)
