"""An entry of the catalogue in words and measured figures, for people and for programs."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.maps import KINDS, TOLERANCE
from mlxdecoder.mistakes.entry import Mistake
from mlxdecoder.mistakes.experiments import measured

WIDTH = 100
SHOWN = {
    "padding": "the sentence is padded",
    "packing": "another sentence is packed in front of it",
    "company": "another sentence is in the batch",
    "earlier sentence": "another sentence was translated before",
    "dropout": "the model has dropout",
    "shared heads": "the model shares key and value heads (n_kv_heads below n_heads)",
}
NO_SOURCE = (
    "not applicable: a language model has neither a source nor cross-attention, so nothing of it can show; it "
    "needs a translator."
)
LEGEND = (
    "  (told the prefix: next tokens that are right when all before them are given; exact match: sentences that are",
    "  translated exactly, each alone; padded: the same, filled up to 16 tokens; the loss is in nats a token)",
)


@dataclass(frozen=True)
class Figures:
    """Exact match as "correct -> mistaken": for twins, for the mistake switched on after training, and for that on
    sentences that are padded; "" where there is none."""

    trained: str
    switched: str
    padded: str


def figures_of(mistake: Mistake) -> Figures:
    """The measured exact match of an entry."""
    entry = entry_of(mistake)
    right, wrong, switched = (entry[side] for side in ("correct", "mistaken", "switched_on_after_training"))
    trained = "" if mistake.generates_only else f"{_exact(right)} -> {_exact(wrong)}"
    alone = "" if mistake.trains_only else f"{_exact(right)} -> {_exact(switched)}"
    name = "exact_match_padded"
    padded = "" if mistake.trains_only else f"{_share(right[name])} -> {_share(switched[name])}"
    return Figures(trained, alone, padded)


def entry_of(mistake: Mistake) -> dict[str, Any]:
    """What was measured of an entry; raises `UserError` where the record does not have it."""
    record = measured()
    if mistake.id not in record["entries"]:
        raise UserError(f"{mistake.id}: not in the record of the experiments; run `{record['command']}`.")
    entry: dict[str, Any] = record["entries"][mistake.id]
    return entry


def entry_to_dict(mistake: Mistake) -> dict[str, Any]:
    """All that is known of an entry, with what was measured and how."""
    told = ("number", "id", "title", "stage", "right", "wrong", "heatmap", "curves", "generation", "harmless")
    record = measured()
    return {
        **{name: getattr(mistake, name) for name in told},
        "changes": list(mistake.changes),
        "contracts": list(mistake.contracts),
        "needs": list(mistake.needs),
        "sources": list(mistake.sources),
        "measured": entry_of(mistake),
        "measured_by": {name: record[name] for name in ("command", "preset", "steps", "seed")},
        "setting": dict(mistake.setting),
    }


def story(mistake: Mistake) -> str:
    """An entry as text, with its figures and where they come from."""
    parts = {
        "heatmap": mistake.heatmap,
        "curves": mistake.curves,
        "generation": mistake.generation,
        "shows when": ", and ".join(SHOWN[need] for need in mistake.needs),
        "found by": ", ".join(mistake.contracts),
        "changes": f"{', '.join(mistake.changes)} of the recipe",
        "sources": ", ".join(mistake.sources),
    }
    head = f"{mistake.number}  {mistake.title}  ({mistake.id}; {mistake.stage})"
    code = [f"  right       {mistake.right}", f"  wrong       {mistake.wrong}"]
    if mistake.harmless:
        head, code[1] = f"{head}: not a mistake", f"  no harm     {mistake.wrong}"
    lines = [head, "", *code, "", *(_paragraph(name, text) for name, text in parts.items() if text)]
    return "\n".join([*lines, "", *_measurements(mistake)])


def _paragraph(name: str, text: str) -> str:
    indent = " " * 14
    return textwrap.fill(text, WIDTH, initial_indent=f"  {name:<12}", subsequent_indent=indent, break_long_words=False)


def _measurements(mistake: Mistake) -> list[str]:
    record = measured()
    entry = entry_of(mistake)
    changed = {**mistake.setting.get("model", {}), **mistake.setting.get("training", {})}
    setting = "".join(f", {name} {value}" for name, value in changed.items())
    how = f"{record['command']}: toy preset, {record['steps']} steps, seed {record['seed']}{setting}"
    header = f"  {'':<22}{'loss @50':>9}{'@100':>8}{'@200':>8}{'end':>8}{'told the prefix':>17}{'exact match':>13}"
    header += f"{'padded':>8}"
    lines = [f"  Measured ({how}):", header]
    lines.append(_row("correct", entry["correct"]))
    if not mistake.generates_only:
        lines.append(_row("mistaken from step 1", entry["mistaken"]))
    if not mistake.trains_only:
        lines.append(_row("switched on afterwards", entry["switched_on_after_training"]))
    which = (
        "with the mistake switched on, written token by token" if mistake.generates_only else "trained with the mistake"
    )
    lines += [*LEGEND, "", f"  The heads {which}, for the sentence below (means over heads and rows):"]
    lines += _heatmap_lines(entry["heatmap"], written=mistake.generates_only)
    example = entry["example"]
    mistaken = "(nothing was learnt)" if entry["mistaken"]["broke"] else example["mistaken"] or "(nothing)"
    lines.append(f"  {example['source']} -> {example['correct']}")
    lines.append(f"  {'mistaken':<{len(example['source'])}} -> {textwrap.shorten(mistaken, 80)}")
    return lines


def _row(name: str, side: dict[str, Any]) -> str:
    if side.get("broke"):
        return f"  {name:<22}   {side['broke']}"
    losses = "".join(f"{_number(value):>8}" for value in side["loss"].values()) if "loss" in side else " " * 32
    told = _share(side["teacher_forced"]) if "teacher_forced" in side else ""
    exact, padded = _share(side["exact_match"]), _share(side["exact_match_padded"])
    return f"  {name:<22} {losses}{told:>17}{exact:>13}{padded:>8}"


def _heatmap_lines(heatmap: dict[str, Any], written: bool) -> list[str]:
    """What the heads of the mistaken model show, where it is not what every right model shows."""
    lines = []
    for kind, found in heatmap["mistaken_written" if written else "mistaken"].items():
        seen = []
        if found["not_finite"]:
            seen.append(f"{found['not_finite']} weights not finite")
        elif abs(found["least_sum"] - 1) > TOLERANCE or abs(found["largest_sum"] - 1) > TOLERANCE:
            seen.append(f"row sums {found['least_sum']:.2f} to {found['largest_sum']:.2f}")
        if found["outside"] and found["outside"] > TOLERANCE:
            seen.append(f"{found['outside']:.0%} of the weight outside the intended mask")
        right = heatmap["correct"][kind]["entropy"]
        if found["entropy"] is not None:
            seen.append(f"entropy {found['entropy']:.2f} (correct {right:.2f})")
        lines.append(f"  {KINDS[kind]}: {', '.join(seen)}")
    return [*lines, ""]


def _exact(side: dict[str, Any]) -> str:
    if side.get("broke"):
        return "NaN"
    return _share(side["exact_match"])


def _share(value: float | None) -> str:
    return "NaN" if value is None else f"{value:.0%}"


def _number(value: float | None) -> str:
    return "NaN" if value is None else f"{value:.3f}"
