"""Where the kernels of a test run: in the emulator, and on Metal too where there is Metal."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import pytest

from mlxdecoder import kernels
from mlxdecoder.kernels import emulator

PLACES = ["emulate", *(["on"] if mx.metal.is_available() else [])]


def skip_without_compiler() -> None:
    obstacle = emulator.available()
    if obstacle:
        pytest.skip(obstacle)


@pytest.fixture(params=PLACES)
def where(request: pytest.FixtureRequest) -> Iterator[str]:
    """Kernels run there, unchecked, which is quick."""
    if request.param == "emulate":
        skip_without_compiler()
    with kernels.using(request.param):
        yield request.param


@pytest.fixture
def checked() -> Iterator[None]:
    """Kernels run in the emulator, which looks for races, bounds, and what was not initialised or not written."""
    skip_without_compiler()
    with kernels.using("emulate", checks=True):
        yield
