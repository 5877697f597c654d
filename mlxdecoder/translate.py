"""Text in, text out: sentences through a checkpoint's tokenizer, model and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from mlxdecoder.beam import beam_search
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.generate import Generation, generate
from mlxdecoder.ids import in_batches
from mlxdecoder.models import Translator
from mlxdecoder.prepared import prepare
from mlxdecoder.pretrained.folder import is_pretrained
from mlxdecoder.pretrained.loading import load_pretrained
from mlxdecoder.sampling import Sampler, make_sampler
from mlxdecoder.training.checkpoint import Checkpoint, check_checkpoint, load_checkpoint

PACKAGED = "the packaged toy model"
LONGEST = 512  # pieces of a sentence; attention takes memory for their square
OTHERS = {
    "language_model": ("a language model", "mlxdecoder generate, attend, mistakes compare, evaluate recall or app"),
    "encoder": ("an encoder", "mlxdecoder attend, shapes or app"),
}


@dataclass(frozen=True)
class SearchOptions:
    """How translations are searched: greedy by default; by `beam`, or by drawing at a `temperature` above 0."""

    beam: int = 1
    n_best: int = 1
    length_penalty: float = 1.0
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None
    max_tokens: int | None = None
    block_ngrams: int = 0
    batch_size: int = 32

    def __post_init__(self) -> None:
        drawing = {"top_k": self.top_k, "top_p": self.top_p < 1, "min_p": self.min_p, "seed": self.seed is not None}
        useless = [name for name, given in drawing.items() if given and self.temperature == 0]
        if useless:
            raise UserError(f"{useless[0]}: only used when tokens are drawn; give a temperature above 0 too.")
        if self.temperature > 0 and self.beam > 1:
            raise UserError(f"beam = {self.beam}: a beam of 1 is wanted with a temperature above 0.")
        if self.beam < 1:
            raise UserError(f"beam = {self.beam}: at least 1 is wanted.")
        if self.n_best > self.beam:
            raise UserError(f"n_best = {self.n_best}: a beam of at least as many is wanted, beam = {self.beam} found.")
        _ = self.sampler  # which checks its values
        if self.batch_size < 1:
            raise UserError(f"batch_size = {self.batch_size}: at least 1 is wanted.")

    @cached_property
    def sampler(self) -> Sampler:
        """One for all batches, or each of them would draw the same."""
        return make_sampler(self.temperature, top_p=self.top_p, min_p=self.min_p, top_k=self.top_k, seed=self.seed)


@dataclass(frozen=True)
class Translation:
    """One sentence and what became of it, a line of text.

    `finish_reason` is "stop"; "length" where it was stopped at the limit of tokens; "too long" where the source has
    more pieces than `longest` and was not read. `unknown` are the characters of it that the model has never seen.
    """

    source: str
    text: str
    score: float = 0.0
    finish_reason: str = "stop"
    unknown: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)


def load(path: Path | str | None = None) -> Checkpoint:
    """Load a checkpoint, the best one of a training run, or a Hugging Face folder on this machine.

    Without a path, it is the small trained model that is packaged. Raises `UserError` that names what cannot be used.
    """
    if path is not None:
        return load_pretrained(path) if is_pretrained(Path(path)) else load_checkpoint(path)
    packaged = Path(str(files("mlxdecoder.assets") / "model"))
    if not packaged.is_dir():
        raise UserError(f"{packaged}: {PACKAGED} is missing; install mlxdecoder again, or name a model.")
    return load_checkpoint(packaged)


def translate(checkpoint: Checkpoint, sentences: Sequence[str], **options: Any) -> list[str]:
    """Translate sentences, in their order, to one line each, a blank one for what is blank or has over 512 pieces.

    `options` are the fields of `SearchOptions`.
    """
    return [translation.text for translation in translate_all(checkpoint, sentences, SearchOptions(**options))]


def translate_all(
    checkpoint: Checkpoint,
    sentences: Sequence[str],
    how: SearchOptions = SearchOptions(),
    progress: Callable[[int], None] | None = None,
) -> list[Translation]:
    """Translate in batches of like length, and tell all. Raises `UserError` for a model of another kind.

    `progress` is told how many sentences each batch has done; blank and too long ones are in none.
    """
    if isinstance(sentences, str):
        raise UserError("sentences: one string found, a list is wanted; put the sentence in brackets.")
    check_checkpoint(checkpoint)
    model = as_translator(checkpoint)
    ids = [checkpoint.tokenizer.encode(sentence) for sentence in sentences]
    full = [i for i, row in enumerate(ids) if 0 < len(row) <= longest(model.config)]
    ready = prepare(model, min(how.batch_size, len(full)) * how.beam)
    found = in_batches([ids[i] for i in full], lambda batch: _search(ready, batch, how), how.batch_size, progress)
    made = {i: hypotheses for i, hypotheses in zip(full, found, strict=True)}
    return [
        _translation(checkpoint, sentence, made[i]) if i in made else _unread(sentence, ids[i])
        for i, sentence in enumerate(sentences)
    ]


def longest(config: ModelConfig, marks: int = 0) -> int:
    """The most pieces of a sentence that is read, beside `marks`: 512, or as many as positions were learned for."""
    return min(LONGEST, config.max_length - marks) if config.positions == "learned" else LONGEST


def one_line(text: str) -> str:
    """A text without line ends of any kind: a model can write the byte or the character of one."""
    return " ".join(text.splitlines()).strip()


def as_translator(checkpoint: Checkpoint) -> Translator:
    """The model of a checkpoint; raises `UserError`, which says what another model is good for, when it is none."""
    if not isinstance(checkpoint.model, Translator):
        found, instead = OTHERS[checkpoint.model.config.architecture]
        raise UserError(f"{checkpoint.path}: holds {found}; a translator is wanted. For {found}: {instead}.")
    return checkpoint.model


def _search(model: Translator, batch: Sequence[Sequence[int]], how: SearchOptions) -> list[list[Generation]]:
    limits: dict[str, Any] = {"max_tokens": how.max_tokens, "block_ngrams": how.block_ngrams}
    if how.beam != 1 or how.n_best != 1:
        return beam_search(model, batch, beam=how.beam, n_best=how.n_best, length_penalty=how.length_penalty, **limits)
    return [[one] for one in generate(model, batch, sampler=how.sampler, **limits)]


def _translation(checkpoint: Checkpoint, source: str, made: list[Generation]) -> Translation:
    texts = [one_line(checkpoint.tokenizer.decode(one.tokens)) for one in made]
    unknown = checkpoint.tokenizer.unknown_characters(source)
    return Translation(source, texts[0], made[0].score, made[0].finish_reason, unknown, texts[1:])


def _unread(source: str, ids: list[int]) -> Translation:
    return Translation(source, "", finish_reason="too long" if ids else "stop")
