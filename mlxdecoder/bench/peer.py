"""Another process that does what it is asked to, a line for a line; and how one that translates answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from mlxdecoder.errors import UserError

Ids = list[list[int]]
Translate = Callable[[Ids, int], Ids]
"""From rows of source ids and the width of the beam to rows of target ids."""


@contextmanager
def peer(module: str, *arguments: str, **environment: str) -> Iterator[Callable[[str], str]]:
    """A function that gives a line to a module, which runs as a program, and waits for the line that it answers."""
    command, pipe = [sys.executable, "-m", module, *arguments], subprocess.PIPE
    with subprocess.Popen(
        command, env=os.environ | environment, stdin=pipe, stdout=pipe, text=True, bufsize=1, start_new_session=True
    ) as process:  # a session of its own, so that Ctrl-C is for us alone
        assert process.stdin and process.stdout
        tell, hear = process.stdin.write, process.stdout.readline

        def ask(line: str) -> str:
            with suppress(BrokenPipeError):
                tell(f"{line}\n")
            if not (answer := hear()):
                raise UserError(f"bench: the process of {module} has ended; see its message above.")
            return answer

        try:
            yield ask
        finally:
            with suppress(BrokenPipeError):  # what it did not take any more
                process.stdin.close()


def translating(ask: Callable[[str], str], sources: Ids, beam: int) -> tuple[float, Ids]:
    """Have a peer translate: how many seconds it took, and the target ids."""
    answer = json.loads(ask(json.dumps([sources, beam])))
    return answer["seconds"], answer["targets"]


def answer_all(translate: Translate) -> None:
    """Translate what `translating` asks for, until stdin ends."""
    for line in sys.stdin:
        sources, beam = json.loads(line)
        began = time.perf_counter()
        targets = translate(sources, beam)
        print(json.dumps({"seconds": time.perf_counter() - began, "targets": targets}), flush=True)


def cores() -> int:
    """How many this process may run on; each peer takes as many threads."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
