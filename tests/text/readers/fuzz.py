"""Read, inspect and split many changed files in a process with little memory, each in little time, and count them.

python -m tests.text.readers.fuzz 100000 [SEED]
"""

from __future__ import annotations

import multiprocessing
import re
import resource
import sys
import time
import traceback
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from hypothesis import HealthCheck, Phase, given, seed, settings
from tqdm import tqdm

from tests.text.readers.mutated import Case, cases, read_files, write_case

MEMORY = 512 * 2**20  # bytes of address space, the interpreter's among them
SECONDS = 20.0  # of the processor, for a file of some megabytes
PATIENCE = 600.0  # seconds until a file is taken to hang, on however busy a machine


class Reader:
    """The process that reads: it fails where a file wants more memory than it may have, and is not waited for long."""

    def __init__(self) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._here, there = spawning.Pipe()
        self._process = spawning.Process(target=_serve, args=(there,), daemon=True)
        self._process.start()

    def read(self, paths: list[Path], case: Case) -> tuple[str, float, int]:
        """What came out, the processor seconds it took, and the most memory so far, in MB."""
        self._here.send((paths, case.choice, case.limit))
        if not self._here.poll(PATIENCE):
            self._process.kill()
            raise AssertionError(f"nothing after {PATIENCE} seconds")
        failed, answer, seconds, megabytes = self._here.recv()
        assert not failed, answer
        assert seconds < SECONDS, f"{seconds} seconds of the processor"
        return answer, seconds, megabytes


def _serve(there: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        question = there.recv()
        began = time.process_time()
        try:
            failed, answer = False, read_files(*question)
        except BaseException:
            failed, answer = True, traceback.format_exc()
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**10
        there.send((failed, answer, time.process_time() - began, megabytes))


def main(count: int, number: int) -> None:
    """Read `count` files that are drawn by a seed, and print what came out."""
    reader, fates, seconds = Reader(), Counter[str](), [0.0]
    most = 0

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def read_all(case: Case) -> None:
        nonlocal most
        answer, took, most = reader.read(write_case(case, folder), case)
        fates[_kind(answer)] += 1
        seconds.append(took)
        bar.update()

    folder = Path(mkdtemp())
    print(f"What fails is kept in {folder}")
    with tqdm(total=count, unit=" files") as bar:
        read_all()
    rmtree(folder)
    print(f"{fates.total():,} files; {fates.pop('', 0):,} corpora, the others errors of {len(fates)} kinds")
    print(f"most memory {most} MB; processor seconds: all {sum(seconds):.0f}, slowest {max(seconds):.2f}")
    for message, times in fates.most_common():
        print(f"{times:7,}  {message!r}")


def _kind(message: str) -> str:
    """The message without its place, and without what is in quotes and brackets."""
    return re.sub(r"\".*\"|\(.*?\)|[\d,]+|0x\w\w", "…", message.partition(": ")[2])[:60]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
