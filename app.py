"""The page, for `python app.py` and for a Hugging Face Space."""

import sys

from embviz.cli import main

if __name__ == "__main__":
    sys.exit(main(["serve"]))
