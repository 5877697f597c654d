"""What is on screen as a file: a figure, a page to point at, or numbers; whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.recording import Picture, Recording
from mlxdecoder.app.worker.breaking import comparison
from mlxdecoder.app.worker.engine import Engine, mistaken
from mlxdecoder.app.worker.generation import messages, wish_of
from mlxdecoder.app.worker.link import Link
from mlxdecoder.app.worker.watching import kinds_of
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text
from mlxdecoder.heads import Grouping
from mlxdecoder.html import AttentionView
from mlxdecoder.maps import AttentionMap, save_numbers
from mlxdecoder.mistakes import find
from mlxdecoder.words import WordMap


@dataclass(frozen=True, eq=False)
class Exported:
    """The maps of one generation, the kind that was chosen first, and what is written above them."""

    maps: list[AttentionMap]
    title: str
    note: str


def export(engine: Engine, message: Message, link: Link) -> None:
    """The job: generates what is on screen again, writes the weights in the format that is asked for, tells `exported`.

    A page holds all kinds, the others the one that is chosen.
    """
    path = Path(message["path"])
    write = _writer(message["format"], path)
    at_once = message.fields.get("at_once") and message["mistakes"]
    content = _compared(engine, message) if at_once else _generated(engine, message, link)
    if message.fields.get("words"):
        content = replace(content, maps=[WordMap(one) for one in content.maps])
    if not link.stopped():
        write(content, path)
        link.tell("exported", path=str(path))


def _writer(form: str, path: Path) -> Callable[[Exported, Path], None]:
    writers = {"png": _figure, "svg": _figure, "pdf": _figure, "html": _page, "json": _numbers, "npz": _numbers}
    writers["csv"] = _table
    if form not in writers:
        raise UserError(f"format = {form!r}: one of {', '.join(writers)} is wanted.")
    if path.suffix.lower() != f".{form}":
        raise UserError(f"Cannot save as {path.name!r}: the name must end in .{form}.")
    return writers[form]


def _generated(engine: Engine, message: Message, link: Link) -> Exported:
    checkpoint, recording = engine.checkpoint, Recording()
    with mistaken(checkpoint.model, message["mistakes"]):
        for told in messages(checkpoint, wish_of(message), link.stopped):
            recording.take(told)
    kinds = sorted(kinds_of(checkpoint.model), key=lambda kind: kind != message["kind"])
    pictures = [recording.picture(kind, "weights") for kind in kinds]
    config = checkpoint.model.config
    grouping = Grouping(config.n_heads, config.kv_heads)
    maps = [_map(picture, grouping) for picture in pictures if picture is not None]
    if not (maps and maps[0].kind == message["kind"]) and not link.stopped():
        raise UserError(f"kind = {message['kind']!r}: this model has {', '.join(kinds)}.")
    mistakes = " + ".join(find(name).title for name in message["mistakes"])
    title = f"{message['sentence']} → {recording.translation}" if recording.translation else message["sentence"]
    return Exported(maps, title, f"With mistakes: {mistakes}" if mistakes else "")


def _compared(engine: Engine, message: Message) -> Exported:
    """The mistaken maps as a comparison has them, over the tokens of the right translation."""
    found = comparison(engine.checkpoint, message["mistakes"], message["sentence"])
    maps = sorted(found.told.mistaken.values(), key=lambda one: one.kind != message["kind"])
    translation = engine.checkpoint.tokenizer.decode(found.correct)
    titles = " + ".join(find(name).title for name in message["mistakes"])
    return Exported(maps, f"{message['sentence']} → {translation}", f"With mistakes: {titles}; {found.how}")


def _map(picture: Picture, grouping: Grouping) -> AttentionMap:
    queries, keys = list(picture.queries), list(picture.keys)
    return AttentionMap(picture.kind, picture.values, picture.intended, queries, keys, grouping=grouping)


def _figure(content: Exported, path: Path) -> None:
    from mlxdecoder.figures import attention_figure, save_figure  # which says what to install, if it is missing

    title = f"{content.title} · {content.note}" if content.note else content.title
    save_figure(attention_figure(content.maps[0], title=title), path)


def _page(content: Exported, path: Path) -> None:
    AttentionView(content.maps, content.title, content.note).save(path)


def _numbers(content: Exported, path: Path) -> None:
    save_numbers(content.maps[:1], path)


def _table(content: Exported, path: Path) -> None:
    """One line for each weight, with the tokens beside it."""
    attention, lines = content.maps[0], io.StringIO()
    rows = csv.writer(lines, lineterminator="\n")
    rows.writerow(["kind", "layer", "head", "query_place", "query", "key_place", "key", "weight", "intended"])
    allowed = np.ones(attention.weights.shape[2:], bool) if attention.intended is None else attention.intended
    for (layer, head, query, key), weight in np.ndenumerate(attention.weights):
        tokens = [query, attention.queries[query], key, attention.keys[key]]
        rows.writerow([attention.kind, layer, head, *tokens, weight, int(allowed[query, key])])
    write_text(path, lines.getvalue())
