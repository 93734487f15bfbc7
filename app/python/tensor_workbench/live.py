"""What an open watch and an open capture of one process know of each other."""

from __future__ import annotations

from typing import Any, Dict, Optional

# The original of each function that the watch replaced. PyTorch hands a mode the function that it finds in
# torch.Tensor, which is the replacement.
ORIGINALS: Dict[Any, Any] = {}


class Listener:
    """Receives the findings of a capture as they are made."""

    def claimed_transfer(self, size: int, source: str, target: str, cause: str, pinned: bool, non_blocking: bool,
                         location: Any) -> None:
        raise NotImplementedError

    def claimed_sync(self, cause: str, location: Any) -> None:
        raise NotImplementedError


listener: Optional[Listener] = None
