"""Every kernel passes the static check, for every element type, with large inputs and with inputs of a few elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import pytest

from mlxdecoder import kernels
from mlxdecoder.kernels import launch, mode, source
from mlxdecoder.kernels.emulator import available, static_check
from mlxdecoder.kernels.verify import draw
from mlxdecoder.masks import Causal, Documents, Mask

pytestmark = [
    pytest.mark.skipif(bool(available()), reason=str(available())),
    pytest.mark.skipif(bool(static_check.available()), reason=str(static_check.available())),
]
Found = list[tuple[str, tuple[Any, ...]]]


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Found]:
    """What the static check says of each launch that is made, with the name of its kernel."""
    found: Found = []
    make = launch._kernel

    def checking(name: str, inputs: tuple[str, ...], outputs: tuple[str, ...], place: mode.Place) -> Any:
        kernel, text = make(name, inputs, outputs, place), source.read(name)
        given = {"name": name, "input_names": list(inputs), "output_names": list(outputs)}
        given |= {"source": text.body, "header": text.header, "ensure_row_contiguous": False}

        def call(**options: Any) -> Any:
            found.append((name, static_check.check_call(given, **options)))
            return kernel(**options)

        return call

    monkeypatch.setattr(launch, "_kernel", checking)
    yield found
    assert not [said for _, said in found if said]


def launch_all(dtype: mx.Dtype, mask: Mask, B: int, T: int, S: int) -> None:
    query, key, value = (x[:B] for x in draw(dtype, T, S, 32, 24))
    with kernels.using("emulate"):
        _, lse = kernels.attention_with_lse(query, key, value, mask)
        kernels.attention_weights(query, key, lse, mask=mask)
        kernels.attention_mass(query, key, lse, mask, mask=mask)
        mx.eval(mx.grad(lambda x: kernels.attention_with_lse(x, key, value, mask)[0].astype(mx.float32).sum())(query))
        kernels.rotate_both(query, key[:, :, :T], mx.ones((T, 16)), mx.ones((T, 16)))


@pytest.mark.parametrize("dtype", kernels.TYPES, ids=str)
def test_every_kernel_keeps_its_address_spaces(checked: Found, dtype: mx.Dtype) -> None:
    launch_all(dtype, Causal() & Documents((tuple(range(20)),) * 2), 2, 20, 20)
    launch_all(dtype, Causal(), 1, 1, 1_100)
    assert {name for name, _ in checked} == set(source.KERNELS)


@pytest.mark.usefixtures("checked")
def test_inputs_of_a_few_elements_come_as_constants_and_are_taken() -> None:
    launch_all(mx.float16, Causal(), 1, 1, 1)
