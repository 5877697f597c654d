"""No race, no access out of bounds, nothing read before it is written: the kernels under all checks of the emulator."""

from __future__ import annotations

import pytest

from tests.kernels.measures import wrong
from tests.kernels.probes import PROBES


@pytest.mark.parametrize("probe", PROBES)
def test_nothing_is_found_and_the_numbers_are_right(checked: None, probe: str) -> None:
    assert wrong(PROBES[probe]()) == []
