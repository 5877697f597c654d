"""`mlxdecoder align`: which words translate each other, by the attention of a model; as links, or as a score."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from tqdm import tqdm

from mlxdecoder.alignment import Aligner, Links, Place, read_pair, to_pharaoh
from mlxdecoder.alignment.sentences import SentencePair
from mlxdecoder.commands.align_score import Models, score_corpus, score_toy
from mlxdecoder.commands.common import Subparsers, add_command, add_json, add_model, print_json
from mlxdecoder.commands.corpus_options import add_choice_options, corpus_files
from mlxdecoder.commands.corpus_rows import cleaned, open_chosen
from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import clean
from mlxdecoder.text.readers import read_lines
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import LONGEST, load, translate

AT_ONCE = 1024
UNREAD = f"no links, for a side that is blank, or longer than {LONGEST} pieces or than the model can read"
UNSPACED = "words that no space divides, in writing without spaces, where each piece counts; --json names them"


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "align",
        run,
        "Find the words that translate each other, a line of links for each pair: 0-0 1-2 joins source and target "
        "words, counted from 0; words are what stands between spaces.",
        'echo "The black cat sleeps." | mlxdecoder align --json',
    )
    parser.add_argument("text", nargs="*", help="sentences to translate and align; without them and a corpus, stdin's")
    add_model(parser)
    parser.add_argument("--reverse", metavar="DIR", help="a model that translates back, to align by both")
    files = corpus_files()
    parser.add_argument("--corpus", **files | {"help": f"sentence pairs to align: {files['help']}"})
    add_choice_options(parser, limit_of="rows")
    parser.add_argument("--gold", metavar="FILE", help="score by links of the corpus that people made, a line a pair")
    parser.add_argument("--toy", action="store_true", help="score on held-out pairs of the toy grammar")
    place = parser.add_argument_group("where links are read (default: chosen, and said)")
    place.add_argument("--layer", type=int, metavar="N", help="a layer of the decoder, from 0")
    place.add_argument("--head", type=int, metavar="N", help="a head of it, from 0 (default: the mean of all)")
    place.add_argument("--shift", action="store_true", help="the row that has read a word, not the one that chooses it")
    add_json(parser, "print a JSON object a line: source, target, their words, links; or one with the scores")


def run(options: argparse.Namespace) -> None:
    _check(options)
    place = None if options.layer is None else Place(options.layer, options.head, options.shift)
    models = Models(load(options.model), load(options.reverse) if options.reverse else None, place)
    if options.toy:
        score_toy(models, options.json)
    elif options.gold:
        score_corpus(models, list(_texts(options, models.checkpoint)), options.gold, options.json)
    else:
        has_gold = options.model is options.reverse is place is None  # that of the toy grammar
        _align(_texts(options, models.checkpoint), models, has_gold, options.json)


def _check(options: argparse.Namespace) -> None:
    inputs = {"text": options.text, "--corpus": options.corpus, "--toy": options.toy}
    given = [name for name, value in inputs.items() if value]
    if len(given) > 1:
        raise UserError(f"{given[1]}: found beside {given[0]}; one of them is wanted.")
    if options.gold and not options.corpus:
        raise UserError("--gold: holds the links of a corpus; give the corpus with --corpus.")
    if options.layer is None and (options.head is not None or options.shift):
        raise UserError(f"--{'shift' if options.head is None else 'head'}: is of a layer; give --layer, too.")


def _texts(options: argparse.Namespace, checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    """Every pair of the corpus, blank ones too; without a corpus, each sentence with the model's translation."""
    if options.corpus:
        with open_chosen(options) as rows:
            yield from cleaned(rows, options.limit)
        return
    lines = islice(options.text or read_lines(sys.stdin.buffer), options.limit)
    while some := [clean(line) for line in islice(lines, AT_ONCE)]:
        yield from zip(some, map(clean, translate(checkpoint, some)), strict=True)


def _align(texts: Iterator[tuple[str, str]], models: Models, by_toy: bool, as_json: bool) -> None:
    aligner: Aligner | None = None
    counts = Counter[str]()
    with tqdm(unit=" pairs", disable=None, leave=False) as bar:
        while some := list(islice(texts, AT_ONCE)):
            pairs = [read_pair(models.tokenizer, source, target) for source, target in some]
            aligner = aligner or (models.toy_aligner() if by_toy else models.aligner(pairs))
            found = aligner.align(pairs, bar.update)
            bar.clear()
            _print(pairs, found, as_json)
            counts += _counted(pairs, found)
    _warn(counts)


def _print(pairs: Sequence[SentencePair], found: Sequence[Links | None], as_json: bool) -> None:
    for (source, target), links in zip(pairs, found, strict=True):
        if as_json:
            words = {"source_words": source.spelled(), "target_words": target.spelled()}
            print_json({"source": source.text, "target": target.text, **words, "links": sorted(links or ())})
        else:
            print(to_pharaoh(links or ()))


def _counted(pairs: Sequence[SentencePair], found: Sequence[Links | None]) -> Counter[str]:
    """What is to be said about the pairs, and of how many."""
    said = [UNREAD for links in found if links is None]
    said += [UNSPACED for pair in pairs if any(len(side.begins) != _spaced(side.text) for side in pair)]
    return Counter({"pairs": len(pairs), **Counter(said)})


def _spaced(text: str) -> int:
    """How many words the spaces of a text make."""
    return sum(map(bool, text.split(" ")))


def _warn(counts: Counter[str]) -> None:
    for said in (UNREAD, UNSPACED):
        if counts[said]:
            print(f"mlxdecoder: {counts[said]:,} of {counts['pairs']:,} pairs have {said}", file=sys.stderr)
