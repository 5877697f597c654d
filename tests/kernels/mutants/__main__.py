"""Put every mutation into the kernels and tell how it was caught: python -m tests.kernels.mutants [words of a name]."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor

from mlxdecoder.kernels import emulator
from tests.kernels.mutants.mutation import MUTATIONS, Mutation
from tests.kernels.mutants.trial import caught, complaint


def main(words: Sequence[str]) -> int:
    obstacle = emulator.available()
    if obstacle:
        print(f"mutants: {obstacle}")
        return 1
    chosen = [one for one in MUTATIONS if all(word in str(one) for word in words)]
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        return _false_alarms(pool, chosen) or _survivors(pool, chosen)


def _false_alarms(pool: Executor, chosen: Sequence[Mutation]) -> int:
    """Whether launches complain of our sources as they are; a mutant would be caught by anything then."""
    probes = sorted({probe for mutation in chosen for probe in mutation.probes})
    alarms = [f"{probe}: {said}" for probe, said in zip(probes, pool.map(complaint, probes), strict=True) if said]
    print("\n".join([f"{len(probes)} launches without a mutant, {len(alarms)} complaints", *alarms]), flush=True)
    return 1 if alarms else 0


def _survivors(pool: Executor, chosen: Sequence[Mutation]) -> int:
    """Whether a mutant is not caught, after a line for each that says how it was."""
    survivors = 0
    for number, (mutation, said) in enumerate(zip(chosen, pool.map(caught, chosen), strict=True), start=1):
        survivors += said is None
        print(f"{number:3} {mutation} -> {said or 'SURVIVED'}", flush=True)
    print(f"{len(chosen)} mutants, {len(chosen) - survivors} caught, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
