"""The capture's verdicts on devices are those of PyTorch, op by op.

Where PyTorch's FakeTensor works without a GPU (2.1 and newer), it is asked. Older versions are compared with
verdicts.json, which `python test_verdicts.py` writes with a newer one.
"""

import itertools
import json
import os
import sys

import pytest
import torch

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import tensor_workbench
from tensor_workbench.modes import no_dispatch, no_functions
from verdict_samples import Tensor, samples

DEVICES = ("cpu", "cuda:0", "cuda:1")
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verdicts.json")
CAN_ASK = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 1)

INDEX = "CUDA raises for an index on another GPU, and for a CUDA index of a CPU tensor; FakeTensor does not check indices"
VALUES = "CUDA raises for values on another device than the tensor; FakeTensor does not check them"
UNCHECKED = "CUDA raises for operands on several devices; FakeTensor has a rule of its own for this op that does not check"
SLOW_PATH = "CUDA's fast path is left for one that adds tensor by tensor, which raises; FakeTensor does not check lists in place"
# Overloads whose verdict differs from FakeTensor's, with the reason. The capture follows CUDA.
EXCEPTIONS = {
    "index.Tensor": INDEX,
    "index_put": f"{INDEX}. {VALUES}",
    "index_put_": f"{INDEX}. {VALUES}",
    "slice_scatter": UNCHECKED, "diagonal_scatter": UNCHECKED,
    "native_dropout_backward": UNCHECKED,
    "_foreach_add_.List": SLOW_PATH, "_foreach_mul_.List": SLOW_PATH, "_foreach_div_.List": SLOW_PATH,
    "_foreach_addcmul_.Scalar": SLOW_PATH, "_foreach_addcdiv_.Scalar": SLOW_PATH, "_foreach_lerp_.Scalar": SLOW_PATH,
    "nextafter_": "FakeTensor refuses a 0-dimensional CPU tensor for nextafter only; both have the same kernel",
}
# The same before torch 2.15, whose FakeTensor checks these.
OLDER_EXCEPTIONS = {
    **EXCEPTIONS,
    "index_add": INDEX, "index_add_": INDEX, "index_copy": INDEX, "index_copy_": INDEX,
    "convolution": UNCHECKED,
}


def count_tensors(arguments):
    return sum(1 for argument in flattened(arguments) if isinstance(argument, Tensor))


def flattened(arguments):
    for argument in arguments:
        if isinstance(argument, list) and argument and isinstance(argument[0], Tensor):
            yield from argument
        else:
            yield argument


def cases(name, arguments, numbers):
    """(operand, its device, the others' device, whether it is 0-dimensional)."""
    count = count_tensors(arguments)
    is_in_place = name.split(".")[0].endswith("_")
    for operand, (one, others) in itertools.product(range(count), itertools.product(DEVICES, DEVICES)):
        if one == others and operand > 0 and not numbers:
            continue  # the same call again
        yield operand, one, others, False
        if numbers and not (is_in_place and operand == 0):
            yield operand, one, others, True


def build(arguments, case, make):
    chosen, one, others, is_number = case
    numbers = itertools.count()

    def tensor(spec):
        number = next(numbers)
        shape = () if is_number and number == chosen else spec.shape
        return make(shape, spec.dtype, one if number == chosen else others)

    return [[tensor(item) for item in argument] if isinstance(argument, list) and argument and isinstance(argument[0], Tensor)
            else tensor(argument) if isinstance(argument, Tensor) else argument for argument in arguments]


