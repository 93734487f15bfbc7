#!/usr/bin/env python3
"""Exports cases to PyTorch and runs them there on the CPU.

    pytorch.py PROGRAM [CASES] [--expect LIST]... [--allow LIST] [--filter TEXT] [--keep FOLDER] [--option TEXT]...
               [--gradients]

PROGRAM exports the cases: `conformance` ONNX's cases in the folder CASES, `pytorch_ops` launches of single ops. LIST
names cases that may fail, one per line: a pattern for names, then the reason. Exits with 77 (skipped) if torch or the
cases are not installed, and with 1 if a case fails that is not on the list, or if a case passes that is listed by its
full name. A case that the export refuses needs no line if another case of its op (the name up to the first "-") passes.
With --gradients, the gradients of the floating inputs are compared instead of the outputs. The cases of --allow may fail
or pass.
"""

import argparse
import collections
import contextlib
import fnmatch
import glob
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest.mock
import warnings

SKIPPED = 77  # for CTest

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

RTOL = 1e-3  # as the cases are compared elsewhere
HALF_TOL = 2e-2  # both of them for f16 and bf16, which sums of PyTorch's are rounded to
ATOL = 1e-6  # of the largest element: a Fourier transform's zeros are as far from 0


def load(path):
    """An exported module."""
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module):
    """The outputs of an exported module."""
    with contextlib.redirect_stdout(io.StringIO()):
        return list(module.main(["--iterations", "1"]).values())


def difference(got, want, is_half=False, least=0):
    """How two arrays differ; None if they do not. Elements are as precise as the largest one, or as `least`."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"is {got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
    if want.dtype.kind == "f":
        finite = numpy.abs(want[numpy.isfinite(want)])
        rtol, atol = (HALF_TOL, HALF_TOL) if is_half else (RTOL, ATOL)
        near = numpy.allclose(got, want, rtol, atol * finite.max(initial=least), equal_nan=True)
    else:
        near = numpy.array_equal(got, want)
    return None if near else "differs"


def problem(path):
    """The problem of a module's outputs; None if there is none."""
    compared = 0
    for i, got in enumerate(run(load(path))):
        file = path.with_suffix(f".{i}.npy")
        if got.dtype == torch.bfloat16:  # NumPy does not have it
            file, got = path.with_suffix(f".{i}.bfloat16.npy"), got.float()
        if not file.exists():
            continue
        want = numpy.load(file)
        wrong = difference(got.numpy(), want, want.dtype == numpy.float16 or ".bfloat16" in file.name)
        if wrong:
            return f"output {i} {wrong}"
        compared += 1
    return None if compared else "no output was compared"


def loss_of(outputs):
    """The sum of all floating elements, element i times 0.5 + (i mod 7) / 4, as conformance computes it."""
    total = torch.zeros((), dtype=torch.float64)
    for output in outputs:
        if output.is_floating_point():
            factors = 0.5 + torch.arange(output.numel()) % 7 / 4
            total = total + (output.double() * factors.reshape(output.shape)).sum()
    return total


def gradients_of(path, names):
    """The gradients of the inputs of a module that have these names; zeros for those that the module does not load."""
    module = load(path)
    inputs = {}
    original = module.load_safetensors

    def load_input(source, where):
        tensor = original(source, where)
        name = source.partition("#")[2].replace("/", "_")
        name = name if name in names else name.removeprefix("_")  # which the export puts before digits
        if name in names:
            inputs[name] = tensor.requires_grad_()
        return tensor

    module.load_safetensors = load_input
    # An input in a submodule is a Parameter, which has no connection to the tensor that it is made from.
    with unittest.mock.patch.object(torch, "no_grad", contextlib.nullcontext), \
         unittest.mock.patch.object(torch.nn, "Parameter", lambda tensor, requires_grad: tensor):
        loss = loss_of(run(module))
    if loss.requires_grad:
        loss.backward()
    return {name: tensor.grad.numpy() for name, tensor in inputs.items() if tensor.grad is not None}


