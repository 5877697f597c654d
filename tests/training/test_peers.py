"""Who trains with whom: alone unless launched together, and what goes wrong on the way is told in words."""

import os
import signal
import threading
from dataclasses import replace

import mlx.core as mx
import pytest

from mlxdecoder.commands import train_together
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.training import peers as module
from mlxdecoder.training.peers import ALONE, Peers, join
from mlxdecoder.training.prepare import fresh_model
from mlxdecoder.training.trainer import Trainer
from tests.training.pretended import OneOf

TINY = ModelConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1)


def test_a_process_that_was_not_launched_is_alone_and_touches_no_network(monkeypatch):
    monkeypatch.delenv("MLX_RANK", raising=False)
    monkeypatch.setattr(mx.distributed, "init", None)
    assert join() is ALONE
    assert (ALONE.rank, ALONE.size) == (0, 1)
    assert ALONE.stops(True)
    assert not ALONE.any(False)


def test_a_launch_of_one_process_is_alone_too(monkeypatch, tmp_path):
    """`mlx.launch -n 1` gives an empty file of hosts, which MLX itself cannot read."""
    (tmp_path / "hosts").write_text("\n")
    monkeypatch.setenv("MLX_RANK", "0")
    monkeypatch.setenv("MLX_HOSTFILE", str(tmp_path / "hosts"))
    assert join() is ALONE


@pytest.mark.parametrize("hosts", [b"no json", b'[["nowhere"], ["127.0.0.1:1"]]', b"\xff\xfe"])
def test_hosts_that_cannot_be_read_are_refused(monkeypatch, tmp_path, hosts):
    (tmp_path / "hosts").write_bytes(hosts)
    monkeypatch.setenv("MLX_RANK", "1")
    monkeypatch.setenv("MLX_HOSTFILE", str(tmp_path / "hosts"))
    with pytest.raises(UserError, match="process 1, on .*: cannot connect with the others"):
        join()


def test_another_version_on_one_of_the_machines_is_refused(monkeypatch):
    peers = OneOf(1, 2)
    monkeypatch.setattr(peers, "share", lambda *_: ({}, {"version": "99"}))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(UserError, match="process 1 of 2, .* the first process has 99; install the same one"):
        train_together.train_along(peers)


@pytest.mark.parametrize(("dropout", "alike"), [(0.0, True), (0.5, False)])
def test_each_process_drops_out_others(prepared, options, dropout, alike):
    """Both have the same sentence for their share."""
    losses = []
    for rank in (0, 1):
        model = fresh_model(replace(TINY, dropout=dropout), prepared.tokenizer, seed=0)
        train = [prepared.train[0]] * 2
        peers = OneOf(rank, 2)
        Trainer(model, prepared.tokenizer, train, [], replace(options, steps=1)).run(peers)
        losses += peers.losses
    assert (losses[0] == losses[1]) == alike


class SecondOfTwo:
    """A group of MLX's, seen from the second process."""

    def rank(self):
        return 1

    def size(self):
        return 2


@pytest.mark.parametrize("wait", [lambda peers: peers.any(False), lambda peers: peers.share({}, {})])
def test_nothing_is_waited_for_without_an_end(monkeypatch, capsys, wait):
    """The first process says nothing until this one has given up."""
    ended = threading.Event()

    def silence(message, **_):
        assert ended.wait(60)
        raise RuntimeError("gone")

    monkeypatch.setattr(module, "WORK", 0.01)
    monkeypatch.setattr(os, "_exit", lambda status: ended.set())
    monkeypatch.setattr(mx.distributed, "all_sum", silence)
    with pytest.raises(UserError, match="process 1 of 2"):
        wait(Peers(SecondOfTwo()))
    assert "nothing heard from the others" in capsys.readouterr().err


def test_only_the_process_that_measures_ends_a_run_for_want_of_patience(prepared, options):
    """The others have the state of the beginning, be it that of a run that patience had ended."""
    options = replace(options, steps=8, evaluate_every=2, patience=1)
    model = fresh_model(TINY, prepared.tokenizer, seed=0)
    trainer = Trainer(model, prepared.tokenizer, prepared.train, [], options)
    state = trainer.state()
    trainer.take_up(replace(state, values=state.values | {"waited": 1}), "state")
    trainer.run(OneOf(1, 2))
    assert trainer.step == 8
