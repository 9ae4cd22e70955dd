"""The references of the models that need no network; light, since the page is drawn before torch is here."""

from __future__ import annotations

BUNDLED = "bundled"
UNTRAINED_BERT = "untrained:bert-base"
UNTRAINED_BUNDLED = "untrained:all-MiniLM-L6-v2"
