"""What the bundle starts: the window, or with `--worker` the process that computes for it."""

import sys

from mlxdecoder.app.__main__ import main

sys.exit(main())
