"""`mlxdecoder translate`: sentences from the command line, a file or stdin, a line each."""

from __future__ import annotations

import argparse
import sys
from itertools import count

from tqdm import tqdm

from mlxdecoder.commands.asked import add_drawing, lines_of_stdin, search_options
from mlxdecoder.commands.common import Subparsers, add_command, add_json, add_model, print_json, warn_of_unknown
from mlxdecoder.translate import LONGEST, Translation, load, translate_all

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
    add_drawing(parser)
    parser.add_argument("--max-tokens", type=int, help="limit a sentence (default: twice its source and 16)")
    parser.add_argument("--block-ngrams", type=int, default=0, metavar="N", help="repeat no run of N tokens")
    parser.add_argument("--batch-size", type=int, default=32, help="sentences at once (default: 32)")
    add_json(parser, "print a JSON object a line: source, translation, score, finish_reason, alternatives")


def run(options: argparse.Namespace) -> None:
    how, checkpoint = search_options(options), load(options.model)
    chunks = iter([options.text]) if options.text else lines_of_stdin("a sentence")
    numbers = count(1)
    with tqdm(unit=" sentences", disable=sys.stdin.isatty() or None, leave=False) as bar:
        for chunk in chunks:
            translations = translate_all(checkpoint, chunk, how, bar.update)
            bar.clear()
            for translation, number in zip(translations, numbers, strict=False):
                _warn(translation, number)
                _print(translation, how.n_best, options.json)


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
