#!/usr/bin/env python3
"""Random models, imported and run by twb and compared with ONNX's reference and ONNX Runtime.

    differential.py TWB [--seed N] [--ops N] [--graphs N] [--bodies N] [--case ID] [--known LIST] [--keep FOLDER]
                        [--export] [--jobs N] [--verbose]

Models of one op (all opsets, dtypes, empty and 0-dimensional tensors, NaN and inf), graphs of 5 to 30 ops, and If, Loop
and Scan with random bodies. Case ID is KIND-SEED-INDEX ("ops-1-17"), as reports name it. With --export each model also
goes through `twb export --to onnx`: ONNX's checker and ONNX Runtime must accept the written model, and the result must be
the same. A result is correct if it equals that of a reference. If both references differ from it, the case fails unless
a line of LIST (GLOB : reason, with a glob for the case's label) matches. Exits with 77 (skipped) if onnx or onnxruntime
is not installed.
"""

import argparse
import concurrent.futures
import fnmatch
import pathlib
import subprocess
import sys
import tempfile

try:
    import ml_dtypes
    import numpy as np
    import onnx
    import onnx.reference
    import onnxruntime
    from onnx import helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import random_graphs
import random_ops

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TOLERANCES = {"float64": 1e-5, "float32": 1e-3, "float16": 1e-2, "bfloat16": 6e-2}
IR_VERSIONS = {17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 24: 11}


class Case:
    def __init__(self, name, label, model, inputs, tolerance):
        self.name, self.label, self.model, self.inputs, self.tolerance = name, label, model, inputs, tolerance
        self.outputs = [value.name for value in model.graph.output]


def traits(inputs):
    words = []
    if any(x is not None and x.size == 0 for x in inputs):
        words.append("empty")
    if any(x is not None and x.ndim == 0 for x in inputs):
        words.append("scalar")
    if any(x is not None and random_ops.is_float(x.dtype) and not np.isfinite(x.astype(np.float64)).all() for x in inputs):
        words.append("nonfinite")
    return words


def finished(graph, version, domain=""):
    """The model, with the types of its outputs as ONNX infers them."""
    imports = [helper.make_opsetid("", version if not domain else 17)]
    if domain:
        imports.append(helper.make_opsetid(domain, 3))
    model = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSIONS.get(version, 8))
    for value in model.graph.output:
        value.ClearField("type")
    return onnx.shape_inference.infer_shapes(model)


def op_case(name, dice):
    op, version, domain, inputs, attributes, count = random_ops.draw(dice)
    nodes, given, names, constants = [], {}, [], []
    for i, x in enumerate(inputs):
        if x is None:
            names.append("")
            continue
        names.append(f"x{i}")
        if x.dtype == BFLOAT16:  # which .npy files do not hold
            given[f"f{i}"] = x.astype(np.float32)
            nodes.append(helper.make_node("Cast", [f"f{i}"], [f"x{i}"], to=onnx.TensorProto.BFLOAT16))
        elif i > 0 and x.dtype == np.int64 and x.ndim <= 1 and int(dice.integers(3)):
            constants.append(onnx.numpy_helper.from_array(x, f"x{i}"))
        else:
            given[f"x{i}"] = x
    while names and not names[-1]:
        names.pop()
    outputs = [f"y{i}" for i in range(count)]
    # The type of an empty list must be stated; among the generated attributes these are lists of integers.
    empty = [key for key, value in attributes.items() if isinstance(value, list) and not value]
    nodes.append(helper.make_node(op, names, outputs, name="op", domain=domain,
                                  **{key: value for key, value in attributes.items() if key not in empty}))
    nodes[-1].attribute.extend(onnx.AttributeProto(name=key, type=onnx.AttributeProto.INTS) for key in empty)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in given.items()]
    values = [helper.make_empty_tensor_value_info(n) for n in outputs]
    model = finished(helper.make_graph(nodes, "g", infos, values, constants), version, domain)
    for i, value in enumerate(model.graph.output):
        if not value.type.HasField("tensor_type"):  # of ops without inference, whose results have the input's type
            value.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
        if value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            model.graph.node.append(helper.make_node("Cast", [value.name], [f"z{i}"], to=onnx.TensorProto.FLOAT))
            value.CopyFrom(helper.make_tensor_value_info(f"z{i}", onnx.TensorProto.FLOAT, None))
    kinds = [x.dtype.name for x in inputs if x is not None]
    shapes = ["x".join(map(str, x.shape)) or "()" for x in inputs if x is not None]
    words = [f"{op}-{version}", ",".join(kinds), ",".join(shapes)]
    words += [f"{key}={value}" for key, value in sorted(attributes.items()) if not isinstance(value, onnx.TensorProto)]
    tolerance = max([TOLERANCES.get(kind, 0) for kind in kinds] + [1e-5])
    return Case(name, " ".join(words + traits(inputs)), model, given, tolerance)


def graph_case(name, dice):
    graph, inputs = random_graphs.random_graph(dice)
    ops = sorted({node.op_type for node in graph.node})
    return Case(name, f"graph of {len(graph.node)} ops: {' '.join(ops)}", finished(graph, 18), inputs, 1e-3)


def body_case(name, dice):
    graph, inputs, label = random_graphs.random_body(dice)
    return Case(name, label, finished(graph, 17), inputs, 1e-3)


KINDS = {"ops": op_case, "graphs": graph_case, "bodies": body_case}


def make(kind, seed, index):
    return KINDS[kind](f"{kind}-{seed}-{index}", np.random.default_rng([list(KINDS).index(kind), seed, index]))


def by_reference(model, inputs):
    with np.errstate(all="ignore"):
        return [np.asarray(y) for y in onnx.reference.ReferenceEvaluator(model).run(None, inputs)]


def by_runtime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


