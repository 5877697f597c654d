"""A kernel can be stopped, and several threads of Python can launch kernels."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.kernels.emulator import EmulatorError
from tests.kernels.emulator.small import NUMBERS, POSITION, call, kernel, needs_compiler

pytestmark = needs_compiler

ENDLESS = {
    "registers": "uint x = i + 1;\nwhile (x != 0) x = x * 3;\no[i] = x;",
    "memory": "o[i] = 1;\nwhile (o[i] > 0) o[i] += 1;",
    "simd operations": "float x = 1;\nwhile (x > 0) x = simd_max(x);\no[i] = x;",
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("checks", [True, False])
def test_ctrl_c_ends_a_kernel(name: str, checks: bool) -> None:
    endless = kernel(POSITION + ENDLESS[name], checks=checks, timeout=60)
    with pytest.raises(EmulatorError):
        call(kernel(POSITION + ENDLESS[name], checks=checks, timeout=0.01))  # builds it
    right = kernel(POSITION + "o[i] = a[i];", checks=checks)
    call(right)
    threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        call(endless)
    assert np.array_equal(call(right), np.arange(64))


def test_kernels_can_be_launched_from_other_threads() -> None:
    made = [kernel(POSITION + f"o[i] = a[i] * {factor} + simd_sum(1.0f);") for factor in range(4)]
    wrong = kernel(POSITION + "o[i] = a[i + 1];")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda factor: np.array(call(made[factor], NUMBERS)), range(4)))
        failed = pool.submit(call, wrong, NUMBERS).exception()
    for factor, result in enumerate(results):
        assert np.array_equal(result, np.arange(64) * factor + 32)
    assert isinstance(failed, EmulatorError)


def test_a_time_limit_holds_in_another_thread() -> None:
    endless = kernel(POSITION + ENDLESS["memory"], timeout=0.2)
    with ThreadPoolExecutor(1) as pool:
        failed = pool.submit(call, endless, NUMBERS).exception()
    assert isinstance(failed, EmulatorError)
    assert failed.findings[0].kind == "timeout"


def test_signal_handlers_are_as_before_after_a_launch() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)}
    call(kernel(POSITION + "o[i] = a[i];"), mx.zeros(64))
    assert {number: signal.getsignal(number) for number in before} == before
