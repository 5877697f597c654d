"""The learning of a vocabulary, by SentencePiece's own trainer in a thread, so that it can be stopped."""

from __future__ import annotations

import io
import re
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from sentencepiece import SentencePieceTrainer

from mlxdecoder.errors import UserError

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
LARGEST = 1_000_000  # SentencePiece runs for ever when asked for 10**9, and no model here wants so many


def learn_vocabulary(texts: Sequence[str], vocab_size: int, kind: str, report: Callable[[str], None]) -> bytes:
    """SentencePiece's model of texts whose characters are prepared; `report` is told, each second, what goes on."""
    if vocab_size > LARGEST:
        raise UserError(f"vocab_size: found {vocab_size:,}, wanted at most {LARGEST:,}")
    if not texts:
        raise UserError("lines: no text to train a tokenizer on, every line is blank; give a text with words in it")
    task = f"Training a vocabulary of {vocab_size:,} pieces on {len(texts):,} lines"
    report(task)
    return _in_background(lambda: _train(texts, vocab_size, kind), lambda seconds: report(f"{task}: {seconds:.0f} s"))


def _train(texts: Sequence[str], vocab_size: int, kind: str) -> bytes:
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            model_type=kind,
            vocab_size=max(vocab_size, END + 1),  # below it would not say how many are needed
            hard_vocab_limit=False,
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=BEGIN,
            eos_id=END,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            max_sentence_length=2**30,  # bytes, the largest it takes; longer lines would be dropped without a word
            num_threads=1,  # the result depends on this number
            minloglevel=2,
        )
    except (RuntimeError, ValueError) as error:
        raise _explained(error, vocab_size, kind) from error
    return model.getvalue()


def _explained(error: Exception, vocab_size: int, kind: str) -> UserError:
    found = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
    if found:
        return UserError(
            f"vocab_size: found {vocab_size}, wanted at least {found[1]}: 4 special ids, 256 bytes and the alphabet of "
            "this text; ask for more pieces or train on a text with fewer different characters"
        )
    return UserError(f"SentencePiece cannot train a {kind!r} vocabulary of {vocab_size}: {error}")


def _in_background(work: Callable[[], bytes], tick: Callable[[float], None]) -> bytes:
    """Run `work` in a thread and `tick` every second beside it, so that Ctrl-C and what `tick` raises end the wait."""
    result: Future[bytes] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    start = time.monotonic()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(1.0)
    while thread.is_alive():
        tick(time.monotonic() - start)
        thread.join(1.0)
    return result.result()
