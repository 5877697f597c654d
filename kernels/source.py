"""The text of a kernel: a .metal file holds the body, and names the files whose functions it uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
KERNELS = (
    "forward",
    "backward_query",
    "backward_key",
    "decode",
    "combine",
    "weights",
    "mass",
    "rotary",
)


@dataclass(frozen=True)
class Source:
    """What a .metal file says in words, what it uses, and what it does."""

    words: str
    header: str
    body: str


@cache
def read(name: str) -> Source:
    """Read kernels/`name`.metal.

    The words at its head stay out of the body: MLX looks there for names of arguments, in comments too.
    """
    return split((FOLDER / f"{name}.metal").read_text())


def split(text: str) -> Source:
    """Part the words at the head of a kernel's text, the files that it includes, and its body."""
    lines = text.splitlines()
    n_words = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    included = [line.split('"')[1] for line in lines if line.startswith('#include "')]
    body = [line for line in lines[n_words:] if not line.startswith('#include "')]
    words = "\n".join(line[3:] for line in lines[:n_words])
    header = "\n".join((FOLDER / name).read_text() for name in included)
    return Source(words, header, "\n".join(body).strip("\n") + "\n")
