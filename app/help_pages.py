"""The pages of the help: files beside this one, and the keys, which the menus know best. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

SHORTCUTS, LIMITS = "Keyboard", "What attention weights do not show"
IN_VIEWS = """
## In the maps

| Keys | What they do |
| --- | --- |
| Tab, Shift+Tab | go from one part of the window to the next, and back |
| arrow keys | choose a head among all heads; in the large head, walk from cell to cell |
| Home, End, Page Up, Page Down | go far in that direction |
| Ctrl+Home, Ctrl+End | the first and the last cell of the large head |
| +, −, 0 | larger cells, smaller cells, the whole map |

## Elsewhere

| Keys | What they do |
| --- | --- |
| ← and →, Space | in the generation: one step back or on; play or pause |
| Return | in the sentence: translate it; on a candidate: force it |
| Space | in the catalogue: switch the mistake on or off |
| ← and →, Home, End, Esc | in curves: read the values of a step; let go of it |
"""


@dataclass(frozen=True)
class Page:
    """A page: its title, and its text in Markdown with the title on top."""

    title: str
    text: str


def pages(keys: Iterable[tuple[str, str]] = ()) -> list[Page]:
    """All pages in their order; `keys` are the commands of the menus, each with its keys."""
    folder = files("mlxdecoder.app") / "help"
    written = [entry.read_text(encoding="utf-8") for entry in sorted(folder.iterdir(), key=lambda one: one.name)]
    *first, last = [Page(text.partition("\n")[0].removeprefix("# "), text) for text in written]
    return [*first, Page(SHORTCUTS, _shortcuts(keys)), last]


def _shortcuts(keys: Iterable[tuple[str, str]]) -> str:
    rows = "\n".join(f"| {shortcut} | {command} |" for command, shortcut in keys)
    return f"# {SHORTCUTS}\n\n## In the menus\n\n| Keys | What they do |\n| --- | --- |\n{rows}\n{IN_VIEWS}"