def fake_verdicts(function, arguments, keywords, all_cases):
    """True for each case that FakeTensor refuses; None if it has no opinion on the op."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    torch.cuda.is_available = lambda: False  # asked for each tensor, and slow where there is a driver library but no GPU
    verdicts = []
    with FakeTensorMode() as mode:
        def make(shape, dtype, device):
            with no_dispatch():
                meta = torch.empty(shape, dtype=dtype, device="meta")
            return FakeTensor(mode, meta, torch.device(device))

        for case in all_cases:
            try:
                function(*build(arguments, case, make), **keywords)
                verdicts.append(False)
            except Exception as error:
                if case[1] == case[2] or "device" not in str(error).lower():
                    return None  # FakeTensor cannot run the op without a GPU
                verdicts.append(True)
    return verdicts


def capture_verdicts(function, arguments, keywords, all_cases, c):
    """True for each case in which the capture records a mismatch."""
    recorder = c._recorder

    def make(shape, dtype, device):
        tensor = torch.eye(4)[:shape[0], :shape[1]].contiguous().to(dtype) if shape == (4, 4) and dtype.is_floating_point \
            else torch.zeros(shape, dtype=dtype)
        recorder.claims.memory(tensor).device = device
        return tensor

    verdicts = []
    for case in all_cases:
        before = recorder._mismatches
        with no_functions():
            tensors = build(arguments, case, make)
        function(*tensors, **keywords)
        verdicts.append(recorder._mismatches > before)
    return verdicts


def text(verdicts):
    return "".join("x" if verdict else "." for verdict in verdicts)


def named_samples():
    """(key, sample) with keys that tell samples of one overload apart."""
    seen = set()
    for sample in samples():
        key = f"{sample[0]} {count_tensors(sample[2])}"
        while key in seen:
            key += "'"
        seen.add(key)
        yield key, sample


def ask_fake_tensor():
    """By key: verdicts as text. Ops that FakeTensor cannot run are left out."""
    found = {}
    for key, (name, function, arguments, keywords, numbers) in named_samples():
        verdicts = fake_verdicts(function, arguments, keywords, list(cases(name, arguments, numbers)))
        if verdicts is not None:
            found[key] = text(verdicts)
    return found


@pytest.fixture(scope="module")
def captured():
    """By key: the capture's verdicts as text."""
    found = {}
    with tensor_workbench.capture(gpus=2) as c:
        for key, (name, function, arguments, keywords, numbers) in named_samples():
            found[key] = text(capture_verdicts(function, arguments, keywords, list(cases(name, arguments, numbers)), c))
    return found


def differences(expected, captured):
    """(keys that were compared, overloads that differ, with a difference each)"""
    compared = sorted(set(expected) & set(captured))
    by_key = dict(named_samples())
    differing = {}
    for key in compared:
        name, _, arguments, _, numbers = by_key[key]
        for case, mine, theirs in zip(cases(name, arguments, numbers), captured[key], expected[key]):
            if mine != theirs:
                differing[name] = f"{name} {case}: the capture {'refuses' if mine == 'x' else 'accepts'}"
    return compared, differing


def test_verdicts_are_those_in_the_table(captured):
    with open(TABLE) as file:
        compared, differing = differences(json.load(file)["verdicts"], captured)
    assert not [text for name, text in differing.items() if name not in EXCEPTIONS]
    assert set(differing) == {name for name in EXCEPTIONS if any(key.split(" ")[0] == name for key in compared)}
    assert len({key.split(" ")[0] for key in compared}) >= 150, len(compared)


@pytest.mark.skipif(not CAN_ASK, reason="FakeTensor of torch before 2.1 has no CUDA devices without a GPU")
def test_verdicts_are_those_of_this_version(captured, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", torch.cuda.is_available)
    compared, differing = differences(ask_fake_tensor(), captured)
    assert not [text for name, text in differing.items() if name not in OLDER_EXCEPTIONS and not name.startswith("nextafter")]
    assert len({key.split(" ")[0] for key in compared}) >= 150, len(compared)


@pytest.mark.parametrize("self_device, index_device, refused", [
    ("cuda:0", "cpu", False), ("cuda:0", "cuda:0", False), ("cuda:0", "cuda:1", True), ("cpu", "cuda:0", True), ("cpu", "cpu", False)])
def test_an_index_is_on_the_cpu_or_with_the_tensor(self_device, index_device, refused):
    with tensor_workbench.capture(gpus=2) as c:
        torch.zeros(4, device=self_device)[torch.tensor([1, 2], device=index_device)]
    assert bool(c.mismatches) == refused


if __name__ == "__main__":
    with open(TABLE, "w") as file:
        json.dump({"torch": torch.__version__, "verdicts": ask_fake_tensor()}, file, indent=0)
        file.write("\n")
