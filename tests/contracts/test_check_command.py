"""`mlxdecoder check` as a user types it: exit status, proofs, suspects, and messages for what cannot be tried."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
CODE = """
import numpy as np

def softmax(x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)

def right(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(scores if mask is None else np.where(mask, scores, -1e30)) @ v

def zeroed(q, k, v, mask):
    return np.where(mask, softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])), 0) @ v

def batches(sentences):
    width = max(map(len, sentences)) + 1
    inputs = np.array([[1, *s, *[0] * (width - 1 - len(s))] for s in sentences])
    return inputs, inputs.copy(), inputs != 0

class Tools:
    zeroed = staticmethod(zeroed)

def make():
    return zeroed

def fails():
    raise RuntimeError("no weights")

def leaves():
    raise SystemExit(0)

print("hello from the module")
NUMBER = 5
"""


@pytest.fixture(autouse=True)
def _code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_to_check.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "broken_to_check.py").write_text("import nothing_of_the_kind", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("mine_to_check", "broken_to_check"):
        sys.modules.pop(name, None)


def test_what_is_right_ends_with_0_and_the_mean_in_empty_rows_is_told(run: Run) -> None:
    status, out, _ = run("check", "mine_to_check.py:right", "--kind", "attention", "--json")
    failed = [one["contract"] for one in json.loads(out)["reports"][0]["findings"] if one["holds"] is False]
    assert (status, failed) == (0, ["T5 empty rows"])
    assert "depends  T5 empty rows" in run("check", "mine_to_check.py:right", "--kind", "attention")[1]


def test_a_class_is_to_be_called(run: Run) -> None:
    assert "--call" in run("check", "mine_to_check:Tools", "--kind", "attention")[2]


def test_the_status_is_that_of_the_code_even_when_nobody_reads_on(tmp_path: Path) -> None:
    check = f"{sys.executable} -m mlxdecoder check mine_to_check.py:zeroed --kind attention"
    command = f"set -o pipefail; {check} | head -n 1"
    assert subprocess.run(["bash", "-c", command], capture_output=True, cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    "target",
    ["mine_to_check:zeroed", "mine_to_check.py:zeroed", "mine_to_check:Tools.zeroed", "mine_to_check:make --call"],
)
def test_a_mistake_ends_with_1_a_proof_and_its_name(run: Run, target: str) -> None:
    status, out, _ = run("check", *target.split(), "--kind", "attention")
    assert status == 1
    assert "numpy" in out and "True = may attend" in out
    assert "zeroed-after-softmax" in out.partition("best first")[2].splitlines()[1]


def test_batches_are_named_by_their_marks(run: Run) -> None:
    marks = ["--begin", "1", "--end", "2", "--pad", "0"]
    status, out, _ = run("check", "mine_to_check:batches", "--kind", "batches", *marks)
    assert status == 1
    assert "labels-unshifted" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mine_to_check", "--kind", "attention"], "MODULE:NAME"),
        (["mine_to_check:wrong", "--kind", "attention"], "there are NUMBER, Tools"),
        (["nowhere.py:f", "--kind", "attention"], "no such file"),
        (["nowhere_at_all:f", "--kind", "attention"], "nowhere_at_all"),
        (["broken_to_check:f", "--kind", "attention"], "nothing_of_the_kind"),
        (["mine_to_check:fails", "--kind", "attention", "--call"], "no weights"),
        (["mine_to_check:batches", "--kind", "batches"], "--begin"),
        (["mine_to_check:right", "--kind", "attention", "--pad", "0"], "--pad"),
        (["mine_to_check:fails", "--kind", "decoder"], "fails"),
        (["mine_to_check:CODE", "--kind", "attention"], "no 'CODE'"),
        (["mine_to_check:np", "--kind", "attention"], "module"),
        (["mine_to_check:leaves", "--kind", "attention", "--call"], "ended the program"),
        (["mine_to_check:NUMBER.x", "--kind", "attention"], "no 'x'"),
    ],
)
def test_what_cannot_be_tried_ends_with_2_and_a_line(run: Run, arguments: list[str], said: str) -> None:
    status, _, err = run("check", *arguments)
    assert status == 2
    assert said in err
    assert "Traceback" not in err
