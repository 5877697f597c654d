"""Which folders become which packages; all else is in pyproject.toml."""

from setuptools import find_packages, setup

# Folders that stand beside the library and are imported from inside it: `assets` as `mlxdecoder.assets`.
ROOMS = ["app", "assets", "kernels"]

setup(
    packages=find_packages(include=["mlxdecoder", "mlxdecoder.*"])
    + [f"mlxdecoder.{package}" for room in ROOMS for package in find_packages(include=[room, f"{room}.*"])],
    package_dir={f"mlxdecoder.{room}": room for room in ROOMS},
)
