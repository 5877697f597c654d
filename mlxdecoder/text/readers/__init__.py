"""Readers of corpora, and the one door to them: `open_rows` gives rows of raw text from any format that is known."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers.json_lines import read_json_lines
from mlxdecoder.text.readers.opening import Opened, open_one, open_text, read_lines
from mlxdecoder.text.readers.po import read_po
from mlxdecoder.text.readers.recognise import Reader, recognise
from mlxdecoder.text.readers.rows import Choice, Format, Row, Rows
from mlxdecoder.text.readers.tmx import read_tmx
from mlxdecoder.text.readers.two_files import read_two

__all__ = ["Choice", "Format", "Row", "Rows", "open_rows", "read_lines"]

_OF_ONE_FILE: dict[Reader, str] = {read_tmx: "TMX", read_po: "gettext PO", read_json_lines: "JSON lines"}


def open_rows(path: Path | str, target_path: Path | str | None = None, choice: Choice = Choice()) -> Rows:
    """Open a corpus: one file of any format, or two plain ones of equal length; recognised by content.

    Raises UserError, naming the file and mostly the line, for what cannot be read, now or while iterating.
    """
    name = Path(path).name if target_path is None else f"{Path(path).name} and {Path(target_path).name}"
    with ExitStack() as undo:
        texts = _open(path, target_path, choice, undo)
        format, rows = recognise(texts[0])(texts[0], choice) if len(texts) == 1 else read_two(texts[0], texts[1])
        if len(texts) == 2 and target_path is None:  # the sides in a zip file
            format = replace(format, languages=choice.languages)
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


def _open_side(path: Path | str, undo: ExitStack) -> Opened:
    side = open_one(path)
    undo.callback(side.close)
    if kind := _OF_ONE_FILE.get(recognise(side)):
        raise UserError(f"{path}: is {kind}, which holds both languages; give it alone, or two files of plain text")
    return side


def _check(choice: Choice, format: Format, name: str) -> None:
    """Refuse a choice that means nothing here."""
    if choice.columns and not format.columns:
        raise UserError(f"{name}: is {format.kind}, which has no columns to choose; leave them out")
    if choice.languages and not format.languages:
        raise UserError(f"{name}: is {format.kind}, where languages are not told; choose columns, or leave them out")
