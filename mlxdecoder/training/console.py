"""An observer for the terminal: a bar with rate and time left, a line for each evaluation, Ctrl-C that saves."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tqdm import tqdm

from mlxdecoder.streams import unheard_is_fine
from mlxdecoder.training.observer import Measures, Observer, StepReport

HEADER = f"{'step':>6}  {'training loss':>13}  {'held-out loss':>13}  {'teacher-forced':>14}  {'exact match':>11}"


class ConsoleObserver(Observer):
    """Shows a run on stderr, and its measures on stdout, as a table or as JSON lines."""

    def __init__(self, steps: int, first: int = 0, as_json: bool = False) -> None:
        # None: no bar where stderr is no terminal, such as a log.
        self._bar = tqdm(
            total=steps, initial=first, unit="step", file=sys.stderr, dynamic_ncols=True, leave=False, disable=None
        )
        self._as_json, self._stops = as_json, False
        if not as_json:
            self._print(HEADER)

    def stepped(self, report: StepReport) -> None:
        self._bar.set_postfix_str(f"loss {report.loss:.3f}, {report.tokens_per_second:,.0f} tokens/s", refresh=False)
        self._bar.update(1)

    def measured(self, measures: Measures) -> None:
        self._print(json.dumps(measures.to_dict()) if self._as_json else measures_line(measures))

    def _print(self, line: str) -> None:
        with unheard_is_fine():
            self._bar.write(line, file=sys.stdout)

    def saved(self, path: Path) -> None:
        self._bar.set_description_str(f"saved {path.name}", refresh=False)

    def wants_stop(self) -> bool:
        return self._stops

    @contextmanager
    def stopping_on_interrupt(self) -> Iterator[None]:
        """The first Ctrl-C lets the run save and end, the second one breaks it off."""

        def stop(number: int, frame: FrameType | None) -> None:
            if self._stops:
                raise KeyboardInterrupt
            self._stops = True
            self._bar.write("Saving and stopping. Press Ctrl-C again to stop without saving.", file=sys.stderr)

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._bar.close()


def measures_line(measures: Measures) -> str:
    """One row of the table under `HEADER`."""
    return (
        f"{measures.step:>6}  {measures.training_loss:>13.3f}  {measures.validation_loss:>13.3f}  "
        f"{measures.teacher_forced:>14.1%}  {measures.exact_match:>11.1%}"
    )
