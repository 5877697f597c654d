"""What `mlxdecoder evaluate recall` prints: the curves of one model, or the toys beside one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlxdecoder.commands.common import table
from mlxdecoder.recall import Recall


def recall_text(found: Recall) -> str:
    """A table of accuracies for each task: rows are lengths, columns are distances."""
    parts = [
        f"configured for {found.configured:,} tokens, {_effective(found)}.\n"
        f"Effective: at least {found.threshold:.0%} is right at every distance, in rows of so many tokens and of fewer."
    ]
    parts += [f"{task}: {_effective(found, task)}\n\n{_curves(found, task)}" for task in found.tasks]
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
    return (
        f"Toys trained on rows of up to {record['trained_length']} tokens, seed {record['seed']}."
        "\nBelow each length: the accuracy in rows of so many tokens, where it is least of all tasks and distances.\n\n"
        f"{table(header, rows)}"
    )


def _effective(found: Recall, task: str | None = None) -> str:
    length = found.effective_length(task)
    return f"effective for {length:,}" if length else "effective for none of these lengths"


def _curves(found: Recall, task: str) -> str:
    cells = {(cell.length, cell.distance): cell.accuracy for cell in found.cells if cell.task == task}
    lengths, distances = (sorted({key[i] for key in cells}) for i in (0, 1))
    rows = [[f"{n:,}", *(f"{cells[n, d]:.0%}" if (n, d) in cells else "" for d in distances)] for n in lengths]
    return table(["length, by distance", *map(str, distances)], rows)


def _worst(found: Recall, length: int) -> str:
    return "refused" if length in found.refused else f"{found.worst(length):.0%}"
