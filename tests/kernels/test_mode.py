"""Where kernels run, as MLXDECODER_KERNELS or a `with` block says."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder import attention, kernels
from mlxdecoder.errors import UserError
from mlxdecoder.kernels import launch, mode
from tests.kernels.conftest import skip_without_compiler

HERE = "metal" if mx.metal.is_available() else "off"


@pytest.mark.parametrize(("word", "place"), [("", HERE), ("off", "off"), ("emulate", "emulator")])
def test_the_variable_says_where(monkeypatch: pytest.MonkeyPatch, word: str, place: str) -> None:
    monkeypatch.setenv("MLXDECODER_KERNELS", word)
    assert kernels.where() == place


def test_without_the_variable_kernels_run_where_there_is_metal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLXDECODER_KERNELS", raising=False)
    assert kernels.where() == HERE


@pytest.mark.parametrize("word", ["yes", "ON", "emulator", "0"])
def test_another_word_is_refused(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("MLXDECODER_KERNELS", word)
    with pytest.raises(UserError, match=f"MLXDECODER_KERNELS = '{word}': wanted off, on or emulate"):
        kernels.where()


def test_on_wants_metal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLXDECODER_KERNELS", "on")
    monkeypatch.setattr(mode, "METAL_IS_HERE", False)
    with pytest.raises(UserError, match='there is no Metal here; "emulate" runs the kernels on the processor'):
        kernels.where()


@pytest.mark.skipif(HERE == "off", reason="no Metal here")
def test_who_computes_on_the_processor_of_a_mac_gets_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLXDECODER_KERNELS", "on")
    device = mx.default_device()
    try:
        for chosen, place in ((mx.gpu, "metal"), (mx.cpu, "off")):
            mx.set_default_device(chosen)
            assert kernels.where() == place
    finally:
        mx.set_default_device(device)


def test_a_with_block_goes_before_the_variable_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLXDECODER_KERNELS", "off")
    with kernels.using("emulate", checks=True):
        assert mode.place() == mode.Place("emulator", checks=True)
        with kernels.using("off"):
            assert mode.place() == mode.Place("off", checks=False)
        assert mode.place() == mode.Place("emulator", checks=True)
    assert mode.place() == mode.Place("off", checks=False)


def test_the_library_asks_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without_compiler()
    query = mx.array(np.random.default_rng(0).standard_normal((1, 2, 9, 8)).astype(np.float32))
    launched: list[str] = []
    monkeypatch.setattr(launch, "observers", [lambda name, kernel: launched.append(name)])
    found = {}
    for word in ("off", "emulate"):
        monkeypatch.setenv("MLXDECODER_KERNELS", word)
        found[word] = np.array(attention(query, query, query))
        assert launched == ([] if word == "off" else ["forward"])
    np.testing.assert_allclose(found["emulate"], found["off"], atol=1e-6)
