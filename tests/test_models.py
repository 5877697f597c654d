"""The three architectures: right numbers, no look ahead, no mixing of rows, and errors that name what is wrong."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx.utils import tree_flatten

from mlxdecoder.blocks import Block
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.ids import pad_left, pad_right
from mlxdecoder.layers import Dropout
from mlxdecoder.masks import Documents, Padding
from mlxdecoder.models import cut_patches, make_model
from mlxdecoder.recipe import Layout
from tests import reference
from tests.builders import POSITIONS, VOCABULARY, difference, ids, normal, numbers, rows_of, small

ARCHITECTURES = ("encoder", "language_model", "translator")
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "swiglu", "geglu")
VARIANTS: list[dict[str, Any]] = [
    *({"norm": place, "norm_kind": kind} for place, kind in itertools.product(("pre", "post"), ("layer", "rms"))),
    *({"activation": activation} for activation in ACTIVATIONS),
    *({"positions": positions} for positions in POSITIONS),
    *(
        {"positions": "rotary", "rotary_scaling": scaling, "rotary_factor": 4.0}
        for scaling in ("linear", "ntk", "yarn")
    ),
    {"n_kv_heads": 1},
    {"n_kv_heads": None},
    {"head_width": 6},
    {"bias": False, "tied": False, "scaled_embeddings": False},
    {"window": 2},
    {"n_layers": 1, "n_encoder_layers": 3},
]
VARIANT_NAMES = [",".join(f"{name}={value}" for name, value in variant.items()) for variant in VARIANTS]


def run(model: Any, tokens: Any, layout: Layout = Layout()) -> mx.array:
    """States of an encoder, logits of the others; a translator reads the tokens on both sides."""
    if model.config.architecture == "translator":
        return model(tokens, tokens, layout)
    return model(tokens, layout=layout)


def perturbed(tokens: np.ndarray, where: Any) -> np.ndarray:
    """The tokens with others in some places."""
    changed = tokens.copy()
    changed[where] = 4 + (changed[where] - 4 + 1) % (VOCABULARY - 4)
    return changed


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


def test_padding_of_the_source_does_not_reach_the_target() -> None:
    model, rows = small("translator"), rows_of([6, 2])
    layout = Layout(source=Padding.right([6, 2], 6))
    found = [numbers(model(pad_right(rows, pad), [[2, 5, 6]] * 2, layout))[1] for pad in (0, 9)]
    np.testing.assert_array_equal(found[0], found[1])


class TestWindow:
    def test_reaches_as_far_as_layers_times_window_allow(self) -> None:
        model, tokens = small(window=3, n_layers=2), ids(1, 9)
        before, after = (numbers(model(x)) for x in (tokens, perturbed(tokens, np.s_[:, 0])))
        moved = np.abs(before - after).max(axis=-1)[0] > 0
        np.testing.assert_array_equal(moved, [True] * 5 + [False] * 4)

    def test_of_one_layer_leaves_the_others_as_they_are(self) -> None:
        """What is out of reach of one layer alone is within that of the other."""
        one, other, whole, both = (
            small(n_layers=2, **windows)
            for windows in ({"layer_windows": (3, 0)}, {"layer_windows": (0, 3)}, {}, {"window": 3})
        )
        tokens = ids(1, 9)
        near = [numbers(model(tokens))[0, :3] for model in (one, other, whole, both)]
        assert all(np.array_equal(logits, near[0]) for logits in near)
        far = [numbers(model(tokens))[0, -1] for model in (one, other, whole, both)]
        assert min(np.abs(a - b).max() for a, b in itertools.combinations(far, 2)) > 1e-3

    def test_of_one_layer_alone_is_how_far_it_reaches(self) -> None:
        model, tokens = small(n_layers=1, layer_windows=(3,)), ids(1, 9)
        np.testing.assert_array_equal(numbers(model(tokens)), numbers(small(n_layers=1, window=3)(tokens)))

    def test_of_an_encoder_looks_both_ways(self) -> None:
        model, tokens = small("encoder", window=2, n_layers=1), ids(1, 5)
        before, after = (numbers(model(x)) for x in (tokens, perturbed(tokens, np.s_[:, 2])))
        np.testing.assert_array_equal(np.abs(before - after).max(axis=-1)[0] > 0, [False, True, True, True, False])

    def test_does_not_narrow_cross_attention(self) -> None:
        model, source = small("translator", window=1), ids(1, 6)
        before, after = (numbers(model(x, [[2]])) for x in (source, perturbed(source, np.s_[:, 5])))
        assert np.abs(before - after).max() > 1e-5


def test_layers_without_rotary_positions_are_as_without_any() -> None:
    tokens = ids(1, 6)
    some, none, every, bare = (
        numbers(small(n_layers=2, **changes)(tokens))
        for changes in (
            {"positions": "rotary", "unrotated_layers": (1,)},
            {"positions": "rotary", "unrotated_layers": (0, 1)},
            {"positions": "rotary"},
            {"positions": "none"},
        )
    )
    np.testing.assert_array_equal(none, bare)
    assert min(np.abs(some - other).max() for other in (bare, every)) > 1e-3


@settings(max_examples=25)
@given(st.sampled_from(POSITIONS), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.booleans())
def test_packed_documents_equal_the_documents_alone(kind: str, lengths: list[int], decoder: bool) -> None:
    model, rows = small("language_model" if decoder else "encoder", positions=kind), rows_of(lengths)
    packed = [[token for row in rows for token in row]]
    document = Documents((tuple(i for i, row in enumerate(rows) for _ in row),))
    found, first = run(model, packed, Layout(source=document, target=document)), 0
    for row in rows:
        assert difference(found[0, first : first + len(row)], run(model, [row])[0]) < 1e-5
        first += len(row)


SOURCES, TARGETS = rows_of([3, 2], seed=1), rows_of([2, 4], seed=2)
PACKED = Layout(source=Documents(((0, 0, 0, 1, 1),)), target=Documents(((0, 0, 1, 1, 1, 1),)))


@pytest.mark.parametrize("kind", POSITIONS)
def test_packed_translations_equal_the_translations_alone(kind: str) -> None:
    model = small("translator", positions=kind)
    source, target = ([[token for row in rows for token in row]] for rows in (SOURCES, TARGETS))
    found = model(source, target, PACKED)
    assert difference(found[0, :2], model(SOURCES[:1], TARGETS[:1])[0]) < 1e-5
    assert difference(found[0, 2:], model(SOURCES[1:], TARGETS[1:])[0]) < 1e-5


def test_a_packed_source_without_a_packed_target_is_refused() -> None:
    """Nobody could tell which of the sources belongs to the target."""
    source, target = ([[token for row in rows for token in row]] for rows in (SOURCES, TARGETS))
    with pytest.raises(UserError, match="Documents for target"):
        small("translator")(source, target, Layout(source=PACKED.source))


class TestPooling:
    @pytest.mark.parametrize("pooling", ["cls", "mean"])
    @pytest.mark.parametrize("side", ["left", "right"])
    def test_ignores_padding(self, pooling: str, side: str) -> None:
        model, rows = small("encoder", pooling=pooling, n_classes=3), rows_of([6, 2])
        layout = Layout(source=(Padding.left if side == "left" else Padding.right)([6, 2], 6))
        found = model((pad_left if side == "left" else pad_right)(rows, 0), layout)
        assert found.shape == (2, 3)
        assert difference(found[1], model(rows[1:])[0]) < 1e-5

    def test_takes_the_first_token_or_the_mean(self) -> None:
        tokens = ids(2, 5)
        states = numbers(small("encoder")(tokens))
        assert difference(small("encoder", pooling="cls")(tokens), states[:, 0]) < 1e-6
        assert difference(small("encoder", pooling="mean")(tokens), states.mean(axis=1)) < 1e-5

    @pytest.mark.parametrize("pooling", ["cls", "mean"])
    def test_keeps_half_types(self, pooling: str) -> None:
        model = small("encoder", pooling=pooling, n_classes=3)
        model.set_dtype(mx.float16)
        assert model(ids(2, 4)).dtype == mx.float16


IMAGES: dict[str, Any] = {"image_size": 6, "patch_size": 2, "image_channels": 3}


class TestImages:
    def test_patches_are_squares_row_by_row(self) -> None:
        images = normal(2, 6, 4, 3)
        found = numbers(cut_patches(mx.array(images), 2))
        assert found.shape == (2, 6, 12)
        for b, row, column in np.ndindex(2, 3, 2):
            square = images[b, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            np.testing.assert_array_equal(found[b, 2 * row + column], square.ravel())

    @pytest.mark.parametrize(("pooling", "shape"), [("none", (2, 9, 16)), ("cls", (2, 16)), ("mean", (2, 16))])
    def test_shapes(self, pooling: str, shape: tuple[int, ...]) -> None:
        assert small("encoder", pooling=pooling, **IMAGES)(normal(2, 6, 6, 3)).shape == shape

    @pytest.mark.parametrize("pooling", ["cls", "mean"])
    def test_classes_depend_on_every_pixel_and_on_no_other_image(self, pooling: str) -> None:
        model, images = small("encoder", pooling=pooling, n_classes=4, **IMAGES), normal(2, 6, 6, 3)
        before = numbers(model(images))
        assert before.shape == (2, 4)
        for row, column in ((0, 0), (2, 5), (5, 3)):
            changed = images.copy()
            changed[0, row, column, 1] += 3
            after = numbers(model(changed))
            assert np.abs(before[0] - after[0]).max() > 1e-5
            np.testing.assert_array_equal(before[1], after[1])

    @pytest.mark.parametrize("shape", [(6, 6, 3), (2, 3, 6, 6), (2, 6, 4, 3), (2, 6, 6, 1)])
    def test_other_shapes_are_refused(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(UserError, match=r"images: .*batch, 6, 6, 3"):
            small("encoder", **IMAGES)(np.zeros(shape, np.float32))

    def test_half_types(self) -> None:
        model = small("encoder", pooling="cls", n_classes=4, **IMAGES)
        model.set_dtype(mx.float16)
        assert model(normal(1, 6, 6, 3)).dtype == mx.float16


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


class TestConfig:
    @pytest.mark.parametrize("variant", VARIANTS, ids=VARIANT_NAMES)
    def test_json_both_ways(self, variant: dict[str, Any]) -> None:
        config = small(**variant).config
        assert ModelConfig.from_json(config.to_json()) == config
        assert json.loads(config.to_json()) == json.loads(json.dumps(asdict(config)))  # which makes lists of tuples

    @pytest.mark.parametrize(
        ("name", "changes"),
        [
            ("architecture", {"architecture": "gpt"}),
            ("target_vocab", {"target_vocab": 0}),
            ("target_vocab", {"target_vocab": 40.0}),
            ("target_vocab", {"target_vocab": True}),
            ("source_vocab", {"source_vocab": 0}),
            ("source_vocab", {"source_vocab": 7}),
            ("d_model", {"d_model": 0}),
            ("d_model", {"d_model": 5, "n_heads": 1}),
            ("d_model", {"d_model": None}),
            ("n_heads", {"n_heads": 3}),
            ("n_heads", {"n_heads": 0}),
            ("n_kv_heads", {"n_kv_heads": 3}),
            ("n_kv_heads", {"n_kv_heads": 0}),
            ("n_kv_heads", {"n_kv_heads": 8}),
            ("head_width", {"head_width": 0}),
            ("head_width", {"head_width": 5, "positions": "rotary"}),
            ("d_ff", {"d_ff": 0}),
            ("n_layers", {"n_layers": -1}),
            ("n_encoder_layers", {"n_encoder_layers": -1}),
            ("norm", {"norm": "middle"}),
            ("norm_kind", {"norm_kind": "batch"}),
            ("norm_epsilon", {"norm_epsilon": 0.0}),
            ("norm_epsilon", {"norm_epsilon": float("nan")}),
            ("norm_epsilon", {"norm_epsilon": float("inf")}),
            ("activation", {"activation": "tanh"}),
            ("bias", {"bias": 1}),
            ("positions", {"positions": "absolute"}),
            ("max_length", {"max_length": 0}),
            ("rotary_base", {"rotary_base": 1.0}),
            ("rotary_base", {"rotary_base": float("inf")}),
            ("rotary_scaling", {"rotary_scaling": "cubic"}),
            ("rotary_factor", {"rotary_factor": 0.5}),
            ("window", {"window": 0}),
            ("window", {"window": "4"}),
            ("layer_windows", {"architecture": "language_model", "layer_windows": (3,)}),
            ("layer_windows", {"architecture": "language_model", "layer_windows": (3, -1)}),
            ("layer_windows", {"architecture": "language_model", "layer_windows": (3, 2**31)}),
            ("layer_windows", {"architecture": "language_model", "layer_windows": (3, 0), "window": 2}),
            ("layer_windows", {"layer_windows": (3, 0)}),
            ("unrotated_layers", {"architecture": "language_model", "positions": "rotary", "unrotated_layers": (2,)}),
            ("unrotated_layers", {"architecture": "language_model", "positions": "rotary", "unrotated_layers": (-1,)}),
            ("unrotated_layers", {"architecture": "language_model", "unrotated_layers": (0,)}),
            ("unrotated_layers", {"positions": "rotary", "unrotated_layers": (0,)}),
            ("tied", {"tied": "yes"}),
            ("dropout", {"dropout": 1.0}),
            ("dropout", {"dropout": -0.1}),
            ("attention_dropout", {"attention_dropout": 1}),
            ("pooling", {"pooling": "max"}),
            ("pooling", {"pooling": "cls"}),
            ("n_classes", {"n_classes": 2}),
            ("pooling", {"architecture": "encoder", "n_classes": 2}),
            ("patch_size", {"architecture": "encoder", "image_size": 8}),
            ("patch_size", {"architecture": "encoder", "image_size": 8, "patch_size": 3}),
            ("patch_size", {"image_size": 8, "patch_size": 4}),
            ("image_channels", {"image_channels": 0}),
            ("pad_id", {"pad_id": -1}),
            ("end_id", {"target_vocab": 3}),
            ("begin_id", {"begin_id": 400}),
        ],
    )
    def test_wrong_values_are_named(self, name: str, changes: dict[str, Any]) -> None:
        with pytest.raises(UserError, match=rf"^{name} = "):
            ModelConfig(**changes)
        with pytest.raises(UserError, match=rf"^folder/config.json: {name} = "):
            ModelConfig.from_json(json.dumps({**asdict(ModelConfig()), **changes}), "folder/config.json")

    @pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '{"widht": 3}', '{"d_model": "x"}', '{"norm": []}'])
    def test_other_texts_are_refused_by_name(self, text: str) -> None:
        with pytest.raises(UserError, match=r"^here: "):
            ModelConfig.from_json(text, "here")

    def test_what_follows_from_other_fields(self) -> None:
        config = ModelConfig(d_model=32, n_heads=4, n_layers=3, target_vocab=50)
        assert (config.kv_heads, config.width_per_head, config.encoder_layers, config.n_source_ids) == (4, 8, 3, 50)
        assert ModelConfig(n_encoder_layers=0, n_layers=2).encoder_layers == 0

    def test_a_model_of_another_architecture_is_refused(self) -> None:
        encoder = type(small("encoder"))
        with pytest.raises(UserError, match=r"'translator'.*'encoder'"):
            encoder(ModelConfig())

    def test_the_same_seed_gives_the_same_model(self) -> None:
        first, second = (dict(tree_flatten(small(seed=3).parameters())) for _ in range(2))
        assert all(mx.array_equal(first[name], second[name]) for name in first)
        assert make_model(ModelConfig()).config == ModelConfig()
