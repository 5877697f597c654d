"""Readers of corpora, and the one door to them: `open_rows` gives rows of raw text from any format that is known."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.opening import Opened, open_one, open_text, read_lines
from mlxdecoder.text.readers.recognise import holds_both_sides, recognise
from mlxdecoder.text.readers.rows import Choice, Format, Row, Rows, Undecided
from mlxdecoder.text.readers.two_files import read_two

__all__ = ["Choice", "Format", "Row", "Rows", "Undecided", "open_rows", "read_lines"]


def open_rows(path: Path | str, target_path: Path | str | None = None, choice: Choice = Choice()) -> Rows:
    """Open a corpus: one file of any format, or two plain ones of equal length; recognised by content.

    Raises UserError, naming the file and mostly the line, for what cannot be read, now or while iterating.
    """
    name = Path(path).name if target_path is None else f"{Path(path).name} and {Path(target_path).name}"
    with ExitStack() as undo:
        texts = _open(path, target_path, choice, undo)
        format, rows = recognise(texts[0])(texts[0], choice) if len(texts) == 1 else read_two(texts[0], texts[1])
        if len(texts) == 2 and target_path is None:
            format = _of_zip(format, texts)
        _check(choice, format, str(path))
        return Rows(rows, format, name, undo.pop_all().close)


def _open(path: Path | str, target_path: Path | str | None, choice: Choice, undo: ExitStack) -> list[Opened]:
    """The one text, or the two sides; they are closed by `undo`."""
    if target_path is None:
        opened = open_text(path, choice.languages or ())
        for text in opened:
            undo.callback(text.close)
        return opened
    return [_open_side(side, undo) for side in (path, target_path)]


def _of_zip(format: Format, sides: Sequence[Opened]) -> Format:
    """The sides in a zip file are told by their endings, unless these are the same."""
    source, target = (side.ending.removeprefix(".") for side in sides)
    told = (source, target) if source and target and source != target else None
    offered = sides[0].endings
    left_out = tuple(ending for ending in offered if ending not in (source, target))
    return replace(format, languages=told, left_out=left_out if told else (), offered=offered if told else ())


def _open_side(path: Path | str, undo: ExitStack) -> Opened:
    side = open_one(path)
    undo.callback(side.close)
    if kind := holds_both_sides(side):
        raise UserError(f"{path}: is {kind}, which holds both languages; give it alone, or two files of plain text")
    return side


def _check(choice: Choice, format: Format, name: str) -> None:
    """Refuse a choice that means nothing here."""
    if choice.header is not None and format.header is None:
        raise UserError(f"{name}: is {format.kind}, which has no header; leave that out")
    if choice.columns and not format.columns:
        told = f"{name}: is {format.kind}, which has no columns to choose; leave them out"
        raise Undecided(told, "languages", format.offered)
    if choice.languages and not format.languages:
        told = f"{name}: is {format.kind}, where languages are not told; choose columns, or leave them out"
        raise Undecided(told, "columns", format.offered)
