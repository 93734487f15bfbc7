#!/usr/bin/env python3
"""Checks the models that the test of the ONNX export writes (every op in every dtype, beside ops of later opsets) with
ONNX's newest checker and ONNX Runtime.

    exports.py TEST [--keep FOLDER]

TEST is the program formats_test_onnx_export. A model for which ONNX Runtime has no kernel counts as accepted, since it
could be read. Exits with 77 (skipped) if onnx or onnxruntime is not installed.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# ONNX Runtime's messages for a valid model for which it has no kernel.
NO_KERNEL = ("NOT_IMPLEMENTED", "Could not find an implementation")
# Ops that ONNX Runtime rejects although ONNX's specification and checker accept them, with the reason.
REFUSED_BY_RUNTIME = {
    "Adagrad": "it has no ops of ai.onnx.preview.training",
    "Adam": "it has no ops of ai.onnx.preview.training",
    "Momentum": "it has no ops of ai.onnx.preview.training",
    "FeatureVectorizer": "it requires inputdimensions, which are optional in the schema",
    "RNN": "it does not support layout 1",
    "GRU": "it does not support layout 1",
    "LSTM": "it does not support layout 1",
    "LinearClassifier": "it requires class labels, which are optional in the schema",
    "Scaler": "it requires scale and offset, which are optional in the schema",
    "ReduceLogSum": "its expansion of the op contains a Log of integers",
    "SoftmaxCrossEntropyLoss": "its expansion of the op does not support bf16",
}
# Ops that the newest checker rejects because of its own faults.
REFUSED_BY_CHECKER = {
    "MeanVarianceNormalization": "it finds no values in the Constants of the op's own definition",
    "LinearClassifier": "its inference counts class labels, which are optional in the schema",
    "MaxPool": "up to opset 21 its sizes include windows that start after the input; the reference and the runtime have none",
    "LpPool": "its sizes include windows that start after the input; the reference has none",
    "AveragePool": "up to opset 21 its sizes include windows that start after the input; the reference and the runtime have none",
}


def problem(path):
    """The problem of a model, or None; and whether ONNX Runtime has kernels for it."""
    model = onnx.load(path)
    newest = all(entry.version <= onnx.defs.onnx_opset_version() for entry in model.opset_import if not entry.domain)
    if newest:
        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception as refusal:
            return f"the checker refuses it: {' '.join(str(refusal).split())[:300]}", False
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as refusal:
        text = " ".join(str(refusal).split())
        if any(words in text for words in NO_KERNEL):
            return None, False
        return f"ONNX Runtime refuses it: {text[:300]}", False
    return None, True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = arguments.keep or pathlib.Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([arguments.test, "everyOpInEveryDtypeBesideOpsOfLaterOpsets"], capture_output=True, text=True,
                              env=os.environ | {"TWB_KEEP_MODELS": str(folder), "QT_QPA_PLATFORM": "offscreen"})
        if done.returncode != 0:
            print(done.stdout, done.stderr)
            return 1
        accepted = run = wrong = 0
        for path in sorted(folder.glob("*.onnx")):
            text, hasKernels = problem(path)
            op = path.stem.split("-")[0]
            if text and op not in (REFUSED_BY_RUNTIME if "ONNX Runtime" in text else REFUSED_BY_CHECKER):
                print(f"{path.stem}: {text}")
                wrong += 1
            else:
                accepted += 1
                run += hasKernels
    print(f"{accepted} models accepted, {run} of them with kernels in ONNX Runtime; {wrong} refused")
    return 1 if wrong or not accepted else 0


if __name__ == "__main__":
    sys.exit(main())
