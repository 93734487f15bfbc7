"""Records where the tensors of a PyTorch program live: mismatches of devices, transfers and syncs, without a GPU.

    python -m tensor_workbench capture train.py

    with tensor_workbench.capture("run.twbcap") as c:
        train()
    print(c.summary())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session import Capture, assert_no_mismatches, capture
    from .watching import Watch, watch

__all__ = ["Capture", "Watch", "assert_no_mismatches", "capture", "watch"]
__version__ = "1.0.0"


def __getattr__(name: str) -> Any:
    # Importing the package does not need torch, so that the command can say in a sentence that torch is missing.
    if name in ("Watch", "watch"):
        from . import watching
        return getattr(watching, name)
    if name in __all__:
        from . import session
        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
