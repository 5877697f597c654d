"""Configurations: what is refused, and what a file keeps."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.models import make_model
from tests.builders import small
from tests.models.builders import VARIANT_NAMES, VARIANTS


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
            ("unrotated_layers", {"architecture": "language_model", "positions": "rotary", "unrotated_layers": (2,)}),
            ("unrotated_layers", {"architecture": "language_model", "positions": "rotary", "unrotated_layers": (-1,)}),
            *(
                (
                    "unrotated_layers",
                    {"architecture": "language_model", "positions": "rotary", "unrotated_layers": layers},
                )
                for layers in ((1, 0), (1, 1))
            ),
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
