"""Make the fixtures anew: `python -m tests.pretrained.make_fixtures`, where transformers is."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from tests.pretrained.answers import make
from tests.pretrained.variants import KEPT

FIXTURES = Path(__file__).parent / "fixtures"


def main() -> None:
    shutil.rmtree(FIXTURES, ignore_errors=True)
    for variant in KEPT:
        folder = FIXTURES / variant.name
        answers = make(variant, folder)
        np.savez_compressed(folder / "answers.npz", **{k: _small(v) for k, v in answers.items()})
        print(variant.name, sum(file.stat().st_size for file in folder.iterdir()))


def _small(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int16 if np.issubdtype(array.dtype, np.integer) else np.float32)


if __name__ == "__main__":
    main()
