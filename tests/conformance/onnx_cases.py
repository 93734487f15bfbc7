#!/usr/bin/env python3
"""Runs the node cases of the installed Python package onnx, which are newer than Debian's.

    onnx_cases.py PROGRAM [--expect LIST] [--keep FOLDER] [--option OPTION]...

Writes the cases whose inputs and outputs have dtypes that twb has, in the layout of Debian's
libonnx-testdata, and gives them to PROGRAM (conformance) with OPTIONs. The expected results of f16 and bf16 are rounded
after every operation, so they may differ from ours by two units in the last place. With --keep, the cases stay in
FOLDER, for other runs of PROGRAM. The first line of LIST names the version of onnx whose cases it lists; with another version the cases
run without the list. Exits with 77 (skipped) if onnx is not installed, and after a run without the list.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

SKIPPED = 77  # for CTest

try:
    import onnx
    from onnx import OptionalProto, SequenceProto, TensorProto, numpy_helper
    from onnx.backend.test.case import node as node_cases
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

ELEMENT_TYPES = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT8,
                 TensorProto.INT16, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.UINT16,
                 TensorProto.UINT32, TensorProto.UINT64, TensorProto.BOOL, TensorProto.FLOAT8E4M3FN,
                 TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ,
                 TensorProto.FLOAT8E8M0, TensorProto.FLOAT4E2M1, TensorProto.INT4, TensorProto.UINT4,
                 TensorProto.INT2, TensorProto.UINT2}


def element_type(type_proto):
    """The element type of a tensor, a sequence or an optional; None for a map."""
    kind = type_proto.WhichOneof("value")
    if kind == "tensor_type":
        return type_proto.tensor_type.elem_type
    if kind in ("sequence_type", "optional_type"):
        return element_type(getattr(type_proto, kind).elem_type)
    return None


def is_ours(case):
    """Whether all inputs and outputs are tensors, sequences and optionals of dtypes that twb has."""
    values = [*case.model.graph.input, *case.model.graph.output]
    return all(element_type(value.type) in ELEMENT_TYPES for value in values)


def proto_of(data, value):
    """An input or an output as in the files of a test data set."""
    if isinstance(data, (TensorProto, SequenceProto, OptionalProto)):
        return data
    kind = value.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(data, value.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(data, value.name)
    return numpy_helper.from_array(data, value.name)


def write(case, folder):
    """Writes model.onnx and test_data_set_*/{input,output}_*.pb."""
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for i, (inputs, outputs) in enumerate(case.data_sets):
        place = folder / f"test_data_set_{i}"
        place.mkdir()
        for kind, arrays, values in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for j, array in enumerate(arrays):
                (place / f"{kind}_{j}.pb").write_bytes(proto_of(array, values[j]).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--expect", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--option", action="append", default=[], help="for the program")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        folder = arguments.keep or pathlib.Path(place)
        cases = node_cases.collect_testcases(None)
        ours = [case for case in cases if is_ours(case)]
        for case in ours:
            write(case, folder / case.name)
        print(f"onnx {onnx.__version__}: {len(ours)} of {len(cases)} cases have only dtypes that twb has", flush=True)
        listed = arguments.expect and f"onnx {onnx.__version__} " in arguments.expect.read_text().partition("\n")[0]
        expect = ["--expect", arguments.expect] if listed else []
        done = subprocess.run([arguments.program, folder, "--half-ulps", "2", *expect, *arguments.option])
    if arguments.expect and not listed:
        print(f"skipped: the list {arguments.expect.name} is for another version of onnx")
        return SKIPPED
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
