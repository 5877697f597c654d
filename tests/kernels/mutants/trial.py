"""What notices a defect: a launch that the emulator checks, and whose numbers are held against the truth."""

from __future__ import annotations

from mlxdecoder import kernels
from mlxdecoder.kernels.emulator import EmulatorError
from tests.kernels.measures import wrong
from tests.kernels.mutants.mutation import Mutation, put_in
from tests.kernels.probes import PROBES


def complaint(probe: str) -> str | None:
    """What the checks, or else the numbers, say about a launch; None where they find nothing."""
    try:
        with kernels.using("emulate", checks=True):
            gaps = PROBES[probe]()
    except EmulatorError as error:
        return str(error.findings[0])
    found = wrong(gaps)
    return f"wrong numbers: {found[0]}" if found else None


def caught(mutation: Mutation) -> str | None:
    """How the first probe that notices tells it; None where none does."""
    with put_in(mutation):
        return next((said for said in map(complaint, mutation.probes) if said), None)
