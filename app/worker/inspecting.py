"""A corpus looked at before it is trained on: what it is, how it begins, and what training drops of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.catalogue import find_preset
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.link import Link, Stopped
from mlxdecoder.commands.corpus_options import two_at_most
from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair, clean
from mlxdecoder.text.inspection import inspect_corpus
from mlxdecoder.text.inspection.report import summary
from mlxdecoder.text.readers import Choice, Row, Rows, Undecided, open_rows
from mlxdecoder.training.prepare import LONGEST

SHOWN, LOOKED_AT = 5, 1000  # pairs to show, and rows among which they are found
CUT = 500  # characters of a side that is shown
BETWEEN = 0.1  # seconds from one telling of the progress to the next
AT_A_TIME = 500  # rows from one look at the clock to the next
NOTHING: dict[str, Any] = {"text": "", "sides": "", "offered": [], "chosen": None, "header": None}  # of nothing known

Open = Callable[[], Rows]


def inspect(engine: Engine, message: Message, link: Link) -> None:
    """The job: tells `recognised` at once, `counted` while rows are read, and `inspected` at the end.

    A file of which two sides have to be chosen is told as recognised too, and then refused.
    """
    source, target = two_at_most(message["corpus"], "corpus")
    choice = choice_of(message)

    def again() -> Rows:
        return open_rows(source, target, choice)

    try:
        with suppress(Stopped):
            _inspect(again, message, link)
    except Undecided as error:
        told = {**NOTHING, "sides": error.what, "offered": list(error.offered), "header": choice.header}
        link.tell("recognised", **told, pairs=[])
        raise


def choice_of(message: Message) -> Choice:
    """What a message asks for of its files."""
    columns, languages, header = (message.fields.get(name) for name in ("columns", "languages", "header"))
    return Choice(columns and tuple(columns), languages and tuple(languages), header)


def _inspect(again: Open, message: Message, link: Link) -> None:
    rows = again()
    _begin(rows, message, link)
    vocab_size = find_preset(message["preset"]).vocab_size
    found = inspect_corpus(
        _watched(again(), link), lambda: _watched(again(), link), LONGEST, vocab_size, message["limit"]
    )
    if not found.pairs:
        wanted = "wanted a source and a target each; are these the columns or languages that you mean?"
        raise UserError(f"{rows.name}: no sentence pairs in {found.rows:,} rows; {wanted}")
    link.tell("inspected", text="\n".join(summary(found)))


def _begin(rows: Rows, message: Message, link: Link) -> None:
    """Tell what it is and how it begins; of what cannot be read at all, what else could be chosen."""
    told, begin = _recognised(rows, message["corpus"]), list[Pair]()
    try:
        with rows:
            begin += islice(_pairs(islice(rows, LOOKED_AT)), SHOWN)
    except UserError:
        if not begin:
            told = {**told, "text": ""} if len(told["offered"]) > 2 else NOTHING
        raise
    finally:
        link.tell("recognised", **told, pairs=[[pair.source[:CUT], pair.target[:CUT]] for pair in begin])


def _recognised(rows: Rows, files: list[str]) -> dict[str, Any]:
    """The fields that say what a corpus is, and what could be chosen of it."""
    form = rows.format
    text = form.describe()
    told = {**NOTHING, "text": f"{text[:1].upper()}{text[1:]}", "header": form.header}
    if len(files) == 2:
        return {**told, "sides": "files", "offered": [Path(file).name for file in files], "chosen": [0, 1]}
    for sides, chosen in (("columns", form.columns), ("languages", form.languages)):
        if chosen and form.offered:
            offered = list(form.offered)
            return {**told, "sides": sides, "offered": offered, "chosen": [_place(one, offered) for one in chosen]}
    return told


def _place(name: str, offered: list[str]) -> int:
    """Where a name stands among those that are offered; one that is written otherwise there, or not, is added."""
    folded = [one.casefold() for one in offered]
    if name.casefold() not in folded:
        offered.append(name)
        return len(offered) - 1
    return folded.index(name.casefold())


def _pairs(rows: Iterable[Row]) -> Iterator[Pair]:
    """The rows that have both sides, as training reads them."""
    pairs = (Pair(clean(row.source), clean(row.target)) for row in rows)
    return (pair for pair in pairs if pair.source and pair.target)


def _watched(rows: Rows, link: Link) -> Iterator[Row]:
    """The rows, of which the window is told how many there were so far; `Stopped` when it wants no more."""
    told = time.monotonic()
    for number, row in enumerate(rows, 1):
        yield row
        if number % AT_A_TIME == 0 and time.monotonic() - told > BETWEEN:
            told = time.monotonic()
            link.tell("counted", rows=number)
        if number % AT_A_TIME == 0 and link.stopped():
            raise Stopped
