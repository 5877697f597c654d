"""`mlxdecoder translate`: sentences from the command line, a file or stdin, a line each."""

from __future__ import annotations

import argparse
import queue
import sys
import threading
from collections.abc import Iterator
from itertools import count

from tqdm import tqdm

from mlxdecoder.commands.common import Subparsers, add_command, add_json, add_model, print_json, warn_of_unknown
from mlxdecoder.streams import own_stdin
from mlxdecoder.text.readers import read_lines
from mlxdecoder.translate import LONGEST, SearchOptions, Translation, load, translate_all

LINES_AT_ONCE = 1024
UNUSUAL = {
    "length": "stopped at the limit of tokens; --max-tokens raises it",
    "too long": f"not translated, for it has more pieces than {LONGEST}, or than the model can read; cut it up",
}


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "translate",
        run,
        "Translate sentences, from the arguments or stdin, one a line, to one line each, which stays blank for one of "
        f"more than {LONGEST} pieces. The packaged model knows 135 English words.",
        'echo "The black cat sleeps." | mlxdecoder translate --beam 4',
    )
    parser.add_argument("text", nargs="*", help="sentences; without any, lines are read from stdin")
    add_model(parser)
    parser.add_argument("--beam", type=int, default=1, help="hypotheses to keep (default: 1, greedy)")
    parser.add_argument("--n-best", type=int, default=1, help="translations to show of each sentence, up to --beam")
    parser.add_argument(
        "--length-penalty", type=float, default=1.0, help="power of the length in the score (default: 1)"
    )
    parser.add_argument("--temp", type=float, default=0.0, help="draw at this temperature instead (default: 0)")
    parser.add_argument("--top-k", type=int, default=0, help="draw from the k best tokens")
    parser.add_argument("--top-p", type=float, default=1.0, help="draw from the best tokens that hold this mass")
    parser.add_argument("--min-p", type=float, default=0.0, help="draw from tokens with this share of the best one's")
    parser.add_argument("--seed", type=int, help="makes the same draws again")
    parser.add_argument("--max-tokens", type=int, help="limit a sentence (default: twice its source and 16)")
    parser.add_argument("--block-ngrams", type=int, default=0, metavar="N", help="repeat no run of N tokens")
    parser.add_argument("--batch-size", type=int, default=32, help="sentences at once (default: 32)")
    add_json(parser, "print a JSON object a line: source, translation, score, finish_reason, alternatives")


def run(options: argparse.Namespace) -> None:
    how, checkpoint = _search(options), load(options.model)
    chunks = iter([options.text]) if options.text else lines_at_hand(_stdin())
    numbers = count(1)
    with tqdm(unit=" sentences", disable=sys.stdin.isatty() or None, leave=False) as bar:
        for chunk in chunks:
            translations = translate_all(checkpoint, chunk, how, bar.update)
            bar.clear()
            for translation, number in zip(translations, numbers, strict=False):
                _warn(translation, number)
                _print(translation, how.n_best, options.json)


def _search(options: argparse.Namespace) -> SearchOptions:
    return SearchOptions(
        beam=options.beam,
        n_best=options.n_best,
        length_penalty=options.length_penalty,
        temperature=options.temp,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
        seed=options.seed,
        max_tokens=options.max_tokens,
        block_ngrams=options.block_ngrams,
        batch_size=options.batch_size,
    )


def lines_at_hand(lines: Iterator[str]) -> Iterator[list[str]]:
    """As many lines as are there without waiting, but at least one: a file in a few pieces, a dialogue line by line."""
    waiting: queue.Queue[str | Exception | None] = queue.Queue(maxsize=LINES_AT_ONCE)
    threading.Thread(target=_read_into, args=(waiting, lines), daemon=True).start()
    last: str | Exception | None = ""
    while isinstance(last, str):
        items = [waiting.get()]
        while len(items) < LINES_AT_ONCE and not waiting.empty():
            items.append(waiting.get())
        if chunk := [item for item in items if isinstance(item, str)]:
            yield chunk
        last = items[-1]
    if last is not None:
        raise last


def _read_into(waiting: queue.Queue[str | Exception | None], lines: Iterator[str]) -> None:
    """Every line, and at the end None, or what went wrong."""
    try:
        for line in lines:
            waiting.put(line)
        waiting.put(None)
    except Exception as error:
        waiting.put(error)


def _stdin() -> Iterator[str]:
    if sys.stdin.isatty():
        print("Type a sentence and press return; Ctrl-D ends.", file=sys.stderr)
    return read_lines(own_stdin())


def _print(translation: Translation, n_best: int, as_json: bool) -> None:
    if as_json:
        print_json(_as_dict(translation))
    else:  # the same number of lines for each, whatever was found
        texts = [translation.text, *translation.alternatives, *[""] * n_best][:n_best]
        print("\n".join(texts), flush=True)


def _warn(translation: Translation, number: int) -> None:
    warn_of_unknown(translation.unknown)
    if said := UNUSUAL.get(translation.finish_reason):
        print(f"mlxdecoder: line {number}: {said}: {_short(translation.source)}", file=sys.stderr)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _as_dict(translation: Translation) -> dict[str, object]:
    return {
        "source": translation.source,
        "translation": translation.text,
        "score": round(translation.score, 6),
        "finish_reason": translation.finish_reason,
        "unknown": translation.unknown,
        "alternatives": translation.alternatives,
    }