def gradient_problem(path):
    """The problem of the gradients of a module's inputs; None if there is none."""
    wanted = {file.name.removeprefix(f"{path.stem}.grad.").removesuffix(".npy"): numpy.load(file)
              for file in path.parent.glob(f"{glob.escape(path.stem)}.grad.*.npy")}
    try:
        groups = [(wanted, gradients_of(path, wanted))]
    except RuntimeError as error:
        if "not differentiable with respect to argument" not in str(error):
            raise
        groups = []
    for name in [] if groups else wanted:  # PyTorch has a gradient for only some of the inputs
        with contextlib.suppress(RuntimeError):
            groups.append(([name], gradients_of(path, [name])))
    for names, gradients in groups:
        for name in names:
            want = wanted[name]
            # A gradient may be the difference of larger numbers.
            wrong = difference(gradients.get(name, numpy.zeros_like(want)), want, least=1)
            if wrong:
                return f"the gradient of {name} {wrong}"
    return None if groups else "no gradient was compared"


def outcome(modules, problem):
    """The outcome of a case, and the reason. `problem` is a function of a module."""
    if not modules:
        return "failed", "nothing was exported"
    try:
        detail = next(filter(None, map(problem, modules)), None)
    except Exception as error:  # whatever a module does, the next one is tried
        detail = f"{type(error).__name__}: {error}".splitlines()[0]
        if re.search("(not implemented for '?|Unsupported dtype )(Half|BFloat16)", detail):
            return "unsupported", detail  # on the CPU
    return ("failed", detail) if detail else ("passed", "")


def patterns_in(path):
    """The patterns of a list of cases."""
    return [line.split(" ")[0] for line in path.read_text().splitlines() if line and not line.startswith("#")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("cases", nargs="?")
    parser.add_argument("--expect", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--allow", type=pathlib.Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--option", action="append", default=[], help="for the program")
    parser.add_argument("--gradients", action="store_true")
    arguments = parser.parse_args()
    patterns = [pattern for path in arguments.expect for pattern in patterns_in(path)]
    allowed = patterns + (patterns_in(arguments.allow) if arguments.allow else [])
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        folder = arguments.keep or pathlib.Path(place)
        listed = subprocess.run([arguments.program, *filter(None, [arguments.cases]), "--filter", arguments.filter,
                                 "--json", "--pytorch", folder, *arguments.option,
                                 *(["--gradients"] if arguments.gradients else [])], capture_output=True, text=True)
        if listed.returncode == SKIPPED:
            print(listed.stdout, end="")
            return SKIPPED
        if listed.returncode not in (0, 1):
            sys.exit(listed.stderr)
        modules = collections.defaultdict(list)
        for path in sorted(folder.glob("*.py")):
            modules[path.stem.rpartition("-")[0]].append(path)
        outcomes = {}
        for case in json.loads(listed.stdout)["cases"]:
            name = case["case"]
            outcomes[name] = (case["outcome"], case["detail"])
            if case["outcome"] == "passed":
                outcomes[name] = outcome(modules[name], gradient_problem if arguments.gradients else problem)
    for name, (result, detail) in outcomes.items():
        if result != "passed":
            print(f"{result:<12}{name}: {detail}")
    counts = [sum(result == wanted for result, _ in outcomes.values())
              for wanted in ("passed", "failed", "unsupported")]
    print("{} passed, {} failed, {} unsupported".format(*counts))
    if not arguments.expect:
        return 0 if outcomes else 1
    reached = {name.partition("-")[0] for name, (result, _) in outcomes.items() if result == "passed"}
    surprises = [f"{name} is not on the list of cases that may fail" for name, (result, _) in outcomes.items()
                 if (result == "failed" or (result == "unsupported" and name.partition("-")[0] not in reached))
                 and not any(fnmatch.fnmatch(name, pattern) for pattern in allowed)]
    surprises += [f"{pattern} passes now; take it off the list" for pattern in patterns
                  if not arguments.filter and "*" not in pattern and outcomes.get(pattern, ("passed",))[0] == "passed"]
    print("\n".join(surprises), file=sys.stderr)
    return 1 if surprises or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
