"""Puts included files into a text, so that they are translated too, with `#line` directives to find the way back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"].*$|^[ \t]*#[ \t]*pragma[ \t]+once.*$')


def with_includes(text: str, name: str, folders: Sequence[Path], texts: dict[str, str]) -> str:
    """The text with the files that it includes, each once; what is not found is left to the compiler.

    Args:
        text: the text.
        name: its name in `#line` directives; where it is the path of a file, its folder is looked into first.
        folders: the include folders, in order.
        texts: is given the text of every included file under its path; what is there already is not put in again.
    """
    lines = [f'#line 1 "{name}"']
    for number, line in enumerate(text.split("\n"), start=1):
        include = INCLUDE.match(line)
        if not include:
            lines.append(line)
            continue
        path = _find(include[1], [Path(name).parent, *folders]) if include[1] else None
        if path is None:
            lines.append(line if include[1] else "")
        elif str(path) in texts:
            lines.append("")
        else:
            texts[str(path)] = path.read_text()
            lines += [with_includes(texts[str(path)], str(path), folders, texts), f'#line {number + 1} "{name}"']
    return "\n".join(lines)


def _find(name: str, folders: Sequence[Path]) -> Path | None:
    found = (folder / name for folder in folders if (folder / name).is_file())
    return next((path.resolve() for path in found), None)
