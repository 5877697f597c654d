"""What belongs into the bundle besides what the imports say, and what does not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

Entry = tuple[str, str, str]  # where it goes, where it comes from, of which kind it is

UNUSED_MODULES = [
    "IPython", "PIL.ImageQt", "PySide6.QtNetwork", "PySide6.QtTest", "_pytest", "hypothesis", "lxml", "mlx_lm", "mypy",
    "pip", "pygments", "pytest", "pytestqt", "sacrebleu", "sacremoses", "scipy", "selenium", "setuptools", "tkinter",
    "torch",
]  # fmt: skip

# Of MLX only what is needed to compile against it; of Qt what neither widgets nor the platforms of a desktop load.
UNUSED_FILES = (
    "mlx/include/", "mlx/share/", "mlx/lib/cmake/", "matplotlib/mpl-data/sample_data/",
    "PySide6/Qt/translations/", "PySide6/Qt/plugins/networkinformation/", "PySide6/Qt/plugins/tls/",
    "PySide6/Qt/plugins/egldeviceintegrations/", "PySide6/Qt/plugins/platforms/libqeglfs",
    "PySide6/Qt/plugins/platforms/libqlinuxfb", "PySide6/Qt/plugins/platforms/libqminimal",
    "PySide6/Qt/plugins/platforms/libqvnc", "PySide6/Qt/plugins/platforms/libqvkkhrdisplay",
    # The look of GTK, which wants the libraries of the very system that it runs on.
    "PySide6/Qt/plugins/platformthemes/libqgtk3", "libgtk-3", "libgdk", "libatk", "libcairo", "libepoxy", "libpango",
)  # fmt: skip


def needed(entries: Iterable[Entry]) -> list[Entry]:
    """The entries without those that nothing would load."""
    return [entry for entry in entries if not entry[0].startswith(UNUSED_FILES)]


def with_metal_library(libraries: Iterable[Entry], data: Iterable[Entry]) -> list[Entry]:
    """The data with mlx.metallib beside every libmlx: MLX looks for it where the libmlx lies that was loaded."""
    data = list(data)
    found = next((source for name, source, _ in data if PurePosixPath(name).name == "mlx.metallib"), None)
    if found is None:
        return data  # an MLX without Metal
    folders = {PurePosixPath(name).parent for name, _, _ in libraries if PurePosixPath(name).name.startswith("libmlx.")}
    there = {name for name, _, _ in data}
    wanted = sorted(str(folder / "mlx.metallib") for folder in folders)
    return data + [(name, found, "DATA") for name in wanted if name not in there]
