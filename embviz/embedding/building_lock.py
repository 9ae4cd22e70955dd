"""One lock for all that builds modules of torch, since what it changes meanwhile is changed for every thread."""

from __future__ import annotations

from threading import RLock

BUILDING = RLock()
"""Held by whatever draws from torch's one random generator (a new module does, and `fork_rng` puts back the state
that every thread shares), and by whatever replaces functions of torch for so long (`no_init_weights`)."""
