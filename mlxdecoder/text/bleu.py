"""BLEU as papers report it: of detokenised text, by sacreBLEU, with the signature that says how."""

from __future__ import annotations

from collections.abc import Sequence

from mlxdecoder.errors import UserError


def bleu(translations: Sequence[str], references: Sequence[str]) -> tuple[float, str]:
    """The corpus BLEU of detokenised translations, from 0 to 100, and sacreBLEU's signature, Post 2018.

    Raises `UserError` without sacreBLEU (the extra `eval`), and when there is not one reference for each translation.
    """
    try:
        from sacrebleu.metrics import BLEU
    except ImportError:
        raise UserError("BLEU needs sacreBLEU, which is not installed: pip install 'mlxdecoder[eval]'") from None
    if len(translations) != len(references) or not translations:
        raise UserError(
            f"references: {len(references)} found for {len(translations)} translations; one for each is wanted."
        )
    metric = BLEU()
    score = metric.corpus_score(list(translations), [list(references)]).score
    return score, str(metric.get_signature())
