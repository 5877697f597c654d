"""Several processes train as one does: real ones, that talk over the ring backend of MLX on this machine."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.safetensors import load_safetensors
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training.checkpoint import load_checkpoint
from mlxdecoder.training.run_folder import RunFolder

pytestmark = pytest.mark.skipif(not mx.distributed.is_available("ring"), reason="this MLX has no ring backend")

LONG = 300  # seconds that no process takes, however busy the machine is
OPTIONS = "--vocab-size 400 --tokens-per-batch 256 --evaluate-every 6 --learning-rate 0.01 --warmup 5 --d-model 16 \
--n-heads 2 --d-ff 32 --n-layers 1 --dropout 0 --json".split()


class Processes:
    """`mlxdecoder train` in several processes, as `mlx.launch` starts them; their output is in files.

    Only the first one is in the folder, so that the others do not see its files.
    """

    def __init__(self, count, folder, arguments, program=("-m", "mlxdecoder")):
        self.folder = folder
        hosts = folder / "hosts.json"
        hosts.write_text(json.dumps([[f"127.0.0.1:{port}"] for port in free_ports(count)]))
        environment = os.environ | {"MLX_HOSTFILE": str(hosts), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, *program, "train", *map(str, arguments)]
        self.all = [self._start(command, environment | {"MLX_RANK": str(rank)}, rank) for rank in range(count)]

    def _start(self, command, environment, rank):
        place = self.folder if rank == 0 else self.folder / "elsewhere"
        place.mkdir(exist_ok=True)
        with ExitStack() as stack:
            output, errors = (
                stack.enter_context((self.folder / f"{rank}.{name}").open("w")) for name in ("out", "err")
            )
            return subprocess.Popen(command, cwd=place, env=environment, stdout=output, stderr=errors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.all:
            process.kill()
            process.wait()

    def wait(self):
        return [process.wait(LONG) for process in self.all]

    def output(self, rank):
        return (self.folder / f"{rank}.out").read_text()

    def errors(self, rank):
        return (self.folder / f"{rank}.err").read_text()

    def wait_for(self, path):
        """Until the file is there; the processes may not end before."""
        end = time.monotonic() + LONG
        while not path.exists():
            assert time.monotonic() < end
            assert all(process.poll() is None for process in self.all), self.errors(0)
            time.sleep(0.05)


def free_ports(count):
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "pairs.tsv"
    pairs = make_splits(train_count=300, held_out_count=1).train
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return path


def measures(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def losses(output):
    found = [(one["training_loss"], one["validation_loss"]) for one in measures(output)]
    assert found
    return np.array(found)


def assert_same_weights(out, wanted):
    """But for the biases of keys: softmax takes no notice of them, so that Adam moves them by rounding errors alone."""
    found, wanted = (load_safetensors(RunFolder(path).newest() / "weights.safetensors")[0] for path in (out, wanted))
    for name in wanted:
        if not name.endswith("key.bias"):
            np.testing.assert_allclose(np.array(found[name]), np.array(wanted[name]), atol=1e-5, err_msg=name)


def test_two_processes_that_mlx_launches_have_the_losses_of_one(run, corpus, tmp_path):
    arguments = ["train", "--corpus", corpus, *OPTIONS, "--steps", "12", "--out"]
    _, alone, _ = run(*arguments, tmp_path / "alone")
    launch = [Path(sys.executable).with_name("mlx.launch"), "-n2", "--backend=ring", f"-p{free_ports(1)[0]}"]
    launched = subprocess.run(
        [*launch, sys.executable, "-m", "mlxdecoder", *arguments, tmp_path / "together"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LONG,
        text=True,
    )
    assert [one["step"] for one in measures(launched.stdout)] == [6, 12], launched.stderr
    np.testing.assert_allclose(losses(launched.stdout), losses(alone), atol=1e-5, rtol=0)
    assert_same_weights(tmp_path / "together", tmp_path / "alone")


@pytest.mark.slow
def test_a_run_goes_on_with_any_number_of_processes(run, corpus, tmp_path):
    together, alone = tmp_path / "together", tmp_path / "alone"
    _, wanted, _ = run("train", "--corpus", corpus, *OPTIONS, "--steps", 24, "--out", alone)
    with Processes(2, tmp_path, ["--corpus", corpus.name, *OPTIONS, "--steps", 6, "--out", together]) as processes:
        assert processes.wait() == [0, 0]
        found = processes.output(0)
    with Processes(3, tmp_path, ["--resume", "--json", "--steps", 15, "--out", together]) as processes:
        assert processes.wait() == [0, 0, 0]
        assert [processes.output(rank) + processes.errors(rank) for rank in (1, 2)] == ["", ""]
    _, rest, _ = run("train", "--resume", "--json", "--steps", 24, "--out", together)
    assert len(measures(found + rest)) == 3
    np.testing.assert_allclose(losses(found), losses(wanted)[:1], atol=1e-5, rtol=0)
    np.testing.assert_allclose(losses(rest)[-1, 1], losses(wanted)[-1, 1], atol=1e-5, rtol=0)
    assert_same_weights(together, alone)


def test_when_a_process_dies_the_others_say_so_and_the_checkpoint_is_kept(corpus, tmp_path):
    out = tmp_path / "out"
    with Processes(2, tmp_path, ["--corpus", corpus.name, *OPTIONS, "--steps", 10**6, "--out", out]) as processes:
        processes.wait_for(out / "run.json")
        processes.all[1].kill()
        assert processes.wait() == [2, -signal.SIGKILL]
        said = processes.errors(0)  # MLX has its say there, too
    assert re.search("^mlxdecoder train: process 0 of 2, on .*: another process ended.* --resume goes on", said, re.M)
    assert "Traceback" not in said
    load_checkpoint(out)


def test_ctrl_c_saves_and_stops_all_after_the_same_step(run, corpus, tmp_path):
    out = tmp_path / "out"
    with Processes(2, tmp_path, ["--corpus", corpus.name, *OPTIONS, "--steps", 10**6, "--out", out]) as processes:
        processes.wait_for(out / "run.json")
        for process in reversed(processes.all):  # as a terminal does
            process.send_signal(signal.SIGINT)
        assert processes.wait() == [0, 0]
        said, others = processes.errors(0), processes.output(1) + processes.errors(1)
    step = int(re.search(r"Saved and stopped at step (\d+)", said)[1])
    assert RunFolder(out).newest().name == f"step-{step:07d}"
    assert others == ""
    status, output, _ = run("train", "--resume", "--json", "--steps", step + 1, "--out", out)
    assert (status, measures(output)[-1]["step"]) == (0, step + 1)


@pytest.mark.slow
def test_when_patience_ends_all_stop(corpus, tmp_path):
    still = ["--learning-rate", 1e-30, "--patience", 1]
    arguments = ["--corpus", corpus.name, *OPTIONS, *still, "--steps", 10**6, "--out", "out"]
    with Processes(2, tmp_path, arguments) as processes:
        assert processes.wait() == [0, 0]
        assert "Stopped at step 12: no better for 1 measurements." in processes.errors(0)


def test_the_first_process_says_what_is_wrong_and_all_end(tmp_path):
    with Processes(2, tmp_path, ["--corpus", "nothing.tsv", *OPTIONS, "--out", "out"]) as processes:
        assert processes.wait() == [2, 0]
        assert re.fullmatch("mlxdecoder train: .*nothing.tsv: cannot be read: No such file.*\n", processes.errors(0))
        assert processes.errors(1) == ""


@pytest.mark.slow
def test_a_machine_that_falls_silent_ends_the_run(corpus, tmp_path):
    impatient = "from mlxdecoder import cli; from mlxdecoder.training import peers; peers.SILENCE = 6; exit(cli.main())"
    arguments = ["--corpus", corpus.name, *OPTIONS, "--steps", 10**6, "--out", tmp_path / "out"]
    with Processes(2, tmp_path, arguments, program=("-c", impatient)) as processes:
        processes.wait_for(tmp_path / "out" / "run.json")
        processes.all[1].send_signal(signal.SIGSTOP)
        assert processes.all[0].wait(LONG) == 2
        assert "nothing heard from the others for 0.1 minutes. The checkpoints are kept" in processes.errors(0)
    load_checkpoint(tmp_path / "out")
