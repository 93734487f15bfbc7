"""Which nn.Module is being called, by its path from the outermost one, and the names of its parameters."""

from __future__ import annotations

import functools
from typing import Any, Dict
from weakref import WeakKeyDictionary

import torch

from .lock import LOCK
from .modes import no_functions
from .patches import Patches
from .recorder import Recorder

_MOST_OF_A_CLASS = 8  # outermost modules of one class that get paths of their own


class ModulePaths:
    """Keeps the recorder's stack of modules. The outermost module's path is its class; others add their names."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._ids: "WeakKeyDictionary[torch.nn.Module, int]" = WeakKeyDictionary()
        self._by_path: Dict[str, int] = {}

    def install(self, patches: Patches) -> None:
        module_class = torch.nn.Module
        call = module_class.__call__
        apply = module_class._apply

        @functools.wraps(call)
        def recorded_call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            modules = self._recorder.thread.modules
            modules.append(self._id(module, modules[-1] if modules else 0))
            try:
                return call(module, *args, **kwargs)
            finally:
                modules.pop()

        @functools.wraps(apply)
        def recorded_apply(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            out = apply(module, *args, **kwargs)
            if module in self._ids:
                with no_functions():
                    self._add_parameters(module, self._ids[module])
            return out

        patches.set(module_class, "__call__", recorded_call)
        patches.set(module_class, "_apply", recorded_apply)

    def _id(self, module: torch.nn.Module, parent: int) -> int:
        number = self._ids.get(module)
        if number is None:
            with no_functions(), LOCK:
                number = self._ids.get(module) or self._add_tree(module, parent)
        return number

    def _add_tree(self, module: torch.nn.Module, parent: int) -> int:
        kind = type(module).__name__
        if parent:
            path = f"{self._recorder.module_paths[parent]}.{kind}"
        else:
            path = kind
            for copy in range(2, _MOST_OF_A_CLASS + 1):
                if path not in self._by_path:
                    break
                path = f"{kind}#{copy}"
        for name, child in module.named_modules():
            if child in self._ids:
                continue
            child_path = f"{path}.{name}" if name else path
            number = self._by_path.get(child_path)
            if number is None:
                above = self._by_path.get(child_path.rpartition(".")[0], 0) if name else parent
                number = self._recorder.add_module(child_path, type(child).__name__, above)
                self._by_path[child_path] = number
            self._ids[child] = number
            self._add_parameters(child, number)
        return self._ids[module]

    def _add_parameters(self, module: torch.nn.Module, number: int) -> None:
        for tensors, is_buffer in ((module._parameters, False), (module._buffers, True)):
            for name, tensor in tensors.items():
                if isinstance(tensor, torch.Tensor):
                    self._recorder.add_parameter(tensor, number, name, is_buffer)
