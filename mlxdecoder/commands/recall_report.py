"""What `mlxdecoder evaluate recall` prints: the curves of one model, or the toys beside one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlxdecoder.commands.common import table
from mlxdecoder.recall import Recall
from mlxdecoder.recall.curve import THRESHOLD

ASKED = {
    "associative": "pairs of a key and a value, then one of the keys again; its value is to follow",
    "copy": "a mark, words, the mark again, then the same words; after each of them the next is to follow",
    "needle": "a mark and a word among many other words, and at the end the mark again; the word is to follow",
}
SCALED = (
    "rotary, linear, ntk, dynamic or yarn: the rotary toy, after its training stretched by that rule to four times as\n"
    "many tokens; cached: read token by token, as in generation."
)


def recall_text(found: Recall) -> str:
    """A table of accuracies for each task: rows are lengths, columns are distances."""
    parts = [
        f"configured for {found.configured:,} tokens, effective {found.effective_length():,}.\n"
        f"{_meaning(found.threshold)}"
    ]
    parts += [
        f"{task}: effective {found.effective_length(task):,}\nAsked: {ASKED[task]}.\n\n{_curves(found, task)}"
        for task in found.tasks
    ]
    parts += [f"{length:,} tokens were refused: {why}" for length, why in found.refused.items()]
    return "\n\n".join(parts)


def toys_text(toys: Mapping[str, Recall], record: Mapping[str, Any]) -> str:
    """A row for each scheme: the effective length, and how it fares in rows of each length."""
    lengths = sorted({length for found in toys.values() for length in found.lengths})
    header = ["positions", "configured", "effective", *map(str, lengths)]
    rows = [
        [name, str(found.configured), str(found.effective_length()), *(_worst(found, length) for length in lengths)]
        for name, found in toys.items()
    ]
    tasks = {task: None for found in toys.values() for task in found.tasks}
    parts = [
        f"Toys trained on rows of up to {record['trained_length']} tokens, seed {record['seed']}."
        "\nBelow each length: the accuracy in rows of so many tokens, where it is least of all tasks and distances."
        f"\n{_meaning(max((found.threshold for found in toys.values()), default=THRESHOLD))}",
        table(header, rows),
        "\n".join([*_little_learnt(toys, record), *([SCALED] if any("," in name for name in toys) else [])]),
        "\n".join(f"{task}: {ASKED[task]}." for task in tasks),
    ]
    return "\n\n".join(filter(None, parts))


def _meaning(threshold: float) -> str:
    return (
        f"Effective: at least {threshold:.0%} is right at every distance, in rows of so many tokens and of fewer; "
        "0: at none of these lengths."
    )


def _little_learnt(toys: Mapping[str, Recall], record: Mapping[str, Any]) -> Iterator[str]:
    """Of toys that fall short already in rows of the length that they were trained on: that it is their training."""
    for name, found in toys.items():
        worst, trained = found.worst(record["trained_length"]), "loss" in record["schemes"][name]
        if trained and worst < found.threshold:
            yield f"{name}: {worst:.0%} at the trained length is what it has learnt in {record['steps']:,} steps."


def _curves(found: Recall, task: str) -> str:
    cells = {(cell.length, cell.distance): cell.accuracy for cell in found.cells if cell.task == task}
    lengths, distances = (sorted({key[i] for key in cells}) for i in (0, 1))
    rows = [[f"{n:,}", *(f"{cells[n, d]:.0%}" if (n, d) in cells else "" for d in distances)] for n in lengths]
    return table(["length, by distance", *map(str, distances)], rows)


def _worst(found: Recall, length: int) -> str:
    return "refused" if length in found.refused else f"{found.worst(length):.0%}"
