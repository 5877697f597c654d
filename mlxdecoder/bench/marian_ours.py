"""The MarianMT that transformers wrote, read as a model of ours, as a program that translates what it is asked to."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from mlxdecoder.beam import beam_search
from mlxdecoder.bench.peer import Ids, Translate, answer_all
from mlxdecoder.bench.translation import TOKENS
from mlxdecoder.generate import generate
from mlxdecoder.models import Translator
from mlxdecoder.prepared import prepare
from mlxdecoder.pretrained.loading import load_pretrained
from mlxdecoder.translate import as_translator


def with_ours(folder: Path) -> Translate:
    model = as_translator(load_pretrained(folder / "transformers"))

    @cache
    def prepared(rows: int) -> Translator:
        return prepare(model, rows)

    def translate(sources: Ids, beam: int) -> Ids:
        ready = prepared(beam * len(sources))
        if beam == 1:
            return [one.tokens for one in generate(ready, sources, max_tokens=TOKENS)]
        return [best[0].tokens for best in beam_search(ready, sources, beam=beam, max_tokens=TOKENS)]

    return translate


if __name__ == "__main__":
    answer_all(with_ours(Path(sys.argv[1])))
