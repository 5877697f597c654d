"""`mlxdecoder generate`: texts from the command line, a file or stdin, a line each, are gone on with."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, NamedTuple

import mlx.core as mx
from tqdm import tqdm

from mlxdecoder.beam import beam_search
from mlxdecoder.commands.asked import add_drawing, lines_of_stdin, search_options
from mlxdecoder.commands.common import (
    Subparsers,
    add_command,
    add_json,
    add_model,
    as_language_model,
    print_json,
    warn_of_unknown,
)
from mlxdecoder.decoding import PROMPT_ROOM
from mlxdecoder.errors import UserError
from mlxdecoder.generate import Generation, generate
from mlxdecoder.models import LanguageModel
from mlxdecoder.prepared import prepare
from mlxdecoder.quantized import BITS
from mlxdecoder.sampling import Sampler
from mlxdecoder.text.foreign.no_tokenizer import NoTokenizer
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import SearchOptions, load, one_line

UNFINISHED = "\ufffd"  # what decodes from the first bytes of a character
OF_CACHES = ("kv_bits", "max_kv_size")
GROUPS = (64, 32)  # numbers of a quantised cache that share a scale, as the head width allows


class Prompt(NamedTuple):
    """What a model is to go on from, as it was given and as ids."""

    text: str
    ids: list[int]


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "generate",
        run,
        "Go on with a text, given as an argument, or with each line of stdin, by a language model: one that was "
        "imported, or a folder such as GPT-2's or Llama's. Gives what follows, a line for each.",
        'mlxdecoder generate --model gpt2 "The black cat" --max-tokens 40',
    )
    parser.add_argument("text", nargs="*", help="texts to go on with; without any, lines are read from stdin")
    add_model(parser, required=True)
    parser.add_argument("--ids", nargs="+", type=int, metavar="ID", help="go on with these ids instead, in ids")
    parser.add_argument("--max-tokens", type=int, help=f"new tokens at most (default: {PROMPT_ROOM})")
    parser.add_argument("--beam", type=int, default=1, help="hypotheses to keep (default: 1, greedy)")
    add_drawing(parser)
    parser.add_argument("--block-ngrams", type=int, default=0, metavar="N", help="repeat no run of N tokens")
    parser.add_argument("--kv-bits", type=int, choices=BITS, help="keep the cache in so many bits a number")
    parser.add_argument("--max-kv-size", type=int, metavar="N", help="keep so many tokens in the cache (default: all)")
    add_json(parser, "print a JSON object a line: prompt, continuation, ids, score, finish_reason")


def run(options: argparse.Namespace) -> None:
    how = _search(options)
    checkpoint = load(options.model)
    model = prepare(as_language_model(checkpoint, "generate"), how.beam)
    tokenizer = checkpoint.tokenizer if options.ids is None else NoTokenizer()
    prompts = _prompts(options, checkpoint)
    for prompt in tqdm(prompts, unit=" texts", leave=False, disable=sys.stdout.isatty() or None):
        follower = Follower(tokenizer, how.sampler, model.config.end_ids)
        shown = sys.stdout.isatty() and not options.json
        made = _continue(model, prompt.ids, options, follower if shown else how.sampler)
        text = one_line(tokenizer.decode(made.tokens))
        if options.json:
            print_json(_as_dict(prompt, made, text))
        else:
            print(text.removeprefix(follower.text), flush=True)


class Follower:
    """A sampler that shows on the terminal what it chooses, but the first bytes of a character still to come."""

    def __init__(self, tokenizer: TextTokenizer, sampler: Sampler, ends: Collection[int]) -> None:
        self.text, self._tokens = "", list[int]()
        self._tokenizer, self._sampler, self._ends = tokenizer, sampler, ends

    def __call__(self, logprobs: mx.array) -> mx.array:
        chosen = self._sampler(logprobs)
        self._tokens += [token for token in chosen.tolist() if token not in self._ends]
        text = one_line(self._tokenizer.decode(self._tokens)).rstrip(UNFINISHED)
        if text.startswith(self.text):
            print(text.removeprefix(self.text), end="", flush=True)
            self.text = text
        return chosen


def _search(options: argparse.Namespace) -> SearchOptions:
    """The choices that `translate` has too, checked before a model is read."""
    if options.ids is not None and options.text:
        raise UserError(f"--ids: give ids or a text, not both; {options.text[0]!r} was found too.")
    if options.beam < 1:
        raise UserError(f"beam = {options.beam}: at least 1 is wanted.")
    bounded = next((name for name in OF_CACHES if getattr(options, name) is not None), None)
    if bounded and options.beam != 1:
        raise UserError(f"{bounded}: is for one hypothesis at a time; leave out --beam {options.beam}.")
    return search_options(options)


def _prompts(options: argparse.Namespace, checkpoint: Checkpoint) -> Iterator[Prompt]:
    if options.ids is not None:
        yield Prompt(" ".join(map(str, options.ids)), options.ids)
        return
    for text in options.text or chain.from_iterable(lines_of_stdin("a text")):
        warn_of_unknown(checkpoint.tokenizer.unknown_characters(text))
        yield Prompt(text, checkpoint.read(text))


def _continue(model: LanguageModel, ids: list[int], options: argparse.Namespace, sampler: Sampler) -> Generation:
    limits: dict[str, Any] = {"max_tokens": options.max_tokens, "block_ngrams": options.block_ngrams}
    if options.beam != 1:
        return beam_search(model, [ids], beam=options.beam, **limits)[0][0]
    bounds = {name: getattr(options, name) for name in OF_CACHES}
    groups = next((size for size in GROUPS if model.config.width_per_head % size == 0), GROUPS[0])
    return generate(model, [ids], sampler=sampler, kv_group_size=groups, **bounds, **limits)[0]


def _as_dict(prompt: Prompt, made: Generation, text: str) -> dict[str, object]:
    return {
        "prompt": prompt.text,
        "continuation": text,
        "ids": made.tokens,
        "score": round(made.score, 6) if math.isfinite(made.score) else None,
        "finish_reason": made.finish_reason,
    }
