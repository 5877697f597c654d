"""Defects in our own sources: what is put in the place of what, in memory alone.

They stand in the text files of this folder, one for each .metal file, with a blank line between them:

    kind: what is wrong (launches that are to notice, in this order)
    - lines or a part of a line, which occur once in the file
    + what is put in their place
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from mlxdecoder.kernels import launch, source

FOLDER = source.FOLDER
TITLE = re.compile(r"(?P<kind>[^:]+): (?P<name>.+) \((?P<probes>[^()]+)\)")


@dataclass(frozen=True)
class Mutation:
    """`find` in kernels/`file`.metal becomes `replace`; one of `probes` is to notice."""

    file: str
    kind: str
    name: str
    find: str
    replace: str
    probes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}.metal, {self.kind}: {self.name}"

    @property
    def text(self) -> str:
        """The mutated file."""
        return (FOLDER / f"{self.file}.metal").read_text().replace(self.find, self.replace)


def table(path: Path) -> list[Mutation]:
    """The mutations of one file, as the head of this module says how they are written."""
    return [_entry(path.stem, *text.splitlines()) for text in path.read_text().strip("\n").split("\n\n")]


def _entry(file: str, title: str, *lines: str) -> Mutation:
    named = TITLE.fullmatch(title)
    assert named and all(line[:1] in ("-", "+") for line in lines), f"{file}: {title}"
    find, replace = ("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+")
    return Mutation(file, named["kind"], named["name"], find, replace, tuple(named["probes"].split(", ")))


MUTATIONS = [mutation for path in sorted(Path(__file__).parent.glob("*.txt")) for mutation in table(path)]


@dataclass(frozen=True)
class _Text:
    content: str

    def read_text(self) -> str:
        return self.content


@dataclass(frozen=True)
class _Folder:
    """The folder of the kernels as it would be with the defect in it."""

    mutation: Mutation

    def __truediv__(self, name: str) -> _Text:
        mutated = name == f"{self.mutation.file}.metal"
        return _Text(self.mutation.text if mutated else (FOLDER / name).read_text())


@contextmanager
def put_in(mutation: Mutation) -> Iterator[None]:
    """Within this, kernels are made of the mutated text; no file is written."""
    with mock.patch.object(source, "FOLDER", _Folder(mutation)):
        _forget()
        yield
    _forget()


def _forget() -> None:
    source.read.cache_clear()
    launch._kernel.cache_clear()
