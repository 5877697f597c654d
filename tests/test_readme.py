"""What the README shows works as it stands there."""

import re
from pathlib import Path
from typing import Any

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_five_lines_print_what_their_comments_say(capsys):
    exec(BLOCKS[0], {})
    printed = capsys.readouterr().out.splitlines()
    told = [line.split("# ")[1] for line in BLOCKS[0].splitlines() if line.startswith("print")]
    assert [line.partition(": ")[0] for line in told] == printed


def test_the_attention_to_be_checked_is_diagnosed_as_told(capsys):
    exec(BLOCKS[1], {})
    told = BLOCKS[1].rpartition("# ")[2].partition(":")[0].partition(",")[0]
    assert told in capsys.readouterr().out


def test_the_block_of_the_lesson_runs():
    names: dict[str, Any] = {}
    exec(BLOCKS[2], names)
    assert names["y"].shape == (1, 4, 16)


def test_every_place_that_it_names_exists():
    table = README[README.index("## Where things are") :]
    for cell in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE):
        folder = ""
        for name in re.findall(r"`([^`]+)`", cell):
            folder = str(Path(name).parent) + "/" if "/" in name.rstrip("/") else folder
            path = Path(name) if "/" in name.rstrip("/") or (name.endswith("/") and not folder) else Path(folder + name)
            assert (Path(__file__).parents[1] / path).exists(), name
