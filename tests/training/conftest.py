"""A small world to train in: the toy grammar, a tokenizer of it, a model of a few thousand parameters."""

import pytest

from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.prepare import Prepared, prepare


@pytest.fixture(scope="session")
def prepared() -> Prepared:
    splits = make_splits(train_count=2000, held_out_count=8)
    train, held_out = ([Pair(pair.source, pair.target) for pair in part] for part in (splits.train, splits.validation))
    return prepare(train, held_out, vocab_size=400)


@pytest.fixture
def options() -> TrainingOptions:
    return TrainingOptions(
        steps=20, tokens_per_batch=256, warmup=5, evaluate_every=8, snapshot_every=3, average=3, learning_rate=1e-2
    )
