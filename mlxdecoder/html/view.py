"""The view of attention for browsers and notebooks: checks what it is given, and puts the page together."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template

from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text
from mlxdecoder.html.content import content
from mlxdecoder.maps import AttentionMap

SCRIPTS = ("numbers.js", "panel.js", "overview.js", "pointer.js", "view.js")
MOST_CELLS = 8_000_000  # two characters each


class AttentionView:
    """An interactive page: every kind, layer and head, values under the pointer, two models side by side.

    `variants` are maps of different kinds (a sequence of `AttentionMap`), or two such sequences by name, of the same
    tokens, to compare: `{"correct": [...], "mistaken": [...]}`. The kind that comes first is shown first. `title` and
    `note` stand above.
    Raises `UserError` when there is nothing to show, too much of it, or the variants do not belong together.
    """

    def __init__(
        self,
        variants: Mapping[str, Sequence[AttentionMap]] | Sequence[AttentionMap],
        title: str = "",
        note: str = "",
    ) -> None:
        named = variants if isinstance(variants, Mapping) else {"": variants}
        if not 1 <= len(named) <= 2:
            raise UserError(f"variants: {len(named)} found; one or two are wanted.")
        self.variants = {str(name): _checked(str(name), maps) for name, maps in named.items()}
        _check_alike(list(self.variants.values()))
        self.title, self.note = title, note

    def html(self) -> str:
        """The whole page; it loads nothing and needs no server."""
        style, script = _read("view.css"), "".join(_read(name) for name in SCRIPTS)
        data = json.dumps(content(self.variants), allow_nan=False, separators=(",", ":"))
        return Template(_read("view.html")).substitute(
            # Only these two texts may act: whatever else came to be on the page would stay inert.
            policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'",
            title=_escape(self.title or "Attention"),
            note=_escape(self.note),
            style=style,
            script=script,
            # In a script element nothing but "<" could end the data.
            data=data.replace("<", "\\u003c"),
        )

    def save(self, path: Path | str) -> None:
        """Write the page, whole or not at all; raises `UserError` for a name that does not end in .html."""
        path = Path(path)
        if path.suffix.lower() != ".html":
            raise UserError(f"Cannot save a view as {path.name!r}: the name must end in .html.")
        write_text(path, self.html())

    def _repr_html_(self) -> str:
        # In a notebook the map is wanted at once, so that the explanation is folded. The page is one of its own:
        # neither styles nor names can collide with the notebook's or another view's.
        page = self.html().replace('<details class="guide" open>', '<details class="guide">')
        return (
            f'<iframe srcdoc="{html.escape(page)}" title="{_escape(self.title or "Attention")}" '
            f'sandbox="allow-scripts" style="width: 100%; height: {self._height()}px; border: 0; resize: vertical">'
            "</iframe>"
        )

    def _height(self) -> int:
        """Pixels for the whole view at the width of a notebook, within limits; what is longer scrolls inside."""
        maps = next(iter(self.variants.values()))
        rows, columns = (max(each.weights.shape[axis] for each in maps) for axis in (2, 3))
        compared = len(self.variants) == 2
        cell = min(48.0, (200 if compared else 400) / columns, max(14.0, 640 / rows))
        overview = (max(len(each.layers) for each in maps) * 84 + 60) if compared else 0
        return int(min(max(600 + cell * rows + overview, 720), 1200))


def _checked(name: str, maps: Sequence[AttentionMap]) -> list[AttentionMap]:
    place = f"variants[{name!r}]" if name else "variants"
    if not isinstance(maps, Sequence) or not maps or not all(isinstance(each, AttentionMap) for each in maps):
        raise UserError(f"{place}: a list of AttentionMap is wanted, with at least one in it.")
    kinds = [each.kind for each in maps]
    if len(set(kinds)) < len(kinds):
        raise UserError(f"{place}: kinds {', '.join(kinds)} found; each may be there once.")
    if sum(each.weights.size for each in maps) > MOST_CELLS:
        raise UserError(f"{place}: more than {MOST_CELLS:,} weights; choose some with select(layers=..., heads=...).")
    return list(maps)


def _check_alike(variants: list[list[AttentionMap]]) -> None:
    first, *others = [[(m.kind, m.queries, m.keys, m.layers, m.heads) for m in maps] for maps in variants]
    if any(other != first for other in others):
        raise UserError(
            "variants: the maps to compare differ in kinds, tokens, layers or heads; trace both models with the same "
            "sentence, and give the kinds in the same order."
        )


@cache
def _read(name: str) -> str:
    return files("mlxdecoder.html").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _escape(text: str) -> str:
    # Half a surrogate pair cannot be written to a file.
    return html.escape(text.encode("utf-8", "backslashreplace").decode())
