"""python -m embviz: the same as the command `embviz`."""

from __future__ import annotations

import sys

from embviz.cli import main

if __name__ == "__main__":
    sys.exit(main())
