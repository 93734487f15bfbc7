"""Attributes of other modules that a capture replaces, and puts back at its end."""

from __future__ import annotations

from typing import Any, List, Tuple

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
