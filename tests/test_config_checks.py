"""Values that a model cannot be built with: refused by the name of the field, with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError

SIZES = (
    *("target_vocab", "source_vocab", "d_model", "n_heads", "n_kv_heads", "head_width", "d_ff", "n_layers"),
    *("n_encoder_layers", "n_experts", "experts_per_token", "max_length", "rotary_trained_length", "window"),
    *("n_segments", "n_classes", "image_size", "patch_size", "image_channels", "pad_id", "begin_id", "end_id"),
)


def refusal(**changes: Any) -> str:
    with pytest.raises(UserError) as caught:
        ModelConfig(**changes)
    return str(caught.value)


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [2**31, 10**12])
def test_sizes_are_those_of_axes(name: str, value: int) -> None:
    assert refusal(**{name: value}).startswith(f"{name} = {value}: wanted at most 2,147,483,647")


@pytest.mark.parametrize("name", SIZES)
def test_a_number_of_thousands_of_digits_is_cut_short(name: str) -> None:
    message = refusal(**{name: 10**4000})
    assert message.startswith(f"{name} = 1000")
    assert len(message) < 200


def test_heads_together_are_an_axis_too() -> None:
    message = refusal(n_heads=2**20, head_width=2**20)
    assert message.startswith("head_width = 1048576: wanted at most 2,147,483,647 together with n_heads = 1048576")


def test_a_patch_is_an_axis_too() -> None:
    message = refusal(architecture="encoder", image_size=10**6, patch_size=10**6)
    assert message.startswith("patch_size = 1000000: wanted at most 2,147,483,647 numbers in a patch")


@pytest.mark.parametrize(
    "name", ["norm_epsilon", "rotary_base", "rotary_factor", "rotary_strength", "dropout", "repetition_penalty"]
)
@pytest.mark.parametrize("value", [10**400, float("nan"), float("-inf"), "1", True])
def test_numbers_are_finite(name: str, value: object) -> None:
    assert refusal(**{name: value}).endswith(": wanted a finite number.")


@pytest.mark.parametrize("value", [0, -1.5])
def test_a_penalty_is_above_nothing(value: float) -> None:
    assert refusal(repetition_penalty=value) == f"repetition_penalty = {value}: wanted above 0."


@pytest.mark.parametrize("value", [0, 5])
def test_experts_are_as_many_as_there_are(value: int) -> None:
    reason = "at least 1" if value == 0 else "at most n_experts = 4"
    assert refusal(n_experts=4, experts_per_token=value, activation="swiglu") == (
        f"experts_per_token = {value}: wanted {reason}."
    )
    assert refusal(n_experts=4).startswith("activation = 'relu': wanted one that gates")
