"""Plans stay within Apple's limits, and say what launches really do."""

from __future__ import annotations

from collections.abc import Iterator

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder import kernels
from mlxdecoder.kernels import launch, plan
from mlxdecoder.kernels.emulator import EmulatedKernel, Work
from mlxdecoder.kernels.plan import Plan
from mlxdecoder.kernels.shapes import MOST_DECODED, WIDTHS, Shape
from tests.kernels.cases import Case

heads = st.integers(1, 6).flatmap(lambda Hkv: st.integers(1, 4).map(lambda group: (Hkv * group, Hkv)))
any_shapes = st.builds(
    lambda B, heads, T, S, dk, dv, dtype: Shape(B, *heads, T, S, dk, dv, dtype),
    st.integers(1, 4),
    heads,
    st.integers(1, 3000),
    st.integers(1, 20_000),
    st.sampled_from(WIDTHS),
    st.sampled_from(WIDTHS),
    st.sampled_from(kernels.TYPES),
)


def plans(shape: Shape) -> Iterator[Plan]:
    yield plan.forward(shape)
    yield plan.backward_query(shape)
    yield plan.backward_key(shape)
    yield plan.weights(shape, shape.H, shape.T)
    yield plan.mass(shape, 1, shape.T)
    if shape.T <= MOST_DECODED:
        yield plan.decode(shape)
        yield plan.combine(shape, max(plan.decode(shape).groups.count[0], 1))


@given(any_shapes)
def test_no_plan_exceeds_what_a_threadgroup_may_have(shape: Shape) -> None:
    for one in plans(shape):
        assert 32 <= one.groups.threads <= 1024 and one.groups.threads % 32 == 0, one
        assert one.threadgroup_bytes <= 32_768, one
        assert min(one.groups.count) >= 1


@given(any_shapes)
def test_every_row_and_key_has_a_thread(shape: Shape) -> None:
    forward, of_query, of_key = plan.forward(shape), plan.backward_query(shape), plan.backward_key(shape)
    for one, rows, heads in ((forward, shape.T, shape.H), (of_query, shape.T, shape.H), (of_key, shape.S, shape.Hkv)):
        blocks, n_heads, batch = one.groups.count
        assert (n_heads, batch) == (heads, shape.B)
        assert (blocks - 1) * one.groups.threads // 4 < rows <= blocks * one.groups.threads // 4


@given(any_shapes)
def test_splits_are_few_enough_to_be_put_together_and_none_is_empty(shape: Shape) -> None:
    splits = plan.decode(shape).groups.count[0]
    assert 1 <= splits <= 32
    assert (splits - 1) * -(-shape.S // splits) < shape.S


CASES = (
    Case("everything"),
    Case("everything", T=40, S=64, dk=64, dv=40, dtype=mx.float16),
    Case("everything", B=1, H=2, Hkv=1, T=2, S=1040, dv=16),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bytes_are_those_that_a_launch_allocates_reads_and_writes(checked: None, case: Case) -> None:
    """Where nothing is skipped; what is read of the mask stands beside the plan."""
    shape = Shape.of(*case.operands)
    wanted = {one.kernel: one for one in plans(shape)}
    wanted["mass"] = plan.mass(shape, shape.H, shape.T)
    for name, work in works_of(case).items():
        rounded_up = work.threadgroup_bytes - wanted[name].threadgroup_bytes
        assert 0 <= rounded_up < 16 * 3, name  # each array to 16 bytes
        read = sum(work.device[operand].read for operand in OPERANDS if operand in work.device)
        assert read == wanted[name].device_bytes_read - of_rows(wanted[name], shape), name
        assert work.device_bytes_written == wanted[name].device_bytes_written, name


OPERANDS = ("query", "key", "value", "cotangent", "split_output", "split_lse")


def of_rows(one: Plan, shape: Shape) -> int:
    """The bytes of a log-sum-exp and a delta a row, which the emulator counts again for each lane that reads them."""
    blocks = {"backward_query": 1, "backward_key": one.groups.count[0]}.get(one.kernel, 0)
    return 8 * shape.B * shape.H * shape.T * blocks


def works_of(case: Case) -> dict[str, Work]:
    """The counts of each kernel that an attention, its gradient and its watchers launch."""
    works: dict[str, Work] = {}

    def observe(name: str, kernel: EmulatedKernel) -> None:
        assert kernel.work is not None
        works[name] = kernel.work

    launch.observers.append(observe)
    try:
        query, key, value = case.operands
        _, lse = kernels.attention_with_lse(query, key, value)
        mx.eval(mx.grad(lambda *x: kernels.attention_with_lse(*x)[0].sum(), argnums=(0, 1, 2))(query, key, value))
        kernels.attention_weights(query, key, lse)
        kernels.attention_mass(query, key, lse, None)
    finally:
        launch.observers.remove(observe)
    return works
