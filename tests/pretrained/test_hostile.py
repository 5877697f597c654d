"""Folders that mean harm, or were damaged: an error of two lines at most, little memory, nothing touched."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import pytest
from tokenizers import Tokenizer, models

from mlxdecoder.errors import UserError
from mlxdecoder.pretrained.loading import load_pretrained
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


def deep(folder: Path) -> None:
    """Layers of a width of one, which take a kilobyte on the disk and a hundred in memory."""
    n_numbers = 200_000
    small = {"n_embd": 1, "n_head": 1, "n_inner": 1, "vocab_size": 4, "n_positions": 1}
    marks = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), 0)
    set_values(folder, n_layer=900, **small, **marks)
    entry = {"dtype": "F32", "shape": [n_numbers], "data_offsets": [0, 4 * n_numbers]}
    write_header(folder / WEIGHTS, {"transformer.h.0.attn.bias": entry}, bytes(4 * n_numbers))


def many_experts(folder: Path) -> None:
    """Experts that are narrow, so that there are numbers enough for a million of them."""
    shutil.rmtree(folder)
    copied("mixtral", folder)
    n_numbers = 60_000_000
    set_values(folder, num_local_experts=10**6, hidden_size=8, head_dim=2, intermediate_size=1)
    entry = {"dtype": "F32", "shape": [n_numbers], "data_offsets": [0, 4 * n_numbers]}
    write_header(folder / WEIGHTS, {"model.layers.0.self_attn.rotary_emb.inv_freq": entry})
    with (folder / WEIGHTS).open("r+b") as file:
        file.truncate((folder / WEIGHTS).stat().st_size + 4 * n_numbers)


def raw_value(folder: Path, key: str, digits: int) -> None:
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(re.sub(rf'"{key}": \d+', f'"{key}": 1{"0" * digits}', text))


def many_segments(folder: Path) -> None:
    shutil.rmtree(folder)
    copied("bert", folder)
    set_values(folder, type_vocab_size=10**8)


def odd_rotary_key(folder: Path) -> None:
    shutil.rmtree(folder)
    copied("llama-3", folder)
    set_values(folder, rope_parameters={"a\nb\x1b" * 100_000: {"rope_type": "default"}})


def with_header(entry: dict[str, object], name: str = "a") -> Callable[[Path], None]:
    return lambda folder: write_header(folder / WEIGHTS, {name: entry}, b"\0" * 4)


def tokenizer(**parts: object) -> Callable[[Path], None]:
    """A tokenizer.json of two letters with these parts."""

    def harm(folder: Path) -> None:
        values = json.loads(Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[])).to_str())
        (folder / "tokenizer.json").write_text(json.dumps(values | parts))

    return harm


def flat_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"model": [' + "{}," * 10_000_000 + "0]}")


def long_vocabulary(folder: Path) -> None:
    pieces = ",".join(f'"a{i}":{i}' for i in range(1_500_000))
    tokenizer()(folder)
    text = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(text.replace('"a": 0, "b": 1', pieces))


DOUBLED = {"type": "Replace", "pattern": {"String": " "}, "content": "  "}
UNTYPED = {"pattern": {"String": " "}, "content": "  "}
LONG = {"dtype": "F32", "shape": [2**62] * 150_000, "data_offsets": [0, 4]}
CASES: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut short": (cut_short, "not a whole safetensors file"),
    "endless header": (endless_header, "a header of 1,152,921,504,606,846,976 bytes in a file of 10"),
    "more than memory": (more_than_memory, "this machine has|does not fit the config|asks for"),
    "up": (lambda folder: way_out(folder, "../other/model.safetensors"), "lies beside it is wanted"),
    "root": (lambda folder: way_out(folder, "/etc/passwd"), "lies beside it is wanted"),
    "another ending": (lambda folder: way_out(folder, "model.bin"), "lies beside it is wanted"),
    "long name of a shard": (lambda folder: way_out(folder, "x" * 300 + ".safetensors"), r"xxx\.\.\.; a safetensors"),
    "shard of several lines": (lambda folder: way_out(folder, "x\ny.safetensors"), r"x\\ny\.safetensors"),
    "many layers": (many_layers, "n_layer|at most 1,000 layers"),
    "deep": (deep, r"asks for 3,600 arrays or more .* but the weights hold 1\."),
    "many experts": (many_experts, r"asks for [\d,]+ arrays or more .* but the weights hold 1\."),
    "many segments": (many_segments, "asks for 1,6[0-9,]+ numbers or more"),
    "wide": (wide, "n_embd|numbers"),
    "many positions": (many_positions, "n_positions|numbers or more"),
    "layers of 2,000 digits": (
        lambda folder: raw_value(folder, "n_layer", 2000),
        "a number of 2,001 digits; at most 40",
    ),
    "odd rotary key": (odd_rotary_key, r"'a\\nb\\x1ba\\nb.*\.\.\. = {'rope_type': 'default'}: "),
    "shapes disagree": (shapes_disagree, r"of another shape .*c_attn\.weight \(16, 47\), wanted \(16, 48\)"),
    "many axes": (with_header(LONG), "a has 150,000 axes; at most 8 are read"),
    "long axis": (with_header(LONG | {"shape": [2**63]}), "a has a shape of other than whole numbers below 2\\^63"),
    "negative place": (with_header(LONG | {"shape": [1], "data_offsets": [-4, 0]}), "the place of a is not as long"),
    "long name of an array": (with_header(LONG | {"shape": [2]}, "a" * 3_000_000), r"aaa\.\.\. is not as long"),
    "name of several lines": (with_header(LONG | {"shape": [2]}, "x\n\x1b[31my"), r"'x\\n\\x1b\[31my' is not as long"),
    "unknown type": (with_header(LONG | {"dtype": "F\n" * 100_000}), "a is of an unknown type"),
    "large tokenizer": (large_tokenizer, "104,857,[0-9]+ bytes found; at most 34,603,008 are read"),
    "large config": (large_config, "bytes found; at most 4,194,304 are read"),
    "nested config": (nested_config, r"config\.json: damaged, not JSON"),
    "nested tokenizer": (nested_tokenizer, r"tokenizer\.json: not a tokenizer, or damaged"),
    "flat tokenizer": (flat_tokenizer, r"10,000,00\d times '[,{]' found"),
    "long vocabulary": (long_vocabulary, "1,500,[0-9]+ times ',' found; at most 1,400,000"),
    "growing text": (
        tokenizer(normalizer={"type": "Sequence", "normalizers": [DOUBLED] * 40}),
        "reading may make a text",
    ),
    "growing without a type": (tokenizer(normalizer={"normalizers": [UNTYPED] * 40}), "reading may make a text"),
    "growing answer": (tokenizer(decoder={"type": "Sequence", "decoders": [DOUBLED] * 40}), "decoding may make a text"),
    "long pieces": (
        tokenizer(model={"type": "Unigram", "unk_id": 0, "vocab": [["a" * 2_000_000, -1.0]]}),
        "2,000,000 different beginnings; at most 1,000,000",
    ),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, str]]:
    """The memory that all took together, and the refusal of each."""
    place = tmp_path_factory.mktemp("hostile")
    for name, (harm, _) in CASES.items():
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
    assert f"hostile0/{name}" in message
    assert re.search(CASES[name][1], message)
    assert message.replace("\n", "").isprintable()
    assert message.count("\n") <= 1
    assert len(message) < 600


def test_takes_little_memory(said: tuple[int, dict[str, str]]) -> None:
    assert said[0] < MOST


def test_only_files_are_read_as_json(tmp_path: Path) -> None:
    folder = copied("gpt2", tmp_path / "gpt2")
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to("/dev/null")  # as /dev/zero would be, which never ends
    with pytest.raises(UserError, match=r"config\.json: no regular file"):
        load_pretrained(folder)


def test_marks_beyond_the_room_of_the_model_are_refused(tmp_path: Path) -> None:
    folder = copied("gpt2", tmp_path / "gpt2")
    mark = {"id": "x", "ids": [2**31], "tokens": ["x"]}
    single = [{"SpecialToken": {"id": "x", "type_id": 0}}]
    marks = {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {"x": mark}}
    tokenizer(post_processor=marks)(folder)
    with pytest.raises(UserError, match="2147483649 pieces found; the model has room for"):
        load_pretrained(folder)
