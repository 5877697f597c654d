"""A file for each family of models: its configuration and its table of weight names."""

from __future__ import annotations

from mlxdecoder.pretrained.families import bert, gpt2, llama, marian, mixtral, t5, vit
from mlxdecoder.pretrained.family import Family
from mlxdecoder.pretrained.settings import Settings

FAMILIES: tuple[Family, ...] = (
    gpt2.FAMILY,
    llama.FAMILY,
    mixtral.FAMILY,
    marian.FAMILY,
    t5.FAMILY,
    bert.FAMILY,
    vit.FAMILY,
)


def family_of(settings: Settings) -> Family:
    """The family that a config.json names; raises `UserError` for one that is not known."""
    kind = settings.values.get("model_type")
    for family in FAMILIES:
        if kind in family.defaults:
            _check_common(settings, family)
            return family
    known = ", ".join(name for family in FAMILIES for name in family.defaults)
    raise settings.refused("model_type", f"known are {known}")


def _check_common(settings: Settings, family: Family) -> None:
    """What would make another function of any model: code of its own, weights in another form, heads cut out."""
    settings.must("auto_map", {})
    settings.must("quantization_config")
    settings.must("pruned_heads", {})
    classes = settings.values.get("architectures")
    if classes and (not isinstance(classes, list) or classes[0] not in family.classes):
        raise settings.refused("architectures", f"known are {', '.join(family.classes)}")
