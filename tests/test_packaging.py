"""What lands on the disk of somebody who installs the project, and whether it works there without the source tree."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

INFO = f"mlxdecoder-{importlib.metadata.version('mlxdecoder')}.dist-info"
TREE = Path(__file__).parents[1]
NOT_SHIPPED = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")


def shipped(folder: str) -> set[str]:
    """The files of a folder of the tree, as paths relative to it."""
    paths = (path.relative_to(TREE / folder) for path in (TREE / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if path.suffix != ".pyc" and not path.name.startswith(".")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(TREE, folder / "tree", ignore=NOT_SHIPPED)
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder / "dist", folder / "tree"], check=True)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that has the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel], check=True)
    return folder / "bin"


def run(command: list[str | Path], folder: Path, text: str = "") -> str:
    """Run in another folder than the tree, and without the variables that would let Python look there."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    finished = subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_assets_are_a_package_of_the_library() -> None:
    assert importlib.resources.files("mlxdecoder.assets").joinpath("toy", "lexicon.json").is_file()


@pytest.mark.parametrize("name", ["app", "assets", "kernels", "tests"])
def test_no_folder_of_the_tree_is_a_package_of_its_own(name: str, tmp_path: Path) -> None:
    found = run([sys.executable, "-c", f"import importlib.util as util; print(util.find_spec({name!r}))"], tmp_path)
    assert found.strip() == "None"


@pytest.mark.slow
def test_the_wheel_holds_the_library_and_the_assets_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"mlxdecoder", INFO}
    rooms = ("app", "assets", "kernels")
    expected = shipped("mlxdecoder") | {f"{room}/{name}" for room in rooms for name in shipped(room)}
    assert {name.removeprefix("mlxdecoder/") for name in names if name.startswith("mlxdecoder/")} == expected
    assert f"{INFO}/licenses/LICENSE" in names


@pytest.mark.slow
def test_the_installed_command_shows_its_help(installed: Path, tmp_path: Path) -> None:
    assert "translate" in run([installed / "mlxdecoder", "--help"], tmp_path)


@pytest.mark.slow
def test_the_installed_command_translates_with_the_packaged_model(installed: Path, tmp_path: Path) -> None:
    french = run([installed / "mlxdecoder", "translate"], tmp_path, "The black cat sleeps.\n")
    assert french.strip() == "Le chat noir dort."
