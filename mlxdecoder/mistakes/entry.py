"""What is known of one mistake: how it is made, what it looks like, and what finds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Stage = Literal[
    "mask", "scale", "softmax", "heads", "padding", "cross", "documents", "labels", "positions", "cache", "dropout"
]
Circumstance = Literal["padding", "packing", "company", "earlier sentence", "dropout", "shared heads"]
# What a recipe chooses for a source, and for a decoder: a model without one has none of these choices.
OF_SOURCES = frozenset(("encoder_mask", "cross_mask", "cross_cache", "keeps_cross_cache"))
OF_DECODERS = frozenset(("decoder_mask", "position_start", "mask_start", "frame_target", "shift_targets"))
OF_DECODERS |= {"loss_weights", "drops_while_generating"}
WITHOUT: Mapping[str, frozenset[str]] = {
    "translator": frozenset(),
    "language_model": OF_SOURCES,
    "encoder": OF_DECODERS | OF_SOURCES - {"encoder_mask"},
}
Change = Callable[[Any], Any]
"""From the choice that a recipe makes to the mistaken one."""


@dataclass(frozen=True)
class Mistake:
    """One entry of the catalogue.

    `changes` maps fields of a recipe to what becomes of them. `right` and `wrong` are the same line of code. `heatmap`,
    `curves` (training loss, teacher-forced accuracy, exact match) and `generation` say what is to be seen. `contracts`
    find it; `signs` are what they fail with on fresh models, a set for each way in which it is written. `needs` are
    circumstances without which nothing shows; `setting` changes the model or the training of the experiment so that
    they are given. `harmless` ones only look like mistakes.
    """

    number: int
    id: str
    title: str
    stage: Stage
    changes: Mapping[str, Change]
    right: str
    wrong: str
    heatmap: str
    curves: str
    generation: str
    contracts: tuple[str, ...] = ()
    signs: tuple[frozenset[str], ...] = ()
    needs: tuple[Circumstance, ...] = ()
    setting: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    harmless: bool = False

    @property
    def trains_only(self) -> bool:
        """Whether it lives in what the model is told, so that a trained model shows nothing of it."""
        return self.stage == "labels"

    def concerns(self, architecture: str) -> bool:
        """Whether a model of this architecture makes any of the choices that the mistake changes."""
        return not self.changes.keys() <= WITHOUT[architecture]

    @property
    def generates_only(self) -> bool:
        """Whether training does not meet it."""
        return self.stage in ("cache", "dropout")


def signs(names: str) -> frozenset[str]:
    """Signs with blanks between them."""
    return frozenset(names.split())


def instead(choice: Any) -> Change:
    """A change that puts `choice` in the place of whatever was there."""
    return lambda before: choice