REFERENCES = {"onnx": by_reference, "ort": by_runtime}


class Refused(Exception):
    pass


def twb(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Refused(f"{arguments[0]} ended with {done.returncode}: {' / '.join(lines[:4])}")


def by_twb(program, case, folder, again=False):
    """The results of the model; with `again`, of its export, which is also left in the folder."""
    model, project = folder / "m.onnx", folder / "m.twb"
    if not again:
        model.write_bytes(case.model.SerializeToString())
        twb(program, "import", model, "-o", project)
    else:
        twb(program, "export", project, "--to", "onnx", "-o", folder / "again.onnx")
        project = folder / "again.twb"
        twb(program, "import", folder / "again.onnx", "-o", project)
    arguments = ["run", project, "--quiet"]
    for name, x in case.inputs.items():
        np.save(folder / f"{name}.npy", x)
        arguments += ["--input", f"{name}={folder / f'{name}.npy'}"]
    for i, name in enumerate(case.outputs):
        arguments += ["--output", f"{name}={folder / f'out{i}.npy'}"]
    twb(program, *arguments)
    return [np.load(folder / f"out{i}.npy") for i in range(len(case.outputs))]


def difference(got, want, tolerance):
    """The difference as a sentence; None if there is none."""
    for i, (a, b) in enumerate(zip(got, want)):
        b = np.asarray(b)
        if a.dtype != b.dtype:
            return f"output {i} is {a.dtype}, not {b.dtype}"
        if a.shape != b.shape:
            return f"output {i} has shape {a.shape}, not {b.shape}"
        if a.dtype.kind != "f":
            near = np.equal(a, b)
        else:
            with np.errstate(all="ignore"):
                finite = np.abs(b[np.isfinite(b)].astype(np.float64)).max(initial=0)
                near = np.isclose(a.astype(np.float64), b.astype(np.float64), tolerance, tolerance * 1e-2 * max(finite, 1e-3),
                                  equal_nan=True)
        if not near.all():
            at = np.unravel_index(int(np.argmin(near)), near.shape) if near.ndim else ()
            return f"output {i}{list(map(int, at))} is {a[at]}, not {b[at]}"
    return None


def references(case):
    right, problems = {}, {}
    for name, run in REFERENCES.items():
        try:
            right[name] = run(case.model, case.inputs)
        except Exception as problem:  # each refuses in classes of its own
            problems[name] = str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
    return right, problems


def judge(got, right, tolerance):
    """Differences to the references; empty when one of them agrees."""
    differences = {name: difference(got, want, tolerance) for name, want in right.items()}
    if not all(differences.values()):
        return ""
    return "; ".join(f"{name}: {text}" for name, text in differences.items())


def check_export(program, case, folder, right):
    try:
        got = by_twb(program, case, folder, again=True)
    except Refused as refusal:
        return f"export: {refusal}"
    written = onnx.load(folder / "again.onnx")
    try:
        onnx.checker.check_model(written, full_check=True)
    except Exception as refusal:
        return f"export: the checker refuses it: {str(refusal).splitlines()[0][:300]}"
    if "ort" in right:
        try:
            by_runtime(written, case.inputs)
        except Exception as refusal:
            text = str(refusal).splitlines()[0][:300]
            if "NOT_IMPLEMENTED" not in text and "Could not find an implementation" not in text:
                return f"export: ONNX Runtime refuses it: {text}"
    problem = judge(got, right, case.tolerance)
    return f"export: {problem}" if problem else ""


def outcome(program, kind, seed, index, exported):
    """(label, "equal" | "unchecked" | "different", detail)"""
    case = make(kind, seed, index)
    right, problems = references(case)
    if not right:
        return case, "unchecked", "; ".join(f"{name}: {text}" for name, text in problems.items())
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        try:
            problem = judge(by_twb(program, case, folder), right, case.tolerance)
            if not problem and exported:
                problem = check_export(program, case, folder, right)
        except Refused as refusal:
            problem = f"{refusal} ({' and '.join(right)} ran it)"
        except subprocess.TimeoutExpired:
            problem = "it took longer than a minute"
    return case, "different" if problem else "equal", problem


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twb")
    parser.add_argument("--seed", type=int, default=1)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0, help="how many cases")
    parser.add_argument("--case")
    parser.add_argument("--known", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="where to write the models that differ")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    cases = [(kind, arguments.seed, index) for kind in KINDS for index in range(getattr(arguments, kind))]
    if arguments.case:
        kind, seed, index = arguments.case.split("-")
        cases = [(kind, int(seed), int(index))]
    known = []
    if arguments.known:
        known = [line.split(" : ", 1) for line in arguments.known.read_text().splitlines()
                 if line and not line.startswith("#")]
    counts = dict.fromkeys(("equal", "different", "known", "unchecked"), 0)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for case, verdict, detail in pool.map(lambda one: outcome(arguments.twb, *one, arguments.export), cases):
            if verdict == "different":
                reason = next((why for glob, why in known if fnmatch.fnmatchcase(f"{case.label} | {detail}", glob)), None)
                verdict = "known" if reason else verdict
            counts[verdict] += 1
            if verdict == "different" or arguments.verbose or arguments.case:
                print(f"{verdict:<10}{case.name}: {case.label} | {detail}", flush=True)
            if arguments.keep and (verdict == "different" or arguments.case):
                arguments.keep.mkdir(parents=True, exist_ok=True)
                onnx.save(case.model, arguments.keep / f"{case.name}.onnx")
                np.savez(arguments.keep / f"{case.name}.npz", **case.inputs)
    print(f"seed {arguments.seed}: {counts['equal']} equal, {counts['different']} different, {counts['known']} known, "
          f"{counts['unchecked']} that no reference ran")
    return 1 if counts["different"] or not counts["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
