"""The package itself: what is imported when, and what its names mean."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import mlxdecoder


def python(program: str) -> str:
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize(
    "names", ["mlxdecoder", "mlxdecoder.errors", "mlxdecoder.files, mlxdecoder.maps, mlxdecoder.labels"]
)
def test_what_the_window_of_the_app_uses_does_not_import_mlx(names: str) -> None:
    assert python(f"import sys, {names}; print('mlx.core' in sys.modules)").strip() == "False"


@pytest.mark.parametrize("name", ["attention", "evaluate", "generate", "show", "translate"])
def test_a_function_wins_over_the_module_of_its_name(name: str) -> None:
    program = f"import mlxdecoder, mlxdecoder.{name}; from mlxdecoder import {name} as again; "
    assert python(program + f"print(callable(mlxdecoder.{name}), again is mlxdecoder.{name})").strip() == "True True"


@pytest.mark.parametrize("name", mlxdecoder.__all__)
def test_every_name_that_is_promised_is_there(name: str) -> None:
    assert not isinstance(getattr(mlxdecoder, name), ModuleType)
    assert name in dir(mlxdecoder)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'transformer'"):
        mlxdecoder.transformer  # noqa: B018
