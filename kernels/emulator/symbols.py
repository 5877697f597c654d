"""From an address in a kernel's library to the line of the kernel's source."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

Place = tuple[str, int]
"""A file as its `#line` directive names it, and a line from 1."""
STEPS_BACK = (1, 8, 16, 32, 64)
"""Where to look, in bytes before a return address: the call itself, and what came before it. An access that the
compiler has merged out of two lines has no line of its own."""


def places(library: Path, offsets: Sequence[int], files: Collection[str]) -> list[Place | None]:
    """Where each offset lies in one of the files: the innermost of the inlined functions that is written there."""
    if not offsets or not _tool():
        return [None] * len(offsets)
    addresses = [max(offset - step, 0) for offset in offsets for step in STEPS_BACK]
    found = [_innermost(frames, files) for frames in _ask(library, [hex(address) for address in addresses])]
    tries = [found[start : start + len(STEPS_BACK)] for start in range(0, len(found), len(STEPS_BACK))]
    return [next((place for place in places if place), None) for places in tries]


@functools.cache
def _tool() -> str | None:
    names = ["atos"] if sys.platform == "darwin" else ["addr2line", "llvm-addr2line", "llvm-addr2line-19"]
    return next((name for name in names if shutil.which(name)), None)


def _innermost(frames: Sequence[str], files: Collection[str]) -> Place | None:
    parsed = (_parsed(frame) for frame in frames)
    return next((place for place in parsed if place and place[0] in files), None)


def _ask(library: Path, addresses: Sequence[str]) -> list[list[str]]:
    """For each address the functions that are inlined there, the innermost first."""
    if sys.platform == "darwin":
        return [_run(["atos", "-i", "-fullPath", "-o", str(library), "-offset", address]) for address in addresses]
    answers = list[list[str]]()
    for line in _run([str(_tool()), "-a", "-i", "-e", str(library), *addresses]):
        if line.startswith("0x"):
            answers.append([])
        else:
            answers[-1].append(line)
    return answers


def _run(arguments: Sequence[str]) -> list[str]:
    return subprocess.run(arguments, capture_output=True, text=True, check=False).stdout.splitlines()


def _parsed(line: str) -> Place | None:
    """`/source:12 (discriminator 3)`, or atos' `function (in library) (/source:12)`."""
    words = line.rpartition(" (")[2].rstrip(")") if sys.platform == "darwin" else line.split(" (discriminator")[0]
    file, _, number = words.rpartition(":")
    # Compilers put a slash of their own before a name without folder.
    return ("/" + file.lstrip("/"), int(number)) if number.isdigit() and int(number) else None
