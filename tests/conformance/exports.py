#!/usr/bin/env python3
"""The models that the test of the ONNX export writes (every op in every dtype, beside ops of later opsets), through ONNX's
newest checker and ONNX Runtime.

    exports.py TEST [--keep FOLDER]

TEST is the program formats_test_onnx_export. A model that ONNX Runtime has no kernel for counts as accepted: it got past
the reading of the model. Exits 77 (skipped) where onnx or onnxruntime is not installed.
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

# What ONNX Runtime says of a model that is valid, but that it has no kernel for.
NO_KERNEL = ("NOT_IMPLEMENTED", "Could not find an implementation")
# What ONNX Runtime refuses although ONNX's documents and checker allow it, by op.
REFUSED_BY_RUNTIME = {
    "Adagrad": "it has no op of ai.onnx.preview.training",
    "Adam": "it has no op of ai.onnx.preview.training",
    "Momentum": "it has no op of ai.onnx.preview.training",
    "FeatureVectorizer": "it wants inputdimensions, which the schema leaves optional",
    "RNN": "it has no layout 1",
    "GRU": "it has no layout 1",
    "LSTM": "it has no layout 1",
    "LinearClassifier": "it wants class labels, which the schema leaves optional",
    "Scaler": "it wants scale and offset, which the schema leaves optional",
    "ReduceLogSum": "its expansion of the op has a Log of integers",
    "SoftmaxCrossEntropyLoss": "its expansion of the op has none of bf16",
}
# What the newest checker refuses by a fault of its own.
REFUSED_BY_CHECKER = {
    "MeanVarianceNormalization": "the Constants of the op's own definition have no value in it",
    "LinearClassifier": "its inference counts class labels, which the schema leaves optional",
    "MaxPool": "up to opset 21 its sizes have windows that begin behind the input; the reference and the runtime have none",
    "AveragePool": "up to opset 21 its sizes have windows that begin behind the input; the reference and the runtime have none",
}


def problem(path):
    """What is wrong with a model; nothing when nothing is, and whether ONNX Runtime has kernels for it."""
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
