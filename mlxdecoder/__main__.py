"""`python -m mlxdecoder` is the command `mlxdecoder`."""

import sys

from mlxdecoder.cli import main

sys.exit(main())
