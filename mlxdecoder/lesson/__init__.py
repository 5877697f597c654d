"""The lesson on the decoder block: its names, and its worked examples recomputed beside PyTorch's figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from mlxdecoder.errors import UserError
from mlxdecoder.lesson import averaging, contracts, tables
from mlxdecoder.lesson.pytorch import load_pytorch, pytorch_figures
from mlxdecoder.lesson.report import LessonReport
from mlxdecoder.lesson.translator import DecoderBlock, TinyTranslator, autoregressive_decode
from mlxdecoder.masks import build_causal_mask

__all__ = [
    "DecoderBlock",
    "LessonReport",
    "Part",
    "TinyTranslator",
    "autoregressive_decode",
    "build_causal_mask",
    "load_pytorch",
    "pytorch_figures",
    "run",
]

Part = Literal["tables", "averaging", "contracts"]
PARTS: dict[str, Callable[[], LessonReport]] = {
    "tables": lambda: tables.report() + contracts.report(),
    "averaging": averaging.report,
    "contracts": contracts.report,
}


def run(part: Part = "tables") -> LessonReport:
    """Work through a part of the lesson; "tables" ends with the contracts. Raises `UserError` for an unknown part."""
    if part not in PARTS:
        raise UserError(f"part = {part!r}: one of {', '.join(PARTS)} is wanted.")
    return PARTS[part]()
