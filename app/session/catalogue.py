"""What the worker says of the model and of the mistakes, for the window, which knows neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mlxdecoder.app.session.document import View
from mlxdecoder.heads import Grouping


@dataclass(frozen=True)
class Model:
    """A loaded model; `kinds` are the kinds of attention that it has."""

    name: str
    path: str | None
    fingerprint: str
    architecture: str
    layers: int
    encoder_layers: int
    heads: int
    kv_heads: int
    width: int
    vocab: int
    parameters: int
    kinds: tuple[str, ...]

    @property
    def grouping(self) -> Grouping:
        """Which heads share keys and values."""
        return Grouping(self.heads, self.kv_heads)

    def layers_of(self, kind: str) -> int:
        return self.encoder_layers if kind == "encoder" else self.layers

    def nearest(self, view: View) -> View:
        """The same kind, layer and head, as far as there are so many; of a kind that is missing, another."""
        kind = view.kind if view.kind in self.kinds else self.kinds[-1]
        layer, head = min(view.layer, self.layers_of(kind) - 1), min(view.head, self.heads - 1)
        return replace(view, kind=kind, layer=layer, head=head)


@dataclass(frozen=True)
class Entry:
    """A card of the catalogue of mistakes."""

    id: str
    number: int
    title: str
    stage: str
    right: str
    wrong: str
    heatmap: str
    curves: str
    generation: str
    question: str
    answer: str
    contracts: tuple[str, ...]
    concerns: tuple[str, ...]  # the architectures that make the choice
    trains_only: bool
    generates_only: bool
    harmless: bool


@dataclass(frozen=True)
class Preset:
    """A size of model and training to choose; `usual_for` the "toy" sentences, a "corpus", or neither ("")."""

    name: str
    title: str
    purpose: str
    steps: int
    usual_for: str


def model_of(fields: Mapping[str, Any]) -> Model:
    return Model(**{**fields, "kinds": tuple(fields["kinds"])})


def entry_of(fields: Mapping[str, Any]) -> Entry:
    return Entry(**{**fields, **{name: tuple(fields[name]) for name in ("contracts", "concerns")}})
