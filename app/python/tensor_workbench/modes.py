"""Leaving PyTorch's modes for a moment, on all versions."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch

__all__ = ["no_dispatch", "no_functions"]

no_functions: Any
if hasattr(torch._C, "DisableTorchFunctionSubclass"):
    no_functions = torch._C.DisableTorchFunction
else:
    from torch import overrides

    class NoFunctions:
        """Before torch 2.0, DisableTorchFunction leaves modes on."""

        def __enter__(self) -> None:
            self._was_on = torch._C._is_torch_function_mode_enabled()
            if self._was_on:
                torch._C._set_torch_function_mode(None)  # type: ignore[attr-defined]
            self._guard = torch._C.DisableTorchFunction()
            self._guard.__enter__()

        def __exit__(self, *error: Any) -> None:
            self._guard.__exit__(*error)
            if self._was_on:
                torch._C._set_torch_function_mode(overrides._TorchFunctionStackMode())  # type: ignore[attr-defined]

    no_functions = NoFunctions
