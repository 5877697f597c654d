"""Folders that mean harm, or were damaged: an error of two lines at most, little memory, nothing touched."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import pytest

from tests.pretrained.folders import WEIGHTS, change_arrays, copied, set_values, shard, write_header

MOST = 512 * 2**20  # bytes
ASK = r"""
import json, re, resource, sys
from pathlib import Path
import mlxdecoder
said = {}
for name in sys.argv[1:]:
    try:
        mlxdecoder.load(name)
    except mlxdecoder.UserError as error:
        said[name] = str(error)
status = Path("/proc/self/status")
if status.is_file():  # on Linux, what getrusage says may be of the process that started this one
    kibibytes = int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1])
else:
    kibibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # bytes, on macOS
print(json.dumps([kibibytes * 1024, said]))
"""


def cut_short(folder: Path) -> None:
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(whole[: len(whole) // 2])


def endless_header(folder: Path) -> None:
    write_header(folder / WEIGHTS, b"{}", length=2**60)


def more_than_memory(folder: Path) -> None:
    """An empty file of a terabyte that says the truth of its length."""
    entry = {"dtype": "F32", "shape": [2**38], "data_offsets": [0, 2**40]}
    write_header(folder / WEIGHTS, {"transformer.wte.weight": entry})
    with (folder / WEIGHTS).open("r+b") as file:
        file.truncate((folder / WEIGHTS).stat().st_size + 2**40)


def way_out(folder: Path, name: str) -> None:
    shard(folder)
    index = json.loads((folder / f"{WEIGHTS}.index.json").read_text())
    index["weight_map"] = dict.fromkeys(index["weight_map"], name)
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


def many_layers(folder: Path) -> None:
    set_values(folder, n_layer=10**9)


def wide(folder: Path) -> None:
    set_values(folder, n_embd=2**40, n_head=2**20)


def many_positions(folder: Path) -> None:
    set_values(folder, n_positions=10**12)


def shapes_disagree(folder: Path) -> None:
    change_arrays(folder, transformer__h__0__attn__c_attn__weight=mx.zeros((16, 47)))


def large_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_bytes(b'{"version": "1.0", "junk": "' + b"x" * 100 * 2**20 + b'"}')


def large_config(folder: Path) -> None:
    (folder / "config.json").write_bytes(b'{"model_type": "gpt2", "junk": [' + b"{}," * 30_000_000 + b"0]}")


def nested_config(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": ' + "[" * 200_000)


def nested_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"model": ' + "[" * 200_000)


CASES: dict[str, Callable[[Path], None]] = {
    "cut short": cut_short,
    "endless header": endless_header,
    "more than memory": more_than_memory,
    "up": lambda folder: way_out(folder, "../other/model.safetensors"),
    "root": lambda folder: way_out(folder, "/etc/passwd"),
    "another ending": lambda folder: way_out(folder, "model.bin"),
    "many layers": many_layers,
    "wide": wide,
    "many positions": many_positions,
    "shapes disagree": shapes_disagree,
    "large tokenizer": large_tokenizer,
    "large config": large_config,
    "nested config": nested_config,
    "nested tokenizer": nested_tokenizer,
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, str]]:
    """The memory that all took together, and the refusal of each."""
    place = tmp_path_factory.mktemp("hostile")
    for name, harm in CASES.items():
        harm(copied("gpt2", place / name))
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    names = [str(place / name) for name in CASES]
    done = subprocess.run([sys.executable, "-c", ASK, *names], capture_output=True, text=True, check=True)
    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before
    memory, refusals = json.loads(done.stdout)
    return memory, {Path(name).name: message for name, message in refusals.items()}


@pytest.mark.parametrize("name", CASES)
def test_is_refused_in_two_lines_at_most(said: tuple[int, dict[str, str]], name: str) -> None:
    message = said[1][name]
    assert name in message  # the folder
    assert message.count("\n") <= 1
    assert len(message) < 600


def test_takes_little_memory(said: tuple[int, dict[str, str]]) -> None:
    assert said[0] < MOST
