"""One block, three architectures: each learns a task that it could not solve without its part of it."""

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optimizers
import numpy as np

from mlxdecoder.config import ModelConfig
from mlxdecoder.generate import generate
from mlxdecoder.masks import Padding
from mlxdecoder.models import Encoder, LanguageModel, Translator
from mlxdecoder.recipe import Layout

SIZE = {"d_model": 32, "n_heads": 2, "d_ff": 64, "n_layers": 2}
MARKS = 4  # ids 0 to 3 are padding, unknown, begin, end


def train(model, loss, batches):
    optimizer = optimizers.Adam(learning_rate=3e-3)
    step = nn.value_and_grad(model, loss)
    for batch in batches:
        _, gradients = step(model, *batch)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state)
    model.eval()


def classes_loss(model, inputs, labels, layout=Layout()):
    return nn.losses.cross_entropy(model(inputs, layout), mx.array(labels)).mean()


def test_an_encoder_finds_a_token_anywhere_in_padded_text():
    """Does the sentence hold the token 9? The first token, the same in every sentence, has to collect the answer."""
    random = np.random.default_rng(0)

    def batch(rows=32, width=8):
        lengths = random.integers(2, width + 1, rows)
        ids = random.integers(10, 20, (rows, width))
        ids[:, 0] = 5
        labels = random.integers(0, 2, rows)
        ids[np.arange(rows), random.integers(1, lengths)] = np.where(labels, 9, 10)
        ids[np.arange(width) >= lengths[:, None]] = 9  # what stands in the padding must not count
        return ids, labels, Layout(source=Padding.right(lengths, width))

    mx.random.seed(0)
    model = Encoder(ModelConfig(architecture="encoder", target_vocab=20, pooling="cls", n_classes=2, **SIZE))
    train(model, classes_loss, [batch() for _ in range(100)])
    ids, labels, layout = batch(256)
    assert (np.array(model(ids, layout)).argmax(axis=1) == labels).mean() > 0.97


def test_an_encoder_sees_where_in_an_image_something_is():
    """Which of four patches is bright: patches are tokens, and positions tell where they are."""
    random = np.random.default_rng(0)

    def batch(rows=32):
        labels = random.integers(0, 4, rows)
        images = random.normal(0, 0.3, (rows, 2, 4, 2, 4, 1))  # rows, patch row, pixel row, patch column, pixel column
        images[np.arange(rows), labels // 2, :, labels % 2] += 1
        return images.reshape(rows, 8, 8, 1), labels

    mx.random.seed(0)
    config = ModelConfig(
        architecture="encoder",
        positions="learned",
        image_size=8,
        patch_size=4,
        image_channels=1,
        pooling="cls",
        n_classes=4,
        **SIZE,
    )
    model = Encoder(config)
    train(model, classes_loss, [batch() for _ in range(100)])
    images, labels = batch(256)
    assert (np.array(model(images)).argmax(axis=1) == labels).mean() > 0.97


def test_a_language_model_goes_on_with_what_it_has_read():
    """A pattern of three tokens that repeats: the next token stands three places back."""
    random = np.random.default_rng(0)

    def batch(rows=32):
        return (np.tile(random.integers(MARKS, 12, (rows, 3)), 5),)

    def loss(model, ids):
        logits = model(ids[:, :-1])
        return nn.losses.cross_entropy(logits[:, 3:], mx.array(ids[:, 4:])).mean()

    mx.random.seed(0)
    model = LanguageModel(ModelConfig(architecture="language_model", target_vocab=12, positions="rotary", **SIZE))
    train(model, loss, [batch() for _ in range(160)])
    (rows,) = batch(20)
    made = generate(model, [row[:6].tolist() for row in rows], max_tokens=6)
    right = [one.tokens == row[6:12].tolist() for one, row in zip(made, rows, strict=True)]
    assert np.mean(right) > 0.9


def test_a_translator_turns_a_source_round():
    """The target is the source backwards: every token has to be fetched through cross-attention."""
    random = np.random.default_rng(0)

    def batch(rows=32):
        source = random.integers(MARKS, 12, (rows, 5))
        ends = np.full((rows, 1), 3)
        return source, np.concatenate([np.full((rows, 1), 2), source[:, ::-1], ends], axis=1)

    def loss(model, source, target):
        return nn.losses.cross_entropy(model(source, target[:, :-1]), mx.array(target[:, 1:])).mean()

    mx.random.seed(0)
    model = Translator(ModelConfig(target_vocab=12, **SIZE))
    train(model, loss, [batch() for _ in range(320)])
    source, target = batch(50)
    made = generate(model, source.tolist())
    assert np.mean([one.tokens == row[1:-1].tolist() for one, row in zip(made, target, strict=True)]) > 0.9
