"""`mlxdecoder mistakes train`: twins on the toy task, one right and one mistaken, and what became of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mlxdecoder.commands.common import Subparsers, add_command, add_json, print_json, table
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text
from mlxdecoder.mistakes import CATALOGUE, Mistake, find
from mlxdecoder.mistakes.experiments import SEED, STEPS, experiment_preset, run_experiments, toy_text
from mlxdecoder.mistakes.twins import EARLY, Twin, Twins, TwinTraining
from mlxdecoder.training.observer import StepReport

PICTURES = (".png", ".svg", ".pdf")


def add_parser(actions: Subparsers) -> None:
    parser = add_command(
        actions,
        "train",
        run,
        "Train the toy translator twice on the same batches, right and with mistakes: about two minutes on two cores.",
        "mlxdecoder mistakes train no-causal-mask --out twins.png",
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="mistakes by id or number, all in the same model")
    parser.add_argument("--all", action="store_true", help="every entry of the catalogue by itself, to --out as JSON")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"training steps (default: {STEPS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of weights and batches (default: {SEED})")
    endings = ", ".join((*PICTURES, ".json"))
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"curves or numbers, by its ending: {endings}")
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    _check(options)
    bar, preset = _Bar(), experiment_preset(options.steps, options.seed)
    if options.all:
        run_experiments(options.out, preset, CATALOGUE, bar.stepped, lambda mistake, row: _tell(bar, mistake, row))
        bar.close()
        return
    twins = TwinTraining(preset, toy_text(preset), bar.stepped).run(options.ids)
    bar.close()
    if options.json:
        print_json(twins.to_dict())
    else:
        _print(twins)
    if options.out:
        _save(twins, options.out)
        if not options.json:
            print(f"\n{options.out}")


def _check(options: argparse.Namespace) -> None:
    if options.all == bool(options.ids):
        raise UserError("ID: give the ids of mistakes to train with, or --all for the whole catalogue.")
    for name in options.ids:
        find(name)
    endings = (".json",) if options.all else (*PICTURES, ".json")
    if options.out and (options.out.suffix.lower() not in endings or options.out.is_dir()):
        raise UserError(f"--out {options.out}: a file that ends in {', '.join(endings)} is wanted.")
    if options.all and not options.out:
        raise UserError("--out: a file that ends in .json is wanted with --all.")
    if options.out and options.out.suffix.lower() in PICTURES:
        import mlxdecoder.figures  # noqa: F401  says at once when matplotlib is missing, not after the training


class _Bar:
    """One bar for each training, on stderr."""

    def __init__(self) -> None:
        self._bar: Any = None

    def stepped(self, name: str, report: StepReport) -> None:
        if self._bar is None or report.step == 1:
            self.close()
            self._bar = tqdm(total=report.steps, unit="step", file=sys.stderr, desc=name, leave=False, disable=None)
        self._bar.set_postfix_str(f"loss {report.loss:.3f}", refresh=False)
        self._bar.update(1)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def _tell(bar: _Bar, mistake: Mistake, row: dict[str, Any]) -> None:
    bar.close()
    sides = [row["correct"], row["mistaken"], row["switched_on_after_training"]]
    shares = ", ".join("none" if side["exact_match"] is None else f"{side['exact_match']:.0%}" for side in sides)
    print(f"{mistake.id}: exact match of correct, mistaken, switched on afterwards: {shares}", flush=True)


def _print(twins: Twins) -> None:
    for mistake in map(find, twins.mistakes):
        changed = {**mistake.setting.get("model", {}), **mistake.setting.get("training", {})}
        setting = "".join(f"; both twins have {name} = {value}" for name, value in changed.items())
        print(f"{mistake.number}  {mistake.title}{setting}")
    steps = [*(step for step in EARLY if step < twins.steps), twins.steps]
    header = ["twin", *(f"loss @{step}" for step in steps), "told the prefix", "exact match", "padded"]
    rows = [_row("correct", twins.correct, steps), _row("mistaken from step 1", twins.mistaken, steps)]
    rows.append(
        [
            "switched on afterwards",
            *[""] * (len(steps) + 1),
            f"{twins.switched_alone:.1%}",
            f"{twins.switched_padded:.1%}",
        ]
    )
    print(table(header, rows))
    if twins.mistaken.broke:
        print(f"The mistaken twin ended at {twins.mistaken.broke}.")


def _row(name: str, twin: Twin, steps: Sequence[int]) -> list[str]:
    losses = [f"{twin.loss_at(step):.3f}" for step in steps]
    return [name, *losses, f"{twin.teacher_forced:.1%}", f"{twin.alone:.1%}", f"{twin.padded:.1%}"]


def _save(twins: Twins, out: Path) -> None:
    if out.suffix.lower() == ".json":
        write_text(out, json.dumps(twins.to_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n")
        return
    from mlxdecoder.figures import Course, save_figure, twins_figure

    title = " + ".join(find(name).title for name in twins.mistakes)
    courses: Sequence[Course] = [Course(twin.losses, twin.history) for twin in (twins.correct, twins.mistaken)]
    save_figure(twins_figure(*courses, title=title), out)
