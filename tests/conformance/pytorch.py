#!/usr/bin/env python3
"""ONNX's own test cases, imported, exported to PyTorch and run there on the CPU.

    pytorch.py CONFORMANCE CASES [--expect LIST]... [--filter TEXT] [--keep FOLDER]

CONFORMANCE is the program of that name, CASES the folder of the cases. LIST names cases that may fail, a line each:
name, then the reason. Exits 77 (skipped) where torch or the cases are not installed, 1 when a case fails that is not on
the list, or when a listed one passes.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

RTOL = 1e-3  # as the cases are compared elsewhere
ATOL = 1e-6  # of the largest element: a Fourier transform's zeros are as far from 0


def run(path):
    """The outputs of an exported module."""
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with contextlib.redirect_stdout(io.StringIO()):
        return list(module.main(["--iterations", "1"]).values())


def problem(path):
    """What is wrong with a module's outputs; nothing when nothing is."""
    outputs = run(path)
    compared = 0
    for i, got in enumerate(outputs):
        file = path.with_suffix(f".{i}.npy")
        if not file.exists():
            continue
        want = numpy.load(file)
        got = got.numpy()
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"output {i} is {got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
        if want.dtype.kind == "f":
            finite = numpy.abs(want[numpy.isfinite(want)])
            near = numpy.allclose(got, want, RTOL, ATOL * finite.max(initial=0), equal_nan=True)
        else:
            near = numpy.array_equal(got, want)
        if not near:
            return f"output {i} differs"
        compared += 1
    return None if compared else "no output was compared"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conformance")
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--expect", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--filter", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.cases.is_dir():
        print(f"skipped: there is no folder {arguments.cases} (Debian: libonnx-testdata)")
        return 77
    expected = {}
    for path in arguments.expect:
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                expected[line.split(" ")[0]] = line
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        folder = arguments.keep or pathlib.Path(place)
        listed = subprocess.run([arguments.conformance, arguments.cases, "--filter", arguments.filter, "--json",
                                 "--pytorch", folder], capture_output=True, text=True)
        if listed.returncode not in (0, 1):
            sys.exit(listed.stderr)
        outcomes = {}
        for case in json.loads(listed.stdout)["cases"]:
            name, detail = case["case"], case["detail"]
            if case["outcome"] == "passed":
                modules = sorted(folder.glob(name + "-*.py"))
                try:
                    detail = next(filter(None, map(problem, modules)), None) if modules else "nothing was exported"
                except Exception as error:  # whatever a module does, the next one is tried
                    detail = f"{type(error).__name__}: {error}".splitlines()[0]
                outcomes[name] = ("failed", detail) if detail else ("passed", "")
            else:
                outcomes[name] = (case["outcome"], detail)
    for name, (outcome, detail) in outcomes.items():
        if outcome != "passed":
            print(f"{outcome:<12}{name}: {detail}")
    counts = [sum(outcome == wanted for outcome, _ in outcomes.values())
              for wanted in ("passed", "failed", "unsupported")]
    print("{} passed, {} failed, {} unsupported".format(*counts))
    surprises = [name for name, (outcome, _) in outcomes.items()
                 if arguments.expect and (name in expected) == (outcome == "passed")]
    for name in surprises:
        print(f"{name} passes now; take it off the list" if name in expected
              else f"{name} is not on the list of cases that may fail", file=sys.stderr)
    return 1 if surprises or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
