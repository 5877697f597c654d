"""What the command line of `mlxdecoder train` asks for: the text, and a preset with other sizes here and there."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from mlxdecoder.commands.corpus_options import as_typed, chosen, two_at_most
from mlxdecoder.commands.train_text import Origin
from mlxdecoder.errors import UserError
from mlxdecoder.training.presets import FOR_CORPUS, FOR_TOY, PRESETS, Preset

OF_THE_TEXT = ("corpus", "limit", "columns", "languages", "header", "validation")
CHANGEABLE = ("steps",)  # what a resumed run may be given anew


def origin_of(options: argparse.Namespace) -> Origin:
    """Where the pairs are to come from; UserError for what is said of a corpus where there is none."""
    if options.corpus is None:
        asked = as_typed(options) + (["--validation", *options.validation] if options.validation else [])
        if asked:
            raise UserError(f"{' '.join(asked)}: is for a corpus; leave it out with the toy grammar.")
        return Origin([], None)
    two_at_most(options.corpus)
    two_at_most(options.validation or ["none"], "--validation")
    corpus, validation = (
        [str(Path(name).absolute()) for name in names or ()] for names in (options.corpus, options.validation)
    )
    return Origin(corpus, options.limit, choice=chosen(options), validation=tuple(validation))


def presets_help() -> str:
    """What each preset is for, in words for `--help`."""
    purposes = " ".join(f"{name}: {preset.purpose}" for name, preset in PRESETS.items())
    return f"sizes that go together (default: {FOR_CORPUS} for a corpus, else {FOR_TOY}). {purposes}"


def preset_of(options: argparse.Namespace) -> Preset:
    """The preset, with what the command line says instead."""
    preset = PRESETS[options.preset or (FOR_TOY if options.corpus is None else FOR_CORPUS)]
    return Preset(
        preset.vocab_size if options.vocab_size is None else options.vocab_size,
        replace(preset.model, **_given(options, preset.model)),
        replace(preset.training, **_given(options, preset.training)),
    )


def _given(options: argparse.Namespace, kind: Any) -> dict[str, Any]:
    """What the command line gives of the fields of a dataclass."""
    values = {field.name: getattr(options, field.name, None) for field in fields(kind)}
    return {name: value for name, value in values.items() if value is not None}


def refuse_changes(options: argparse.Namespace) -> None:
    """UserError for what a resumed run cannot be given."""
    preset = PRESETS["toy"]
    names = [*_given(options, preset.model), *_given(options, preset.training)]
    others = ("toy", *OF_THE_TEXT, "preset", "vocab_size")
    names += [name for name in others if getattr(options, name) is not None]
    changed = [name for name in names if name not in CHANGEABLE]
    if changed:
        option = changed[0].replace("_", "-")
        raise UserError(f"--{option}: a resumed run goes on as it began, on the same text; leave it out.")
