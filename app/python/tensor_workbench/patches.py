"""Attributes of other modules that a capture replaces, and puts back at its end."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Set, Tuple

import torch

from .lock import LOCK

_ABSENT = object()


class Patches:
    """Replaces attributes; `undo` restores them in reverse."""

    def __init__(self) -> None:
        self._before: List[Tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        before = vars(owner).get(name, _ABSENT) if hasattr(owner, "__dict__") else getattr(owner, name, _ABSENT)
        self._before.append((owner, name, before))
        setattr(owner, name, value)

    def set_present(self, owner: Any, name: str, value: Any) -> None:
        """Replaces what this version of the owner has; else does nothing."""
        if hasattr(owner, name):
            self.set(owner, name, value)

    def undo(self) -> None:
        while self._before:
            owner, name, before = self._before.pop()
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def replace_optimizer_steps(patches: Patches, replacement_of: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces each `step` that an optimizer class defines, now and when an optimizer of a new class is made."""
    base = torch.optim.Optimizer
    initialize = base.__init__
    replaced: Set[type] = set()

    def replace(kind: type) -> None:
        step = vars(kind).get("step")
        if step is not None and kind not in replaced:
            replaced.add(kind)
            patches.set(kind, "step", replacement_of(step))

    @functools.wraps(initialize)
    def initialized(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        with LOCK:
            for kind in reversed(type(optimizer).__mro__):
                if issubclass(kind, base):
                    replace(kind)
        initialize(optimizer, *args, **kwargs)

    patches.set(base, "__init__", initialized)
    known = [base]
    while known:
        kind = known.pop()
        known += kind.__subclasses__()
        replace(kind)
