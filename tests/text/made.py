"""Small tokenizers as models from elsewhere have them."""

from __future__ import annotations

import io
import json

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from mlxdecoder.text.foreign import MarianTokenizer

LINES = ["The cat sleeps on the old wall.", "the dog runs, and a bird sings", "Un élève chante à l’école."] * 4


def json_of(tokenizer: Tokenizer) -> dict[str, bytes]:
    return {"tokenizer.json": tokenizer.to_str().encode()}


def byte_level() -> Tokenizer:
    """Like GPT-2's, with a mark in front as Llama 3 has it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="<|end|> $A", special_tokens=[("<|end|>", 0)])
    return tokenizer


def word_pieces() -> Tokenizer:
    """Like BERT's."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(
        LINES, trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def unigram() -> Tokenizer:
    """Like T5's."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=80, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def sentence_pieces() -> bytes:
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    return model.getvalue()


def marian_files(model: bytes) -> dict[str, bytes]:
    """The three files of an opus-mt translator, one SentencePiece model for both sides."""
    processor = SentencePieceProcessor.from_proto(model)
    special = {processor.unk_id(), processor.bos_id(), processor.eos_id(), processor.pad_id()}
    pieces = [processor.id_to_piece(i) for i in range(processor.get_piece_size()) if i not in special]
    names = ["</s>", "<unk>", *pieces, ">>fr<<", "<pad>"]
    vocabulary = {piece: number for number, piece in enumerate(names)}
    return {"source.spm": model, "target.spm": model, "vocab.json": json.dumps(vocabulary).encode()}


def marian_tokenizer() -> MarianTokenizer:
    return MarianTokenizer(marian_files(sentence_pieces()))
