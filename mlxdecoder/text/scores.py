"""How near translations come to their references, and how much of that may be chance.

BLEU and chrF are sacreBLEU's, of plain text, with the signature that says how they were computed (Post 2018,
https://aclanthology.org/W18-6319); BLEU's tokens suit the script of the references. Each has the 95 % interval of a
bootstrap over the sentences, and where several systems translated the same text, the p-value of the paired bootstrap
against the first one (Koehn 2004, https://aclanthology.org/W04-3250).

Older papers report another BLEU, which cannot be compared with that: of tokens of the Moses tokenizer in lower case,
without smoothing, as Moses' multi-bleu.perl and fairseq-generate --remove-bpe count it. So do Wu et al. 2021
(https://aclanthology.org/2021.acl-long.480) for Transformer-Tiny on Multi30k, 41.02: their model is trained and judged
on Multi30k's own files *.lc.norm.tok.*. Here, translations and references go the way of those files: lower case, then
normalised punctuation, then tokens. The German of test_2016_flickr becomes the 12,103 tokens that their log names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.text.metrics import moses_bleu, plain_bleu, sacrebleu

RESAMPLES = 1000
DRAWN = 4_000_000  # sentences in all resamples of one test, which are held in memory at once


@dataclass(frozen=True)
class Score:
    """A score from 0 to 100, half the width of its 95 % interval, and how it was computed.

    `p_value` says how probable such a difference from the first system would be if there were none; None for the first
    system itself. Of a single sentence, which cannot be resampled, margin and p-value are None.
    """

    value: float
    margin: float | None
    signature: str
    p_value: float | None = None


@dataclass(frozen=True)
class Scores:
    """What one system reached.

    `exact_match` is the share of references that were hit to the letter (blank ones do not count), `length_ratio` the
    tokens of the translations by those of the references, as BLEU counts them. The last two are there on demand: BLEU
    in lower case, and BLEU as in older papers.
    """

    bleu: Score
    chrf: Score
    exact_match: float
    length_ratio: float
    bleu_lowercase: Score | None = None
    bleu_moses: Score | None = None


def bleu(translations: Sequence[str], references: Sequence[str]) -> tuple[float, str]:
    """The corpus BLEU of plain text, from 0 to 100, and sacreBLEU's signature; tokens suit the references' script.

    Raises `UserError` without sacreBLEU (the extra `eval`), and when there is not one reference for each translation.
    """
    metric = plain_bleu(references)
    _check_counts(translations, references)
    score = metric.corpus_score(list(translations), [list(references)]).score
    return score, str(metric.get_signature())


class Scorer:
    """Scores systems against one set of references; what it lacks is said before anything is translated."""

    def __init__(
        self,
        references: Sequence[str],
        *,
        lowercase: bool = False,
        moses: str | None = None,
        tokenize: str | None = None,
    ) -> None:
        """`lowercase` adds BLEU in lower case; `moses`, the code of a language, adds BLEU as in older papers.

        `tokenize` names the tokenizer of sacreBLEU, by default the one for the script of the references. Raises
        `UserError` without sacreBLEU or sacremoses (the extra `eval`), for a language that Moses or a tokenizer that
        sacreBLEU does not know, and when no reference has text.
        """
        if not any(references):
            raise UserError(f"references: no text found in {len(references)}; sentences to compare with are wanted.")
        self.references = list(references)
        self._metrics: dict[str, Any] = {"bleu": plain_bleu(references, tokenize), "chrf": sacrebleu().CHRF()}
        if lowercase:
            self._metrics["bleu_lowercase"] = plain_bleu(references, tokenize, lowercase=True)
        if moses is not None:
            self._metrics["bleu_moses"] = moses_bleu(moses)

    def score(self, systems: Mapping[str, Sequence[str]]) -> dict[str, Scores]:
        """What each system reached, by its name; raises `UserError` for another number of translations."""
        for translations in systems.values():
            _check_counts(translations, self.references)
        made = [list(translations) for translations in systems.values()]
        columns = {name: self._compare(metric, made) for name, metric in self._metrics.items()}
        return {
            name: Scores(
                exact_match=self._exact_match(texts),
                length_ratio=self._length_ratio(texts),
                **{column: scores[place] for column, scores in columns.items()},
            )
            for place, (name, texts) in enumerate(zip(systems, made, strict=True))
        }

    def _compare(self, metric: Any, systems: Sequence[list[str]]) -> list[Score]:
        from sacrebleu.significance import PairedTest

        named = [(str(place), texts) for place, texts in enumerate(systems)]
        resamples = max(100, min(RESAMPLES, DRAWN // len(self.references)))
        signatures, found = PairedTest(named, {"": metric}, [self.references], "bs", resamples)()
        ((name, signature),) = signatures.items()
        first = found[name][0].score
        return [self._as_score(result, str(signature), first) for result in found[name]]

    def _as_score(self, result: Any, signature: str, first: float) -> Score:
        if len(self.references) == 1:
            return Score(float(result.score), None, signature)
        # Of systems that do not differ, the test says that they do.
        p_value = 1.0 if result.p_value is not None and result.score == first else result.p_value
        return Score(float(result.score), float(result.ci), signature, p_value)

    def _exact_match(self, translations: Sequence[str]) -> float:
        pairs = zip(translations, self.references, strict=True)
        return sum(made == wanted != "" for made, wanted in pairs) / sum(map(bool, self.references))

    def _length_ratio(self, translations: Sequence[str]) -> float:
        score = self._metrics["bleu"].corpus_score(translations, [self.references])
        return float(score.ratio)


def _check_counts(translations: Sequence[str], references: Sequence[str]) -> None:
    if len(translations) != len(references) or not translations:
        raise UserError(
            f"references: {len(references)} found for {len(translations)} translations; one for each is wanted."
        )
