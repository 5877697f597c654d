"""What is averaged: the last snapshots, and the weights of the moment, which are always one of them."""

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.training.averaging import Snapshots


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 30))
def test_the_mean_is_that_of_the_last_snapshots_and_the_present_weights(every, count, last):
    """After step t the weights are t * t, so that no two means are the same by chance."""
    snapshots = Snapshots(every, count)
    for step in range(1, last + 1):
        snapshots.add(step, mx.array(float(step * step)))
    taken = sorted({*range(every, last + 1, every), last})[-count:]
    found = snapshots.mean(last, mx.array(float(last * last))).item()
    assert found == pytest.approx(sum(step * step for step in taken) / len(taken))
