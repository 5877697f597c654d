"""A file for each family of models: its configuration and its table of weight names."""

from __future__ import annotations

from dataclasses import replace

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


def family_of(settings: Settings) -> tuple[Family, Settings]:
    """The family that a config.json names, and its values as the family names them, with defaults for what is missing.

    Raises `UserError` for a family that is not known, and for what would make another function of any model.
    """
    kind = _kind(settings)
    family = next(family for family in FAMILIES if kind in family.defaults)
    _check_common(settings, family)
    named = settings.renamed(family.aliases).over(family.defaults[kind])
    return family, replace(named, values={**named.values, "model_type": kind})


def _kind(settings: Settings) -> str:
    """`model_type`, or how the class of the model begins, in folders from before 2020 that have no `model_type`."""
    known = [kind for family in FAMILIES for kind in family.defaults]
    found = settings.values.get("model_type")
    if "model_type" not in settings.values:
        name = _class(settings)
        served = any(name in family.classes for family in FAMILIES)
        found = next((kind for kind in known if served and str(name).lower().startswith(kind)), None)
    if not isinstance(found, str) or found not in known:
        raise settings.refused("model_type", f"one of {', '.join(known)} is wanted")
    return found


def _class(settings: Settings) -> object:
    """The class of transformers that a folder names first; None where it names none."""
    classes = settings.values.get("architectures")
    return (classes[0] if isinstance(classes, list) else classes) if classes else None


def _check_common(settings: Settings, family: Family) -> None:
    """What would make another function of any model: code of its own, weights in another form, heads cut out."""
    settings.must("auto_map", {})
    settings.must("quantization_config")
    settings.must("pruned_heads", {})
    name = _class(settings)
    if name is not None and name not in family.classes:
        raise settings.refused("architectures", f"known are {', '.join(family.classes)}")
