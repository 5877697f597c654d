"""The tables of mutations are honest: each has its place in our sources and a launch that goes there."""

from __future__ import annotations

from collections import Counter

import pytest

from mlxdecoder.kernels import source
from tests.kernels.mutants.mutation import MUTATIONS, Mutation, put_in
from tests.kernels.probes import PROBES


def test_there_are_enough_of_them_in_every_file() -> None:
    assert len(MUTATIONS) >= 60
    files = {path.stem for path in source.FOLDER.glob("*.metal")} - {"unroll"}  # which computes nothing
    assert {mutation.file for mutation in MUTATIONS} == files
    assert [name for name, count in Counter(map(str, MUTATIONS)).items() if count > 1] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_each_has_its_place_and_a_launch_that_can_notice(mutation: Mutation) -> None:
    assert (source.FOLDER / f"{mutation.file}.metal").read_text().count(mutation.find) == 1
    assert mutation.find != mutation.replace
    assert set(mutation.probes) <= set(PROBES)


def test_a_mutation_is_seen_by_launches_while_it_is_put_in_and_never_on_disk() -> None:
    mutation = next(one for one in MUTATIONS if one.file == "mask")
    file = source.FOLDER / "mask.metal"
    before, on_disk = source.read("forward"), file.read_text()
    with put_in(mutation):
        assert source.read("forward").header == before.header.replace(mutation.find, mutation.replace) != before.header
        assert file.read_text() == on_disk
    assert source.read("forward") == before
