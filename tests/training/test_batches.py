"""Batches: every example once an epoch, no batch wider than allowed, labels one step ahead of the inputs."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.models import Translator
from mlxdecoder.recipe import RIGHT
from mlxdecoder.training.batches import Example, make_batch, plan_epoch
from mlxdecoder.training.options import TrainingOptions

ids = st.lists(st.integers(4, 30), min_size=1, max_size=20).map(tuple)
examples = st.lists(st.builds(Example, ids, ids), min_size=1, max_size=40)
CONFIG = ModelConfig(target_vocab=40)


def options(tokens: int, seed: int = 0, **changes: int) -> TrainingOptions:
    return TrainingOptions(tokens_per_batch=tokens, seed=seed, **changes)


@given(examples, st.integers(24, 200), st.integers(0, 9), st.integers(0, 9))
@settings(deadline=None)
def test_an_epoch_holds_every_example_once_in_batches_that_fit(pairs, tokens, seed, epoch):
    plan = plan_epoch(pairs, options(tokens, seed), epoch)
    assert sorted(i for batch in plan for i in batch) == list(range(len(pairs)))
    for batch in plan:
        made = make_batch([pairs[i] for i in batch], CONFIG, RIGHT)
        assert max(made.source.size, made.labels.size) <= tokens


def test_the_order_depends_on_seed_and_epoch_alone():
    pairs = [Example((4,) * (i % 7 + 1), (5,) * (i % 5 + 1)) for i in range(60)]
    assert plan_epoch(pairs, options(64, 1), 2) == plan_epoch(pairs, options(64, 1), 2)
    assert plan_epoch(pairs, options(64, 1), 2) != plan_epoch(pairs, options(64, 1), 3)
    assert plan_epoch(pairs, options(64, 1), 2) != plan_epoch(pairs, options(64, 2), 2)


def test_a_sentence_that_no_batch_can_hold_is_named():
    with pytest.raises(UserError, match=r"tokens_per_batch = 8.*of 12"):
        plan_epoch([Example((4,) * 10, (5,))], options(8), 0)


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


@given(examples, st.integers(1, 40))
@settings(deadline=None)
def test_widths_are_multiples_of_what_is_asked_for(pairs, multiple):
    batch = make_batch(pairs, CONFIG, RIGHT, options(999, pad_multiple=multiple))
    assert batch.source.shape[1] % multiple == batch.inputs.shape[1] % multiple == 0
    assert batch.source.shape[1] < max(len(pair.source) for pair in pairs) + multiple


@given(examples, st.integers(2, 4), st.integers(0, 9))
@settings(deadline=None, max_examples=15)
def test_a_pair_in_a_packed_row_is_scored_as_if_it_were_alone(pairs, pack, seed):
    mx.random.seed(seed)
    model = Translator(ModelConfig(target_vocab=40, d_model=16, n_heads=2, d_ff=16, n_layers=2))
    batch = make_batch(pairs, CONFIG, RIGHT, options(999, pack=pack))
    assert len(batch.source) == -(-len(pairs) // pack)
    packed = np.array(model(batch.source, batch.inputs, batch.layout))
    for i, pair in enumerate(pairs):
        begin = sum(len(one.target) + 2 for one in pairs[i - i % pack : i])
        alone = np.array(model([pair.source], [(CONFIG.begin_id, *pair.target)]))[0]
        found = packed[i // pack, begin : begin + len(alone)]
        np.testing.assert_allclose(found, alone, atol=2e-5)
        place = np.s_[i // pack, begin : begin + len(alone)]
        assert batch.labels[place].tolist() == [*pair.target, CONFIG.end_id]
        assert batch.weights[place].all()
    assert batch.weights.sum() == sum(len(pair.target) + 1 for pair in pairs)  # that the next one begins is not learnt


@pytest.mark.parametrize("changes", [{"pad_multiple": 16}, {"pack": 3}])
def test_padding_needs_no_more_positions_than_were_learned(changes):
    config = ModelConfig(target_vocab=40, d_model=16, n_heads=2, n_layers=1, positions="learned", max_length=20)
    pairs = [Example((5,) * 18, (6,) * 18), Example((5,), (6,)), Example((7, 8), (9,)), Example((7,), (8, 9))]
    batch = make_batch(pairs, config, RIGHT, options(999, **changes))
    assert np.isfinite(np.array(Translator(config)(batch.source, batch.inputs, batch.layout))).all()


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


@given(examples, st.integers(2, 9), st.integers(1, 3))
@settings(deadline=None)
def test_the_shares_of_the_processes_are_the_batch_in_order(pairs, size, pack):
    batch = make_batch(pairs, CONFIG, RIGHT, options(999, pack=pack))
    shares = [batch.share(rank, size) for rank in range(size)]
    counting = [share for share in shares if share.weights.any()]
    assert len(counting) == min(size, len(batch.source))
    for name in ("source", "inputs", "labels", "weights"):
        np.testing.assert_array_equal(np.concatenate([getattr(one, name) for one in counting]), getattr(batch, name))
    counts = [len(share.source) for share in shares]
    assert min(counts) >= 1
    assert max(counts) - min(counts) <= 1
