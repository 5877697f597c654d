"""`mlxdecoder evaluate`: what a model, or a file of translations, is worth on a test set."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mlxdecoder.commands import evaluate_recall
from mlxdecoder.commands.common import Subparsers, add_command, add_json, add_model, print_json
from mlxdecoder.commands.corpus_options import add_choice_options, corpus_files
from mlxdecoder.commands.corpus_rows import cleaned, open_chosen
from mlxdecoder.commands.evaluate_report import as_dict, as_text, warn_of_foreign
from mlxdecoder.errors import UserError
from mlxdecoder.evaluate import Evaluation, evaluate
from mlxdecoder.files import check_writable, write_text
from mlxdecoder.text.corpus import clean
from mlxdecoder.text.metrics import TOKENIZERS
from mlxdecoder.text.readers import read_lines
from mlxdecoder.text.scores import Scorer, Scores
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import PACKAGED, SearchOptions, load

BEAM = 5
OF_BEAM = ("beam", "length_penalty")
OF_SEARCHES = ("max_tokens", "batch_size")
OF_MODELS = ("model", "search", *OF_BEAM, *OF_SEARCHES, "out")


@dataclass(frozen=True)
class TestSet:
    """All rows of a file in their order, cleaned as training does it, and where they are from."""

    pairs: list[tuple[str, str]]
    name: str

    @property
    def sources(self) -> list[str]:
        return [source for source, _ in self.pairs]

    @property
    def references(self) -> list[str]:
        return [wanted for _, wanted in self.pairs]

    def describe(self) -> str:
        blank = sum(not (source and wanted) for source, wanted in self.pairs)
        lacking = f", {blank:,} of them with a blank side" if blank else ""
        return f"{len(self.pairs):,} pairs of {self.name}{lacking}"


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "evaluate",
        run,
        "Translate a test set, greedily and by beam, and score it: BLEU, chrF, exact match, length, perplexity, speed.",
        "mlxdecoder evaluate --model my-translator --corpus test.en.gz test.de.gz",
    )
    add_model(parser)
    files = corpus_files()
    parser.add_argument("--corpus", **files | {"help": f"the test set: {files['help']} (default: the toy's held-out)"})
    add_choice_options(parser, limit_of="rows")
    _add_searches(parser.add_argument_group("searches"))
    scores = parser.add_argument_group("scores")
    scores.add_argument(
        "--tokenize", choices=TOKENIZERS, help="sacreBLEU's tokenizer (default: that for the script of the references)"
    )
    scores.add_argument("--lowercase", action="store_true", help="add BLEU in lower case")
    scores.add_argument("--moses", metavar="LANGUAGE", help="add BLEU as older papers compute it, of text in, say, de")
    scores.add_argument("--hypotheses", nargs="+", metavar="FILE", help="score these translations, without a model")
    add_json(parser)
    others = parser.add_subparsers(metavar="recall", help="instead: how far back a language model finds a fact")
    evaluate_recall.add_parser(others)


def _add_searches(group: Any) -> None:
    group.add_argument("--search", choices=("greedy", "beam"), help="one of them only (default: both)")
    group.add_argument("--beam", type=int, metavar="N", help=f"hypotheses to keep (default: {BEAM})")
    group.add_argument("--length-penalty", type=float, metavar="X", help="power of the length in a beam's score")
    group.add_argument(
        "--max-tokens", type=int, metavar="N", help="limit a sentence (default: twice its source and 16)"
    )
    group.add_argument("--batch-size", type=int, metavar="N", help="sentences at once (default: 32)")
    written = "write the translations, a line each (of both: the beam's); a file that is there is replaced"
    group.add_argument("--out", metavar="FILE", help=written)


def run(options: argparse.Namespace) -> None:
    if options.hypotheses:
        _score_files(options)
    else:
        _score_model(options)


def _score_model(options: argparse.Namespace) -> None:
    _check_out(options)
    searches, checkpoint, test = _searches(options), load(options.model), _read(options)
    found = _evaluate(options, checkpoint, test, searches)
    last, outcome = list(found.outcomes.items())[-1]
    warn_of_foreign(outcome.translations)
    model = str(checkpoint.path) if options.model else PACKAGED
    _tell(options, test, {name: one.scores for name, one in found.outcomes.items()}, model, found)
    if options.out:
        write_text(options.out, "".join(f"{one.text}\n" for one in outcome.translations))
        if not options.json:
            print(f"\nWrote the translations of {last} to {options.out}")


def _evaluate(
    options: argparse.Namespace, checkpoint: Checkpoint, test: TestSet, searches: Mapping[str, SearchOptions]
) -> Evaluation:
    total = len(searches) * sum(map(bool, test.sources))
    with tqdm(total=total, unit=" sentences", disable=None, leave=False) as bar:
        return evaluate(
            checkpoint,
            test.sources,
            test.references,
            searches,
            lowercase=options.lowercase,
            moses=options.moses,
            tokenize=options.tokenize,
            progress=bar.update,
        )


def _score_files(options: argparse.Namespace) -> None:
    _refuse(options, OF_MODELS, "is for a model; with --hypotheses there is none")
    if options.corpus is None:
        raise UserError("--hypotheses: there is nothing to compare with; give the test set with --corpus.")
    test = _read(options)
    how = {"lowercase": options.lowercase, "moses": options.moses, "tokenize": options.tokenize}
    scorer = Scorer(test.references, **how)
    _tell(options, test, scorer.score({name: _lines(name, len(test.pairs)) for name in options.hypotheses}))


def _tell(
    options: argparse.Namespace,
    test: TestSet,
    scores: Mapping[str, Scores],
    model: str | None = None,
    found: Evaluation | None = None,
) -> None:
    if options.json:
        print_json({"model": model, "test_set": test.name, "pairs": len(test.pairs), **as_dict(scores, found)})
    else:
        title = f"Model: {model}\n" if model else ""
        print(f"{title}Test set: {test.describe()}\n\n{as_text(scores, found)}")


def _searches(options: argparse.Namespace) -> dict[str, SearchOptions]:
    if options.search == "greedy":
        _refuse(options, OF_BEAM, "is for the beam; leave it out with --search greedy")
    shared = _given(options, OF_SEARCHES)
    searches = {"greedy": SearchOptions(**shared)} if options.search != "beam" else {}
    if options.search != "greedy":
        beam = SearchOptions(**{"beam": BEAM, **_given(options, OF_BEAM), **shared})
        searches[f"beam {beam.beam}"] = beam
    return searches


def _read(options: argparse.Namespace) -> TestSet:
    if options.corpus is None:
        _refuse(options, ("columns", "languages", "header"), "is for a corpus; leave it out with the toy grammar")
        toy = [(pair.source, pair.target) for pair in make_splits().validation[: options.limit]]
        return TestSet(toy, "the toy grammar, held out from training")
    with open_chosen(options) as rows:
        pairs = list(cleaned(rows, options.limit))
    if not any(source and wanted for source, wanted in pairs):
        raise UserError(f"{rows.name}: no sentence with its translation in {len(pairs)} rows; a test set is wanted.")
    return TestSet(pairs, f"{rows.name} ({rows.format.describe()})")


def _lines(path: str, count: int) -> list[str]:
    lines = [clean(line) for line in read_lines(path)]
    if len(lines) != count:
        raise UserError(f"{path}: {len(lines)} lines found for {count} references; one for each is wanted.")
    return lines


def _check_out(options: argparse.Namespace) -> None:
    """Whether the translations can be written, and would not replace what is read: better now than after the work."""
    if options.out is None:
        return
    out = Path(options.out)
    for name in options.corpus or ():
        if out.exists() and Path(name).exists() and out.samefile(name):
            raise UserError(f"--out {out}: is the same file as {name}, which is read; choose another one.")
    check_writable(out)


def _given(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _refuse(options: argparse.Namespace, names: Sequence[str], why: str) -> None:
    for name in _given(options, names):
        raise UserError(f"--{name.replace('_', '-')}: {why}.")
