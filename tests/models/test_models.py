"""The three architectures: right numbers, no look ahead, no mixing of rows, and errors that name what is wrong."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlxdecoder.blocks import Block
from mlxdecoder.errors import UserError
from mlxdecoder.ids import pad_left, pad_right
from mlxdecoder.layers import Dropout
from mlxdecoder.masks import Padding
from mlxdecoder.recipe import Layout
from tests import reference
from tests.builders import POSITIONS, difference, ids, numbers, rows_of, small
from tests.models.builders import ACTIVATIONS, ARCHITECTURES, VARIANT_NAMES, VARIANTS, perturbed, run


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("norm_kind", ["layer", "rms"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_language_model_is_what_numpy_makes_of_its_weights(norm: str, norm_kind: str, activation: str) -> None:
    model = small(norm=norm, norm_kind=norm_kind, activation=activation, positions="none", window=3)
    weights = {name: np.array(array) for name, array in tree_flatten(model.parameters())}
    tokens = ids(2, 6)
    rule = reference.every([reference.causal, reference.window(3)])
    wanted = np.stack([reference.language_model(model.config, weights, row, rule) for row in tokens])
    assert difference(model(tokens), wanted) < 1e-5


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("variant", VARIANTS, ids=VARIANT_NAMES)
class TestEveryVariant:
    def test_runs_and_has_finite_gradients(self, architecture: str, variant: dict[str, Any]) -> None:
        model, tokens = small(architecture, **variant), ids(2, 5)
        output, gradients = nn.value_and_grad(model, lambda model: run(model, tokens).square().sum())(model)
        assert np.isfinite(output.item())
        for name, gradient in tree_flatten(gradients):
            assert np.isfinite(numbers(gradient)).all(), name
        flat = dict(tree_flatten(gradients))
        assert sorted(flat) == sorted(name for name, _ in tree_flatten(model.trainable_parameters()))
        # Softmax does not feel what is added to all scores of a row, so a key's bias gets none.
        idle = [name for name, x in flat.items() if not numbers(x).any() and not name.endswith("key.bias")]
        assert idle == []

    def test_rows_do_not_mix(self, architecture: str, variant: dict[str, Any]) -> None:
        model, tokens = small(architecture, **variant), ids(3, 5)
        before, after = (numbers(run(model, x)) for x in (tokens, perturbed(tokens, 1)))
        np.testing.assert_array_equal(before[[0, 2]], after[[0, 2]])
        assert np.abs(before[1] - after[1]).max() > 1e-3

    def test_is_one_kind_of_block(self, architecture: str, variant: dict[str, Any]) -> None:
        kinds = {type(module) for name, module in small(architecture, **variant).named_modules() if _is_block(name)}
        assert kinds == {Block}

    def test_half_types_run(self, architecture: str, variant: dict[str, Any]) -> None:
        model, tokens = small(architecture, **variant), ids(2, 5)
        wanted = run(model, tokens)
        model.set_dtype(mx.float16)
        found = run(model, tokens)
        assert found.dtype == mx.float16
        assert difference(found, wanted) < 32 * 2**-10

    def test_padding_changes_nothing(self, architecture: str, variant: dict[str, Any]) -> None:
        model, rows = small(architecture, **variant), rows_of([5, 2])
        right = Layout(source=Padding.right([5, 2], 7), target=Padding.right([5, 2], 7))
        left = Layout(source=Padding.left([5, 2], 5), target=Padding.left([5, 2], 5))
        padded = run(model, pad_right(rows, 0, width=7), right)
        assert difference(padded[1, :2], run(model, [rows[1]])[0]) < 1e-5
        assert difference(padded[0, :5], run(model, [rows[0]])[0]) < 1e-5
        assert difference(run(model, pad_left(rows, 0), left)[1, -2:], run(model, [rows[1]])[0]) < 1e-5


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("positions", POSITIONS)
def test_brain_floats_run(architecture: str, positions: str) -> None:
    model, tokens = small(architecture, positions=positions), ids(2, 5)
    wanted = run(model, tokens)
    model.set_dtype(mx.bfloat16)
    found = run(model, tokens)
    assert found.dtype == mx.bfloat16
    assert difference(found, wanted) < 32 * 2**-7


def _is_block(name: str) -> bool:
    return name.rpartition(".")[0].endswith("blocks")


@pytest.mark.parametrize("variant", VARIANTS, ids=VARIANT_NAMES)
class TestDecoders:
    def test_a_language_model_does_not_look_ahead(self, variant: dict[str, Any]) -> None:
        model, tokens = small(**variant), ids(1, 7)
        for t in range(1, 7):
            before, after = (numbers(model(x)) for x in (tokens, perturbed(tokens, np.s_[:, t:])))
            np.testing.assert_array_equal(before[:, :t], after[:, :t])
            assert np.abs(before[:, t] - after[:, t]).max() > 1e-4

    def test_a_translator_does_not_look_ahead_and_reads_all_of_its_source(self, variant: dict[str, Any]) -> None:
        model, source, target = small("translator", **variant), ids(1, 4), ids(1, 5, seed=1)
        before, after = (numbers(model(source, x)) for x in (target, perturbed(target, np.s_[:, 2:])))
        np.testing.assert_array_equal(before[:, :2], after[:, :2])
        for s in range(4):
            changed = numbers(model(perturbed(source, np.s_[:, s]), target))
            assert (np.abs(before - changed).max(axis=-1) > 1e-5).all()


class TestIds:
    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    @pytest.mark.parametrize(
        ("tokens", "words"),
        [
            ([[4, 100]], "100"),
            ([[-1, 4]], "-1"),
            ([4, 5], r"batch, length"),
            ([[4, 5], [6]], "different lengths"),
            ([[0.5, 1.0]], "whole numbers"),
            ([[[4]]], r"batch, length"),
        ],
    )
    def test_wrong_ids_are_refused(self, architecture: str, tokens: Any, words: str) -> None:
        with pytest.raises(UserError, match=words):
            run(small(architecture), tokens)

    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    def test_no_tokens_are_refused(self, architecture: str) -> None:
        with pytest.raises(UserError, match=r"no tokens|at least one"):
            run(small(architecture), np.zeros((1, 0), np.int32))

    def test_batches_of_source_and_target_must_agree(self) -> None:
        with pytest.raises(UserError, match="target"):
            small("translator")([[5, 6]], [[2], [2]])

    @pytest.mark.parametrize("architecture", ARCHITECTURES)
    @pytest.mark.parametrize("batch", [1, 2])
    def test_a_layout_for_another_batch_is_refused(self, architecture: str, batch: int) -> None:
        padding = Padding.right([1, 2, 3], 3)
        layout = Layout(source=padding) if architecture == "encoder" else Layout(target=padding)
        with pytest.raises(UserError, match="3"):
            run(small(architecture), ids(batch, 3), layout)

    @pytest.mark.parametrize("make", [lambda x: x, np.array, mx.array, lambda x: mx.array(x, mx.uint8)])
    def test_every_form_of_ids_is_taken(self, make: Any) -> None:
        tokens = [[5, 6], [7, 8]]
        np.testing.assert_array_equal(numbers(small()(make(tokens))), numbers(small()(tokens)))


class TestDropout:
    def test_works_while_training_only(self) -> None:
        model, tokens = small(dropout=0.5, attention_dropout=0.5), ids(2, 5)
        np.testing.assert_array_equal(numbers(model(tokens)), numbers(model(tokens)))
        model.train()
        assert np.abs(numbers(model(tokens)) - numbers(model(tokens))).max() > 1e-3

    def test_keeps_the_mean_and_the_type(self) -> None:
        mx.random.seed(0)
        dropout = Dropout(0.25)
        found = numbers(dropout(mx.ones((200, 200))))
        np.testing.assert_allclose(np.unique(found), [0, 1 / 0.75], rtol=1e-6)
        assert abs(found.mean() - 1) < 0.02
        assert dropout(mx.ones(4, mx.float16)).dtype == mx.float16
