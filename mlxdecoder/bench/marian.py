"""MarianMT with random weights, in transformers and in CTranslate2, as programs that translate what they are asked to.

`python -m mlxdecoder.bench.marian make SIZE FOLDER` writes it in both forms; `transformers FOLDER` and
`ctranslate2 FOLDER` answer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ctranslate2
import torch
import transformers
from ctranslate2.converters import Converter
from ctranslate2.converters.transformers import MarianMTLoader

from mlxdecoder.bench.peer import Ids, Translate, answer_all, cores
from mlxdecoder.bench.translation import END, SIZES, TOKENS, Size


def make(size: Size, folder: Path) -> None:
    """Write the model for transformers and, converted, for CTranslate2."""
    torch.manual_seed(0)
    model = transformers.MarianMTModel(configuration(size)).eval()
    with torch.no_grad():  # the end mark's logit is 0 then, as that of padding: never the best, so no row ends early
        model.model.shared.weight[[END, size.pad]] = 0
    model.save_pretrained(folder / "transformers")
    _Converted(model, size).convert(str(folder / "ctranslate2"))


def configuration(size: Size) -> transformers.MarianConfig:
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("ffn_dim", size.d_ff), ("attention_heads", size.n_heads))
    }
    return transformers.MarianConfig(
        vocab_size=size.vocab,
        d_model=size.d_model,
        encoder_layers=size.n_encoder_layers,
        decoder_layers=size.n_layers,
        activation_function="relu",
        scale_embedding=True,
        init_std=size.d_model**-0.5,
        pad_token_id=size.pad,
        decoder_start_token_id=size.pad,
        eos_token_id=END,
        forced_eos_token_id=None,
        **sides,
    )


class _Converted(Converter):
    """The conversion of CTranslate2 itself, with the ids as words in the place of a tokenizer."""

    eos_token = unk_token = str(END)

    def __init__(self, model: transformers.MarianMTModel, size: Size) -> None:
        self.model, self.size = model, size

    def _load(self) -> Any:
        return MarianMTLoader()(self.model, self)

    def get_vocab(self) -> dict[str, int]:
        """CTranslate2 leaves out a last word of this name: it starts from zeros without it."""
        return {**{str(i): i for i in range(self.size.pad)}, "<pad>": self.size.pad}


def with_transformers(folder: Path) -> Translate:
    torch.set_num_threads(cores())
    transformers.utils.logging.disable_progress_bar()
    model = transformers.MarianMTModel.from_pretrained(folder / "transformers").eval()

    def translate(sources: Ids, beam: int) -> Ids:
        ids = torch.tensor(sources)
        options = {"num_beams": beam, "max_new_tokens": TOKENS, "do_sample": False, "use_cache": True}
        with torch.inference_mode():
            made = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **options)
        targets: Ids = made[:, 1:].tolist()
        return targets

    return translate


def with_ctranslate2(folder: Path) -> Translate:
    threads = {"inter_threads": 1, "intra_threads": cores()}
    model = ctranslate2.Translator(str(folder / "ctranslate2"), compute_type="float32", **threads)

    def translate(sources: Ids, beam: int) -> Ids:
        words = [[str(token) for token in row] for row in sources]
        made = model.translate_batch(words, beam_size=beam, max_decoding_length=TOKENS)
        return [[int(word) for word in one.hypotheses[0]] for one in made]

    return translate


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "make":
        make(SIZES[arguments[0]], Path(arguments[1]))
    else:
        answer_all({"transformers": with_transformers, "ctranslate2": with_ctranslate2}[what](Path(arguments[0])))
