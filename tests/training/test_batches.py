"""Batches: every example once an epoch, no batch wider than allowed, labels one step ahead of the inputs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.recipe import RIGHT
from mlxdecoder.training.batches import Example, make_batch, plan_epoch

ids = st.lists(st.integers(4, 30), min_size=1, max_size=20).map(tuple)
examples = st.lists(st.builds(Example, ids, ids), min_size=1, max_size=40)
CONFIG = ModelConfig(target_vocab=40)


@given(examples, st.integers(24, 200), st.integers(0, 9), st.integers(0, 9))
@settings(deadline=None)
def test_an_epoch_holds_every_example_once_in_batches_that_fit(pairs, tokens, seed, epoch):
    plan = plan_epoch(pairs, tokens, seed, epoch)
    assert sorted(i for batch in plan for i in batch) == list(range(len(pairs)))
    for batch in plan:
        made = make_batch([pairs[i] for i in batch], CONFIG, RIGHT)
        assert max(made.source.size, made.labels.size) <= tokens


def test_the_order_depends_on_seed_and_epoch_alone():
    pairs = [Example((4,) * (i % 7 + 1), (5,) * (i % 5 + 1)) for i in range(60)]
    assert plan_epoch(pairs, 64, 1, 2) == plan_epoch(pairs, 64, 1, 2)
    assert plan_epoch(pairs, 64, 1, 2) != plan_epoch(pairs, 64, 1, 3)
    assert plan_epoch(pairs, 64, 1, 2) != plan_epoch(pairs, 64, 2, 2)


def test_a_sentence_that_no_batch_can_hold_is_named():
    with pytest.raises(UserError, match=r"tokens_per_batch = 8.*of 12"):
        plan_epoch([Example((4,) * 10, (5,))], 8, 0, 0)


@given(examples)
@settings(deadline=None)
def test_each_position_is_to_say_the_next_token_and_the_end_counts_but_padding_does_not(pairs):
    batch = make_batch(pairs, CONFIG, RIGHT)
    for row, pair in enumerate(pairs):
        length = len(pair.target) + 1
        assert batch.inputs[row, :length].tolist() == [CONFIG.begin_id, *pair.target]
        assert batch.labels[row, :length].tolist() == [*pair.target, CONFIG.end_id]
        assert batch.weights[row].tolist() == [1.0] * length + [0.0] * (batch.labels.shape[1] - length)
        assert batch.source[row, : len(pair.source)].tolist() == list(pair.source)
        assert not batch.source[row, len(pair.source) :].any()


@given(examples)
@settings(deadline=None)
def test_the_halves_are_the_batch(pairs):
    batch = make_batch(pairs, CONFIG, RIGHT)
    halves = batch.halves()
    for name in ("source", "inputs", "labels", "weights"):
        np.testing.assert_array_equal(np.concatenate([getattr(half, name) for half in halves]), getattr(batch, name))
    slots = np.arange(batch.source.shape[1])
    masks = [half.layout.source.allowed(slots, slots) for half in halves]
    np.testing.assert_array_equal(np.concatenate(masks), batch.layout.source.allowed(slots, slots))
