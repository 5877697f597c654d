"""The real worker, in a process of its own, over pipes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mlxdecoder.app.protocol import Decoder, Message, encode
from tests.app.worker.asking import GREEDY, SENTENCE

START = "import sys; from mlxdecoder.app.worker.main import run; sys.exit(run())"
NOISY = """
import os, sys
from mlxdecoder.app.worker import main

serve = main._serve

def serve_noisily(*given):
    os.system("echo noise")
    print("more noise", flush=True)
    serve(*given)

main._serve = serve_noisily
sys.exit(main.run())
"""
SLOW = """
import sys, time
from pathlib import Path
from mlxdecoder.app.worker import loop, main

def export(engine, message, link):
    link.tell("exporting")
    time.sleep(2 * main.GRACE)
    if not link.stopped():
        Path(message["path"]).write_text("all of it")

loop.JOBS["export"] = export
sys.exit(main.run())
"""
PATIENCE = 60.0


class Process:
    """A worker, and what it has told so far."""

    def __init__(self, code: str = START) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe)
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self._stdin, self._stdout, self._stderr = self.process.stdin, self.process.stdout, self.process.stderr
        self._decoder, self.told = Decoder(), list[Message]()

    def ask(self, kind: str, run: int = 0, **fields: Any) -> None:
        self.write(encode(Message(kind, run, fields)))

    def write(self, data: bytes) -> None:
        self._stdin.write(data)
        self._stdin.flush()

    def generate(self, run: int, sentence: str = SENTENCE, **fields: Any) -> None:
        wish = {"sentence": sentence, "forced": {}, "sampling": GREEDY, "mistakes": [], "max_tokens": None, **fields}
        self.ask("generate", run, **wish)

    def wait(self, kind: str, run: int = 0) -> Message:
        """The first message of a kind and run; fails when the worker ends before it."""
        return self._until(lambda: next((one for one in self.told if (one.kind, one.run) == (kind, run)), None))

    def hang_up(self) -> int:
        self._stdin.close()
        return self.process.wait(PATIENCE)

    def complaints(self) -> str:
        """What it wrote to stderr, once it has ended."""
        return self._stderr.read().decode()

    def hear_no_more(self) -> None:
        """Close the pipe that the worker writes to."""
        self._stdout.close()

    def says_nothing(self) -> bool:
        return not select.select([self._stdout], [], [], 0.2)[0]

    def wait_for_frames(self, count: int) -> None:
        self._until(lambda: self.told[-1] if len(self.told) >= count else None)

    def end(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        for pipe in (self._stdin, self._stdout, self._stderr):
            with suppress(BrokenPipeError):
                pipe.close()

    def _until(self, found: Callable[[], Message | None]) -> Message:
        while (message := found()) is None:
            assert select.select([self._stdout], [], [], PATIENCE)[0], "the worker says nothing"
            data = os.read(self._stdout.fileno(), 2**16)
            assert data, f"the worker ended after {[one.kind for one in self.told]}"
            self.told += self._decoder.feed(data)
        return message


@pytest.fixture
def worker() -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def start(code: str = START) -> Process:
        started.append(Process(code))
        return started[-1]

    yield start
    for one in started:
        one.end()


def test_it_welcomes_by_itself_opens_and_generates(worker: Callable[..., Process]) -> None:
    one = worker()
    welcome = one.wait("welcome")
    assert {"no-causal-mask", "no-scale"} <= {entry["id"] for entry in welcome["catalogue"]}
    assert "toy" in {preset["name"] for preset in welcome["presets"]}
    one.ask("open", 1, path=None)
    one.generate(2)
    assert one.wait("generated", 2)["translation"] == "Le chat noir dort."
    assert [message.kind for message in one.told[:3]] == ["welcome", "model", "source"]
    assert one.hang_up() == 0


def test_what_is_printed_never_gets_among_the_frames(worker: Callable[..., Process]) -> None:
    one = worker(NOISY)
    one.wait("welcome")
    assert one.hang_up() == 0
    assert one.complaints().count("noise") == 2


def test_a_stop_is_followed_by_the_end_of_that_generation(worker: Callable[..., Process]) -> None:
    one = worker()
    one.ask("open", 1, path=None)
    one.generate(2, sampling={**GREEDY, "temperature": 9.0}, max_tokens=5000)
    one.wait("token", 2)
    one.ask("stop", of=2)
    assert one.wait("generated", 2)["reason"] == "stopped"
    assert sum(message.kind == "token" for message in one.told) <= 32  # no more than were let through unseen
    one.generate(3)
    assert one.wait("generated", 3)["reason"] == "stop"


def test_it_lives_on_when_the_only_request_that_waits_is_stopped(worker: Callable[..., Process]) -> None:
    one = worker()
    one.ask("open", 1, path=None)
    one.wait("model", 1)
    cost, export = Message("cost", 2, {"sentence": SENTENCE}), Message("export", 3, {"path": "never.png"})
    one.write(b"".join(map(encode, (cost, export, Message("stop", fields={"of": 3})))))
    one.wait("cost", 2)
    assert one.says_nothing()  # nor ends
    one.ask("shapes", 4, sentence=SENTENCE)
    one.wait("shapes", 4)
    assert not any(message.run == 3 for message in one.told)


def test_no_more_frames_are_sent_than_may_be_unseen(worker: Callable[..., Process]) -> None:
    one = worker()
    one.ask("open", 1, path=None)
    one.generate(2, sampling={**GREEDY, "temperature": 9.0}, max_tokens=40)
    one.ask("shapes", 3, sentence=SENTENCE)  # has its turn when the generation has ended
    one.wait_for_frames(2 + 31)  # beside the welcome and the model
    assert one.says_nothing() and len(one.told) == 2 + 31
    for _ in range(20):
        one.ask("seen", of=2)
    assert one.wait("generated", 2)["reason"] in ("length", "stop")
    one.wait("shapes", 3)


def test_a_refusal_and_a_fault_leave_it_alive(worker: Callable[..., Process]) -> None:
    one = worker()
    one.generate(1)
    assert "No model is open" in one.wait("refused", 1)["message"]
    one.ask("open", 2)  # without a path in it
    assert "KeyError" in one.wait("broken", 2)["details"]
    one.ask("open", 3, path=None)
    one.wait("model", 3)


def test_a_setting_that_cannot_be_is_told_when_a_model_is_asked_for(
    worker: Callable[..., Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLXDECODER_KERNELS", "perhaps")
    one = worker()
    one.wait("welcome")
    one.ask("open", 1, path=None)
    one.generate(2)
    assert "MLXDECODER_KERNELS" in one.wait("refused", 2)["message"]


def test_it_ends_when_it_is_told_to(worker: Callable[..., Process]) -> None:
    one = worker()
    one.wait("welcome")
    one.ask("quit")
    assert one.process.wait(PATIENCE) == 0


def test_it_ends_with_the_window_in_the_midst_of_a_generation(worker: Callable[..., Process]) -> None:
    one = worker()
    one.ask("open", 1, path=None)
    one.generate(2, sampling={**GREEDY, "temperature": 9.0}, max_tokens=100_000)
    one.wait("token", 2)
    assert one.hang_up() == 0


@pytest.mark.parametrize("quits", [True, False])
def test_an_export_that_runs_is_not_cut_off(worker: Callable[..., Process], tmp_path: Path, quits: bool) -> None:
    one = worker(SLOW)
    one.ask("export", 1, path=str(tmp_path / "figure.png"))
    one.wait("exporting", 1)
    if quits:
        one.ask("quit")
    assert one.hang_up() == 0
    assert (tmp_path / "figure.png").read_text() == "all of it"


def test_it_ends_when_nobody_reads_what_it_says(worker: Callable[..., Process]) -> None:
    one = worker()
    one.wait("welcome")
    one.hear_no_more()
    one.ask("open", 1, path=None)
    assert one.process.wait(PATIENCE) == 0


def test_what_is_no_frame_ends_it_with_a_word(worker: Callable[..., Process]) -> None:
    one = worker()
    one.wait("welcome")
    one.write(b"\xff" * 64)
    assert "frame" in one.wait("broken")["message"]
    assert one.process.wait(PATIENCE) == 0


def test_ctrl_c_in_the_terminal_is_left_to_the_window(worker: Callable[..., Process]) -> None:
    one = worker()
    one.wait("welcome")
    one.process.send_signal(signal.SIGINT)
    one.ask("open", 1, path=None)
    one.wait("model", 1)


def test_it_can_be_killed_at_once(worker: Callable[..., Process]) -> None:
    one = worker()
    one.wait("welcome")
    one.process.kill()
    assert one.process.wait(PATIENCE) == -signal.SIGKILL
