"""`mlxdecoder mistakes compare`: one sentence, right and mistaken, in numbers and in a picture."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mlxdecoder.commands.common import (
    Subparsers,
    add_command,
    add_json,
    add_model,
    print_json,
    table,
    warn_of_unknown,
)
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.maps import KINDS
from mlxdecoder.mistakes import Mistake, find
from mlxdecoder.mistakes.describe import NO_SOURCE, SHOWN
from mlxdecoder.mistakes.effects import READ, WRITTEN, Effects, compare
from mlxdecoder.mistakes.experiments import BESIDE
from mlxdecoder.mistakes.view import HeadNumbers, View, change_of, head_numbers
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import load

SMALLEST_CHANGE = 0.0005  # of a weight, to be told
MOST = 6
ENDINGS = (".png", ".svg", ".pdf", ".html")


def add_parser(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "compare",
        run,
        "Show what mistakes do to one sentence, or to a prompt: weights, next-token probabilities, output; without "
        "training anew.",
        'mlxdecoder mistakes compare zeroed-after-softmax "The black cat sleeps." --out compared.png',
    )
    parser.add_argument("ids", metavar="ID", help="a mistake by id or number, or several with commas between them")
    parser.add_argument("text", help="the sentence, in quotes")
    add_model(parser)
    parser.add_argument(
        "--beside", metavar="TEXT", help="another sentence, for mistakes that need one: in the batch, the row or before"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"draw to a file that ends in {', '.join(ENDINGS)}")
    parser.add_argument("--kind", choices=tuple(KINDS), help="which attention to draw (default: the most changed head)")
    parser.add_argument("--layer", type=int, help="which layer to draw, with --kind (default: 0)")
    parser.add_argument("--head", type=int, help="which head to draw, with --kind (default: 0)")
    parser.add_argument("--all-heads", action="store_true", help=f"tell all heads, not the {MOST} most changed")
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    mistakes = [find(name.strip()) for name in options.ids.split(",") if name.strip()]
    if not mistakes:
        raise UserError("ID: none found; `mlxdecoder mistakes list` shows all.")
    if options.out and (options.out.suffix.lower() not in ENDINGS or options.out.is_dir()):
        raise UserError(f"--out {options.out}: a file that ends in {', '.join(ENDINGS)} is wanted.")
    _check_choice(options)
    checkpoint = load(options.model)
    beside = options.beside or (None if options.model else BESIDE)
    warn_of_unknown(checkpoint.tokenizer.unknown_characters(f"{options.text} {beside or ''}"))
    found = compare(checkpoint, [mistake.id for mistake in mistakes], options.text, beside)
    if options.json:
        notes = _notes(checkpoint.model.config, mistakes)
        print_json({"source": options.text, **_said(checkpoint, found), "notes": notes, **found.to_dict()})
    else:
        _print(checkpoint, mistakes, found, options.text, options.all_heads)
    if options.out:
        _draw(options, checkpoint, mistakes, found)
        if not options.json:
            print(f"\n{options.out}")


def _check_choice(options: argparse.Namespace) -> None:
    chosen = [name for name in ("kind", "layer", "head") if getattr(options, name) is not None]
    picture = options.out and options.out.suffix.lower() != ".html"
    if chosen and not picture:
        raise UserError(f"--{chosen[0]}: chooses what a picture shows; give --out with {', '.join(ENDINGS[:3])}.")
    if chosen and options.kind is None:
        raise UserError(f"--{chosen[0]}: needs --kind too: {', '.join(KINDS)}.")


def _said(checkpoint: Checkpoint, found: Effects) -> dict[str, str]:
    decode = checkpoint.tokenizer.decode
    return {"correct_text": decode(found.correct), "mistaken_text": decode(found.mistaken)}


def _print(checkpoint: Checkpoint, mistakes: Sequence[Mistake], found: Effects, text: str, all_heads: bool) -> None:
    for mistake in mistakes:
        print(f"{mistake.number}  {mistake.title}{' (not a mistake)' if mistake.harmless else ''}")
        print(f"   right  {mistake.right}\n   wrong  {mistake.wrong}")
    for note in _notes(checkpoint.model.config, mistakes):
        print(note)
    said = _said(checkpoint, found)
    print(f"\n{text}\n  correct   {said['correct_text']}\n  mistaken  {said['mistaken_text'] or '(nothing)'}")
    print(f"  {_where(checkpoint, found)}")
    most = None if all_heads else MOST
    tables = [_view_text(view, most) for view in (found.read, found.written)]
    print(f"\n{READ.capitalize()}:\n{tables[0]}")
    print(f"\n{WRITTEN.capitalize()}:\n{'The same.' if tables[1] == tables[0] else tables[1]}")


def _notes(config: ModelConfig, mistakes: Sequence[Mistake]) -> list[str]:
    concerned = [mistake for mistake in mistakes if mistake.concerns(config.architecture)]
    needs = dict.fromkeys(need for mistake in concerned for need in mistake.needs)
    notes = [f"For the mistake to show, {SHOWN[need]}." for need in needs if need not in ("dropout", "shared heads")]
    notes += [f"{mistake.id}: {NO_SOURCE}" for mistake in mistakes if mistake not in concerned]
    if "dropout" in needs and not max(config.dropout, config.attention_dropout):
        notes.append("This model has no dropout, so nothing can show; train one with it and give it as --model.")
    if "shared heads" in needs and config.kv_heads == config.n_heads:
        notes.append(
            "This model shares no key and value heads, so nothing can show; it needs n_kv_heads below n_heads."
        )
    if all(mistake.trains_only for mistake in mistakes):
        notes.append("It lives in what a model is told while training, so a trained one shows nothing of it:")
        notes.append(f"`mlxdecoder mistakes train {' '.join(mistake.id for mistake in mistakes)}` trains twins.")
    return notes


def _where(checkpoint: Checkpoint, found: Effects) -> str:
    step = found.first_difference
    if step is None:
        return "the same, token for token"
    pieces = [checkpoint.tokenizer.pieces(side[step : step + 1]) for side in (found.correct, found.mistaken)]
    right, wrong = (piece[0] if piece else "(the end)" for piece in pieces)
    return f"first difference at token {step + 1}: {right!r} became {wrong!r}"


def _view_text(view: View, most: int | None) -> str:
    """The heads that changed, most changed first, and how far the predictions are apart."""
    changes = {kind: change_of(view.correct[kind], view.mistaken[kind]) for kind in view.correct}
    pairs = list(zip(head_numbers(view.correct), head_numbers(view.mistaken), strict=True))
    found = [(float(changes[right.kind][right.layer, right.head]), right, wrong) for right, wrong in pairs]
    changed = sorted((one for one in found if one[0] >= SMALLEST_CHANGE), key=lambda one: -one[0])
    told = [f"{len(changed)} of {len(pairs)} heads changed."]
    if changed:
        header = ["attention", "layer.head", "row sums", "outside the mask", "entropy", "not finite", "largest change"]
        told.insert(0, table(header, [_row(*one) for one in changed[:most]]))
    if len(changed) > len(changed[:most]):
        told[-1] += f" These are the {most} most changed; --all-heads tells all."
    steps = " ".join("NaN" if np.isnan(value) else f"{value:.2f}" for value in view.divergence)
    return "\n".join([*told, f"Divergence of the next-token distribution after each token, in nats: {steps}"])


def _row(change: float, right: HeadNumbers, wrong: HeadNumbers) -> list[str]:
    sums = f"{wrong.least_sum:.2f} to {wrong.largest_sum:.2f}"
    entropy = f"{right.entropy:.2f} -> {wrong.entropy:.2f}"
    place, outside, broken = f"{right.layer}.{right.head}", f"{wrong.outside:.1%}", str(wrong.not_finite)
    return [KINDS[right.kind], place, sums, outside, entropy, broken, f"{change:.3f}"]


def _draw(options: argparse.Namespace, checkpoint: Checkpoint, mistakes: Sequence[Mistake], found: Effects) -> None:
    title = f"{' + '.join(mistake.title for mistake in mistakes)} · {options.text}"
    view = found.told
    if options.out.suffix.lower() == ".html":
        said = _said(checkpoint, found)
        note = f"Correct: {said['correct_text']} Mistaken: {said['mistaken_text'] or '(nothing)'} Shown: {found.how}."
        view.page(title, note).save(options.out)
        return
    from mlxdecoder.figures import comparison_figure, save_figure

    chosen = (options.kind, options.layer or 0, options.head or 0)
    kind, layer, head = chosen if options.kind else view.most_changed()
    figure = comparison_figure(view.correct[kind], view.mistaken[kind], layer=layer, head=head, title=title)
    save_figure(figure, options.out)
