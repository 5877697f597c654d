"""What the cards say of heatmaps is true of the maps that the window is sent, of the packaged model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mlxdecoder import load
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.engine import Engine
from tests.app.worker.asking import ask, engine_with

SENTENCE = "The black cat sees the old woman."
CLOSE = 2e-3  # what half types leave of a weight
SIDES = ("right", "wrong")


@pytest.fixture(scope="module")
def engine() -> Engine:
    return engine_with(load())


@pytest.fixture
def told(engine: Engine, request: pytest.FixtureRequest) -> Message:
    (message,) = ask(engine, "compare", sentence=SENTENCE, mistakes=[request.node.callspec.params["mistake"]])
    return message


class Maps:
    """One kind of attention on both sides, in float64 [L, H, T, S], and the intended mask [T, S]."""

    def __init__(self, told: Message, kind: str) -> None:
        self.right, self.wrong = (told.arrays[f"{kind}.{side}"].astype(np.float64) for side in ("right", "wrong"))
        self.intended = told.arrays[f"{kind}.intended"]
        self.keys = told["keys"][kind]

    @property
    def outside(self) -> np.ndarray:
        return np.where(self.intended, 0.0, self.wrong)

    def entropy(self, side: str) -> float:
        weights = getattr(self, side)
        return float(-(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(-1).mean())

    @property
    def same(self) -> bool:
        return bool(np.abs(self.wrong - self.right).max() < CLOSE)

    @property
    def legal(self) -> bool:
        rows = np.abs(self.wrong.sum(-1) - 1).max() < CLOSE
        return bool(rows and self.outside.max() == 0)


def right_of_the_diagonal(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return bool(decoder.outside.sum(-1).mean() > 0.25)


def only_itself_and_later(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return bool(np.abs(np.tril(decoder.wrong, -1)).max() == 0 < np.triu(decoder.wrong, 1).max())


def one_diagonal_too_many(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return bool(np.triu(decoder.wrong, 2).max() == 0 < decoder.outside.max())


def spread_over_the_first_row(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    T = decoder.wrong.shape[-1]
    diagonal = np.diagonal(decoder.wrong, axis1=-2, axis2=-1)[..., 1:]
    return bool(np.abs(decoder.wrong[:, :, 0] - 1 / T).max() < CLOSE and diagonal.max() == 0)


def nothing_in_the_last_row_and_only_what_is_hidden(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return bool(decoder.wrong[:, :, -1].max() == 0 and np.where(decoder.intended, decoder.wrong, 0).max() == 0)


def sharper(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return all(maps.entropy("wrong") < maps.entropy("right") for maps in (decoder, encoder, cross))


def blurred(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return all(maps.entropy("wrong") > maps.entropy("right") for maps in (decoder, encoder, cross))


def perfect_but_for_the_upper_row_sums(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    sums = decoder.wrong.sum(-1)
    return bool(decoder.outside.max() == 0 and sums[:, :, 0].min() < 0.2 and np.abs(sums[:, :, -1] - 1).max() < CLOSE)


def infinite_above_and_no_number_behind(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    upper = decoder.wrong[0][:, ~decoder.intended]  # of the first layer, whose queries are numbers still
    return bool(np.isneginf(upper).all() and np.isnan(cross.wrong).any())


def columns_sum_to_one(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return bool(np.abs(cross.wrong.sum(-2) - 1).max() < CLOSE and np.abs(cross.wrong.sum(-1) - 1).max() > 0.1)


def changed_but_legal(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return decoder.legal and cross.legal and not decoder.same


def padding_is_seen(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    padding = [key == "<pad>" for key in encoder.keys]
    return all(
        maps.wrong[..., padding].max() > 0.1 and maps.right[..., padding].max() == 0 for maps in (encoder, cross)
    )


def rows_of_padding_are_empty(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    padding = np.array([key == "<pad>" for key in encoder.keys])
    others = encoder.wrong[:, :, ~padding][..., padding]
    return bool(
        encoder.wrong[:, :, padding].max() == 0 and others.max() > 0.01 and cross.wrong[..., padding].max() > 0.1
    )


def triangle_in_cross_attention(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return bool(np.triu(cross.wrong, 1).max() == 0 and np.triu(cross.right, 1).max() > 0.1)


def other_sentences_are_seen_everywhere(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return all(maps.outside.sum(-1).mean() > 0.1 for maps in (decoder, encoder, cross))


def first_key_alone(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return bool(decoder.wrong[..., 0].min() > 1 - CLOSE)


def first_row_as_ever_later_ones_not(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    change = np.abs(decoder.wrong - decoder.right).max((0, 1, 3))
    return bool(change[0] < CLOSE < change[1:].max() and decoder.legal)


def all_on_the_sentence_before(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return bool(np.abs(cross.outside.sum(-1) - 1).max() < CLOSE)


def everything_the_same(decoder: Maps, encoder: Maps, cross: Maps) -> bool:
    return decoder.same and encoder.same and cross.same


CLAIMS: dict[str, Callable[[Maps, Maps, Maps], bool]] = {
    "no-causal-mask": right_of_the_diagonal,
    "causal-transposed": only_itself_and_later,
    "causal-off-by-one": one_diagonal_too_many,
    "causal-strict": spread_over_the_first_row,
    "fill-too-small": right_of_the_diagonal,
    "mask-inverted": nothing_in_the_last_row_and_only_what_is_hidden,
    "no-scale": sharper,
    "scaled-by-width": blurred,
    "zeroed-after-softmax": perfect_but_for_the_upper_row_sums,
    "infinity-after-softmax": infinite_above_and_no_number_behind,
    "softmax-over-queries": columns_sum_to_one,
    "heads-without-transpose": changed_but_legal,
    "heads-reshaped-both-ways": changed_but_legal,
    "batch-sequence-exchanged": changed_but_legal,
    "heads-tiled": everything_the_same,  # this model shares no keys
    "no-source-padding-mask": padding_is_seen,
    "padding-on-queries": rows_of_padding_are_empty,
    "causal-cross-attention": triangle_in_cross_attention,
    "documents-mixed": other_sentences_are_seen_everywhere,
    "labels-unshifted": everything_the_same,  # a trained model shows nothing of what it might have been told
    "labels-shifted-twice": everything_the_same,
    "no-end-mark": everything_the_same,
    "padding-in-loss": everything_the_same,
    "no-positions": changed_but_legal,
    "cache-position-zero": first_row_as_ever_later_ones_not,
    "cache-mask-top-left": first_key_alone,
    "stale-cross-cache": all_on_the_sentence_before,
    "dropout-while-generating": changed_but_legal,
    "zeroed-and-renormalised": everything_the_same,
    "no-target-padding-mask": everything_the_same,
    "no-causal-mask-with-cache": everything_the_same,
}


@pytest.mark.parametrize("mistake", CLAIMS)
def test_what_the_card_says_of_the_heatmap_is_so(told: Message, mistake: str) -> None:
    decoder, encoder, cross = (Maps(told, kind) for kind in ("decoder", "encoder", "cross"))
    assert CLAIMS[mistake](decoder, encoder, cross)


@pytest.mark.parametrize("mistake", [name for name, claim in CLAIMS.items() if claim is not everything_the_same])
def test_the_claim_is_not_true_of_the_right_model(told: Message, mistake: str) -> None:
    arrays = {
        f"{kind}.{side}": told.arrays[f"{kind}.right"] for kind in ("encoder", "decoder", "cross") for side in SIDES
    }
    arrays |= {name: array for name, array in told.arrays.items() if name.endswith("intended")}
    right = Message("compared", told.run, told.fields, arrays)
    assert not CLAIMS[mistake](*(Maps(right, kind) for kind in ("decoder", "encoder", "cross")))


@pytest.mark.parametrize(
    "mistake",
    [
        *("no-causal-mask", "causal-off-by-one", "fill-too-small", "mask-inverted"),
        *("zeroed-after-softmax", "infinity-after-softmax"),
        *("zeroed-and-renormalised", "no-target-padding-mask", "no-causal-mask-with-cache"),
    ],
)
def test_what_is_said_to_change_no_translation_changes_none(told: Message, mistake: str) -> None:
    assert told["first_difference"] is None and told["translations"][0] == told["translations"][1] != ""
