"""The commands as a user types them."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mlxdecoder.cli import COMMANDS
from mlxdecoder.errors import UserError


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0
    assert f"mlxdecoder {command}" in out.rpartition("example: ")[2]


def test_a_pipe_is_translated_line_by_line_and_a_blank_line_stays_blank(run):
    status, out, err = run("translate", stdin=b"The black cat sleeps.\n\nThe dog runs.\r\n")
    assert (status, out) == (0, "Le chat noir dort.\n\nLe chien court.\n")
    assert "Traceback" not in err


def test_a_last_line_without_an_end_and_a_line_separator_inside_are_one_line_each(run):
    status, out, _ = run("translate", stdin="The cat\u2028 sleeps.".encode())
    assert status == 0
    assert out.count("\n") == 1


def test_nothing_in_gives_nothing_out(run):
    assert run("translate", stdin=b"")[:2] == (0, "")


def test_json_has_one_object_a_line(run):
    _, out, _ = run("translate", "--json", "The cat sleeps.", "")
    first, second = map(json.loads, out.splitlines())
    assert first["source"] == "The cat sleeps."
    assert first["translation"] == "Le chat dort."
    assert first["finish_reason"] == "stop"
    assert first["score"] < 0
    assert second["translation"] == ""


def test_n_best_are_different_and_the_best_is_first(run):
    _, out, _ = run("translate", "--json", "--beam", 4, "--n-best", 3, "I see the big house.")
    found = json.loads(out)
    texts = [found["translation"], *found["alternatives"]]
    assert len(set(texts)) == 3
    _, best, _ = run("translate", "--beam", 4, "I see the big house.")
    assert best == texts[0] + "\n"


def test_a_limit_is_kept_and_said(run):
    status, out, err = run("translate", "--max-tokens", 1, "The black cat sleeps.")
    assert status == 0
    assert len(out.split()) == 1
    assert "stopped at the limit" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["translate", "--beam", 0, "x"], "--beam 0"),
        (["translate", "--beam", 2, "--n-best", 3, "x"], "--n-best 3"),
        (["translate", "--temp", -1, "x"], "--temp -1"),
        (["translate", "--top-p", 0, "--temp", 1, "x"], "--top-p 0.0"),
        (["translate", "--max-tokens", 0, "x"], "--max-tokens 0"),
        (["translate", "--model", "no/such/folder", "x"], "no/such/folder: no such folder"),
        (["attend", "   "], "text"),
        (["attend", "The cat sleeps.", "--layer", 7], "7"),
        (["attend", "The cat sleeps.", "--head", -1], "-1"),
        (["attend", "The cat sleeps.", "--out", "picture.bmp"], "picture.bmp"),
        (["shapes", "--batch", 0], "--batch 0"),
        (["shapes", "--batch", 99999999999999999999], "--batch 9"),
        (["shapes", "--cache", 40, "--target-length", 4], "--target-length: means nothing with --cache"),
        (["translate", "--temp", 1, "--seed", -1, "x"], "--seed -1"),
        (["translate", "--temp", "nan", "x"], "--temp nan"),
        (["translate", "--block-ngrams", -1, "The cat sleeps."], "--block-ngrams -1"),
        (["translate", "--beam", 2, "--length-penalty", 1e308, "x"], "--length-penalty"),
        (["translate", "--beam", 100000, "x"], "--beam 100000"),
        (["attend", "The cat sleeps.", "--json", "--out", "x.png"], "--json"),
        (["train", "--out", "run", "--seed", 2**64], "seed"),
        (["train", "--corpus", "nothing.tsv", "--out", "run"], "nothing.tsv"),
        (["train", "--toy", "--out", "run", "--n-heads", 5], "--n-heads 5"),
        (["train", "--toy", "--out", "run", "--steps", 0], "--steps 0"),
        (["train", "--out", "run", "--resume"], "run: no such folder"),
        (["train", "--out", "run", "--resume", "--d-model", 32], "--d-model: a resumed run"),
        (["train", "--toy", "--limit", 5, "--out", "run"], "--limit 5"),
        (["translate", "--top-k", 5, "x"], "--top-k: only used when tokens are drawn"),
    ],
)
def test_a_wrong_request_is_answered_in_two_lines_at_most_and_status_2(run, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    status, _, err = run(*arguments)
    assert status == 2
    assert said in err
    assert len(err.strip().splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_attend_writes_the_picture_that_its_ending_names(run, tmp_path, ending):
    path = tmp_path / f"cross.{ending}"
    status, out, _ = run("attend", "The black cat sleeps.", "--out", path)
    assert status == 0
    assert out.splitlines() == ["Le chat noir dort.", str(path)]
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(begins)


def test_attend_gives_the_same_numbers_as_json_and_npz_and_rows_sum_to_one(run, tmp_path):
    for kind in ("encoder", "decoder", "cross"):
        _, printed, _ = run("attend", "The black cat sleeps.", "--kind", kind, "--json")
        weights = np.array(json.loads(printed)["weights"])
        assert weights.ndim == 4
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-4)
        run("attend", "The black cat sleeps.", "--kind", kind, "--out", tmp_path / f"{kind}.npz")
        arrays = np.load(tmp_path / f"{kind}.npz")
        (name,) = [name for name in arrays.files if arrays[name].ndim == 4]
        np.testing.assert_allclose(arrays[name], weights, atol=1e-5)


def test_attend_follows_a_given_translation(run):
    _, own, _ = run("attend", "The black cat sleeps.", "--json")
    _, same, _ = run("attend", "The black cat sleeps.", "--json", "--target", "Le chat noir dort.")
    _, other, _ = run("attend", "The black cat sleeps.", "--json", "--target", "La maison.")
    own, same, other = (json.loads(text) for text in (own, same, other))
    np.testing.assert_allclose(own["weights"], same["weights"], atol=1e-5)
    assert other["queries"] != own["queries"]


def test_shapes_end_in_logits_over_the_vocabulary(run):
    _, out, _ = run("shapes", "--batch", 2, "--source-length", 5, "--target-length", 3, "--json")
    shapes = {row["name"]: row["shape"] for row in json.loads(out)}
    assert shapes["encoder.0.self.weights"] == [2, 4, 5, 5]
    assert shapes["decoder.1.cross.weights"] == [2, 4, 3, 5]
    assert shapes["logits"][:2] == [2, 3]
    status, text, _ = run("shapes")
    assert status == 0
    assert "B H T S" in text


@pytest.mark.parametrize("part", ["tables", "averaging", "contracts"])
def test_the_lesson_agrees(run, part):
    status, out, _ = run("lesson", part)
    assert status == 0
    assert out
    status, out, _ = run("lesson", part, "--json")
    assert status == 0
    assert json.loads(out)


def test_a_corpus_trains_resumes_and_translates(run, tmp_path):
    lines = [
        f"the {a} {b} runs\tle {b} {a} court" for a in "red big old new wet".split() for b in "cat dog owl fox".split()
    ]
    corpus = tmp_path / "corpus.tsv"
    corpus.write_text("\n".join([*lines, "lonely\t", ""]), encoding="utf-8")
    small = ["--d-model", 16, "--n-heads", 2, "--d-ff", 32, "--n-layers", 1, "--n-encoder-layers", 1]
    base = ["train", "--corpus", corpus, "--out", tmp_path / "run", "--vocab-size", 300, *small]
    status, out, err = run(*base, "--steps", 6, "--evaluate-every", 3)
    assert status == 0, err
    assert "one side blank 1" in out
    assert [line.split()[0] for line in out.splitlines() if line.strip()[:1].isdigit() and "%" in line] == ["3", "6"]
    status, _, err = run(*base, "--steps", 6)
    assert status == 2
    assert "not empty" in err
    again = ["train", "--out", tmp_path / "run", "--resume"]
    status, out, err = run(*again, "--steps", 9, "--json")
    assert status == 0, err
    assert [json.loads(line)["step"] for line in out.splitlines()] == [9]
    assert "Going on from step 6 of 9." in err
    status, _, err = run(*again)
    assert status == 2
    assert "its run is complete" in err
    status, out, err = run("translate", "--model", tmp_path / "run", "the red cat runs")
    assert status == 0, err
    assert out.count("\n") == 1


@contextmanager
def interruptible(command, **options):
    """A process that heeds Ctrl-C even where these tests run in the background, and that does not outlive its test."""
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, **options, preexec_fn=heed) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_reader_that_has_seen_enough_is_no_error():
    command = f"yes 'The cat sleeps.' | head -n 3000 | {sys.executable} -m mlxdecoder translate | head -n 1"
    finished = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    assert finished.stdout == "Le chat dort.\n"
    assert "Traceback" not in finished.stderr
    assert "Exception" not in finished.stderr


def test_a_program_gets_its_answer_before_it_asks_again():
    command = [sys.executable, "-m", "mlxdecoder", "translate"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        for asked, wanted in (("The cat sleeps.", "Le chat dort."), ("The dog runs.", "Le chien court.")):
            process.stdin.write(asked + "\n")
            assert process.stdout.readline() == wanted + "\n"
        process.stdin.close()


GPT2 = Path(__file__).parent / "pretrained" / "fixtures" / "gpt2"


@pytest.mark.parametrize(
    ("command", "line"), [("translate", "The cat sleeps."), (f"generate --max-tokens 3 --model {GPT2}", "5 6 7")]
)
def test_an_interrupt_while_it_waits_for_a_line_ends_it_quietly(command, line):
    command = [sys.executable, "-m", "mlxdecoder", *command.split()]
    with interruptible(command, stdin=subprocess.PIPE, bufsize=1) as process:
        process.stdin.write(line + "\n")
        assert process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130  # while stdin stays open, as that of a terminal does
        assert process.stderr.read().split() == "mlxdecoder: interrupted; nothing more was saved.".split()


def test_a_bad_byte_costs_the_lines_behind_it_only(run):
    status, out, err = run("translate", stdin=b"The cat sleeps.\n\xff\n")
    assert (status, out) == (2, "Le chat dort.\n")
    assert "line 2" in err


def test_draws_differ_over_batches_and_repeat_with_their_seed(run):
    lines = ["The black cat sees my house."] * 8
    how = ["--temp", 2.5, "--seed", 3, "--batch-size", 4]
    first, second = (run("translate", *how, *lines)[1] for _ in range(2))
    assert first == second
    assert first.splitlines()[:4] != first.splitlines()[4:]


def test_a_narrow_terminal_encoding_is_no_error():
    command = [sys.executable, "-m", "mlxdecoder", "translate", "The tree is tired.", "The church is old."]
    finished = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, timeout=60)
    assert finished.returncode == 0
    assert b"\\xe9" in finished.stdout


@pytest.mark.parametrize("stream", [0, 1, 2])
def test_a_closed_stream_is_no_error(stream):
    command = f"{sys.executable} -m mlxdecoder shapes {stream}>&-"
    finished = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert finished.returncode == 0
    assert "Traceback" not in finished.stderr


def test_training_goes_on_when_its_reader_leaves_and_saves_when_it_is_stopped(tmp_path):
    out = tmp_path / "run"
    small = "--d-model 16 --n-heads 2 --d-ff 32 --n-layers 1 --vocab-size 400 --evaluate-every 5"
    command = f"{sys.executable} -m mlxdecoder train --toy --out {out} --steps 10 {small} | head -n 1"
    subprocess.run(["bash", "-c", command], capture_output=True, timeout=300)
    assert json.loads((out / "run.json").read_text())["newest"] == "step-0000010"
    command = [sys.executable, "-m", "mlxdecoder", "train", "--resume", "--out", str(out), "--steps", "100000"]
    with interruptible(command) as process:
        while "step-0000010" in (out / "run.json").read_text() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert f"train --resume --out {out}" in said


def test_a_place_that_cannot_be_written_is_told_before_the_training(run, tmp_path):
    (tmp_path / "file").write_text("x")
    for command in ("train", "demo"):
        status, out, err = run(command, "--out", tmp_path / "file" / "run")
        assert status == 2
        assert "file" in err
        assert "step" not in out


def test_a_corpus_whose_pairs_share_a_source_is_told_so(run, tmp_path):
    corpus = tmp_path / "same.tsv"
    corpus.write_text("".join(f"the cat\tle chat {i}\n" for i in range(40)), encoding="utf-8")
    status, _, err = run("train", "--corpus", corpus, "--out", tmp_path / "run")
    assert status == 2
    assert "share sentences" in err


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("n_best = 3: wanted from 1 to beam = 2.", "--n-best 3: wanted from 1 to beam = 2."),
        ("temp: too hot.", "--temp: too hot."),
        ("text: no words found.", "text: no words found."),
        ("nothing = 3: is no option.", "nothing = 3: is no option."),
        ("seed: no such folder.", "seed: no such folder."),
    ],
)
def test_a_message_names_options_as_they_are_typed_and_nothing_else(run, monkeypatch, message, typed):
    def refuse(*_):
        raise UserError(message)

    monkeypatch.setattr("mlxdecoder.commands.translate.load", refuse)
    status, _, err = run("translate", "--model", "seed", "x")
    assert (status, err) == (2, f"mlxdecoder translate: {typed}\n")
