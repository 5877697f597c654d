"""Contracts of attention: black-box checks with proofs, for our models and for anybody's code.

>>> from mlxdecoder import contracts
>>> print(contracts.check(my_attention, "attention"))   # f(q, k, v, mask)
>>> print(contracts.diagnose(my_decoder, "decoder"))    # f(tokens, cache=None): and which mistake it looks like
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

from mlxdecoder.contracts.diagnosis import Diagnosis, Suspect, suspects_of
from mlxdecoder.contracts.finding import Finding, Report
from mlxdecoder.contracts.on_attention import attention_findings
from mlxdecoder.contracts.on_batches import batches_findings
from mlxdecoder.contracts.on_decoder import decoder_findings
from mlxdecoder.contracts.on_translator import translator_findings
from mlxdecoder.contracts.ours import OurModel, reports_of
from mlxdecoder.errors import UserError
from mlxdecoder.models import Encoder, LanguageModel
from mlxdecoder.models import Translator as OurTranslator

Kind = Literal["attention", "decoder", "translator", "batches"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ENTRIES: dict[str, Callable[..., Report]] = {
    "attention": attention_findings,
    "decoder": decoder_findings,
    "translator": translator_findings,
    "batches": batches_findings,
}

__all__ = ["KINDS", "Diagnosis", "Finding", "Kind", "Report", "Suspect", "check", "check_model", "diagnose"]


def check(f: Callable[..., Any], kind: Kind, **options: Any) -> Report:
    """Try f against every contract of its kind.

    "attention": f(q, k, v, mask); "decoder": f(tokens, cache=None) gives logits; "translator": f(source, target) gives
    logits; "batches": f(sentences) gives inputs, labels, weights. Arrays may be MLX's, NumPy's or PyTorch's. For the
    options see `attention_findings`, `decoder_findings`, `translator_findings` and `batches_findings` in the modules
    `on_...` beside this one. Raises `UserError` when f cannot be called so.
    """
    if kind not in ENTRIES:
        raise UserError(f"kind = {kind!r}: one of {', '.join(KINDS)} is wanted.")
    if not callable(f):
        raise UserError(f"f: {type(f).__name__} found, a function is wanted.")
    return ENTRIES[kind](f, **options)


def check_model(model: OurModel, **options: Any) -> tuple[Report, ...]:
    """Try one of our models, with the recipe that it has, as attention, as a whole, and as a maker of batches.

    `options` are `seed` and `tolerance`.
    """
    return tuple(reports_of(model, **options))


def diagnose(f: Callable[..., Any] | OurModel, kind: Kind | None = None, **options: Any) -> Diagnosis:
    """Try f, or one of our models, and name the mistakes of the catalogue that its failures look like.

    `kind` and `options` as in `check`; for a model of ours, `kind` is not wanted.
    """
    if isinstance(f, Encoder | LanguageModel | OurTranslator) and kind is None:
        reports = check_model(f, **options)
    elif kind is None:
        raise UserError(f"kind: missing; say what f is: {', '.join(KINDS)}.")
    else:
        reports = (check(f, kind, **options),)
    return Diagnosis(reports, suspects_of(reports))
