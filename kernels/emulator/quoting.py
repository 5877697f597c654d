"""Turns what the compiler and the runtime say into findings that quote the kernel's source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from .findings import Finding
from .launch import RawFinding
from .symbols import Place, places

MARK = "/"
"""Stands before the names of texts that are no files, so that a compiler does not put them into a folder."""
COMPILER_SAYS = re.compile(r"^(.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.MULTILINE)
MOST_ERRORS = 5


class Sources:
    """The texts that a kernel was made of.

    Args:
        texts: each under the name that `#line` directives give it.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = {name: text.split("\n") for name, text in texts.items()}

    def errors(self, said: str) -> str:
        """The compiler's first errors, each with the line of the source."""
        found = COMPILER_SAYS.findall(said)[:MOST_ERRORS]
        errors = [str(self._finding("error", (file, int(line)), message)) for file, line, message in found]
        return "\n".join(errors) or said[:2000]

    def findings(self, raw: Sequence[RawFinding], library: Path) -> list[Finding]:
        """The findings of a launch with their lines.

        Args:
            raw: what the runtime found.
            library: the kernel's library, in which their addresses lie.
        """
        offsets = sorted({code for one in raw for code in (one.code, one.other) if code})
        where = dict(zip(offsets, places(library, offsets, self._lines), strict=True))
        found = []
        for one in raw:
            other = where.get(one.other)
            elsewhere = f"; the other access is in {_shown(other[0])} line {other[1]}" if other else ""
            found.append(self._finding(one.kind, self._place(one, where.get(one.code)), one.message + elsewhere))
        return once(found)

    def _place(self, one: RawFinding, looked_up: Place | None) -> Place | None:
        told = (one.file, one.line) if one.file in self._lines else None
        # What the compiler told is exact, but for a thread that was stopped: there it is only the last known place.
        return looked_up or told if one.kind == "timeout" else told or looked_up

    def _finding(self, kind: str, place: Place | None, message: str) -> Finding:
        if place is None:
            return Finding(kind, 0, "", message)
        file, line = place
        lines = self._lines.get(file, [])
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return Finding(kind, line, text, message, _shown(file))


def once(findings: Sequence[Finding]) -> list[Finding]:
    """The first finding of each kind and line."""
    first = dict[tuple[str, str, int], Finding]()
    for finding in findings:
        first.setdefault((finding.kind, finding.file, finding.line), finding)
    return list(first.values())


def _shown(file: str) -> str:
    """The name of a text without its mark; the path of a file as it is."""
    return file.removeprefix(MARK) if file.count("/") == 1 else file
