"""Trains networks for 50 steps on the cpu and on a GPU, and compares their parameters: in f64, f32 and mixed precision.

Usage: compare_devices.py TWB [--device cuda:0] [--launcher "mpiexec -n 2"]. Needs torch and NumPy. Without a GPU, twb simulates the device, and the script says so.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import bench_training as nets  # noqa: E402

STEPS = 50
# Of the largest element of each parameter. The order of sums differs between devices.
TOLERANCES = {"f64": 1e-9, "f32": 1e-3, "bf16": 5e-2, "f16": 5e-2}
RULES = {
    "sgd": [],
    "sgd, momentum": ["--momentum", "0.9", "--nesterov", "--weight-decay", "1e-3", "--clip-norm", "0.5"],
    "adam": ["--schedule", "cosine", "--warmup", "5"],
    "adamw": ["--ema", "0.9"],
    "rmsprop": ["--momentum", "0.5"],
    "adagrad": ["--clip-value", "0.01"],
    "lion": ["--weight-decay", "0.1"],
}


def parameters(file):
    """The tensors of a safetensors file, as f64."""
    data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    kinds = {"F64": np.float64, "F32": np.float32}
    return {
        name: np.frombuffer(data[8 + size:][slice(*entry["data_offsets"])], kinds[entry["dtype"]]).astype(np.float64)
        for name, entry in json.loads(data[8:8 + size]).items() if entry.get("dtype") in kinds
    }


def normalized(folder):
    """Convolutions with batch normalisation, on 12 × 12 images in batches of 16."""
    np.save(folder / "x.npy", np.zeros((16, 3, 12, 12), np.float32))
    np.save(folder / "y.npy", np.arange(16) % 5)
    net = nets.Layers({"path": "x.npy", "labels": "y.npy", "batch_size": 16})
    x = net.add("Relu", [net.convolution(1, 3, 8, 3, 1)])
    x = net.add("Relu", [net.add("Add", [net.convolution(x, 8, 8, 3, 1), x])])
    x = net.add("Relu", [net.convolution(x, 8, 16, 3, 2)])
    x = net.add("Flatten", [net.add("GlobalAveragePool", [x])])
    net.loss(net.add("Gemm", [x, net.parameter(5, 16, init="kaiming_uniform"), net.parameter(5)], transB=True))
    return nets.project(net.nodes, net.edges), None, None, None, 16, STEPS


def write_network(folder, make, dtype):
    """The network on random data of 50 batches. Returns the graph."""
    graph, *_, batch, _ = make(folder)
    random = np.random.default_rng(7)
    data = next(node for node in graph["nodes"] if node["op"] == "Batches")["attributes"]
    shape = np.load(folder / data["path"], mmap_mode="r").shape[1:]
    classes = int(np.load(folder / data["labels"]).max()) + 1
    np.save(folder / data["path"], random.standard_normal((STEPS * batch, *shape)).astype(
        np.float64 if dtype == "f64" else np.float32))
    np.save(folder / data["labels"], random.integers(0, classes, STEPS * batch))
    for node in graph["nodes"]:
        if dtype == "f64" and node["op"] in ("Parameter", "Zeros", "Ones"):
            node["attributes"]["dtype"] = "f64"
    return graph


def train(command, graph, device, folder, rule, options):
    project, out = folder / "net.twb", folder / "out.safetensors"
    project.write_text(json.dumps(nets.put_on(json.loads(json.dumps(graph)), device)))
    subprocess.run([*command, "train", project, "--loss", "loss", "--optimizer", rule.split(",")[0], "--epochs", "1", "--seed", "1",
                    "--lr", "0.01" if "sgd" in rule or "adagrad" in rule else "0.001", "--export-weights", out, "--quiet",
                    *RULES[rule], *options], check=True)
    return parameters(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twb")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--require-gpu", action="store_true", help="fail rather than simulate the device")
    parser.add_argument("--launcher", default="", help="start several ranks with this command for the device")
    arguments = parser.parse_args()
    launcher = arguments.launcher.split()
    # So that batch normalisation uses the rows of all ranks.
    more = (["--require-gpu"] if arguments.require_gpu else []) + (["--sync-batch-norm"] if launcher else [])
    cases = [(nets.digits, dtype, rule) for rule in RULES for dtype in ("f64", "f32")]
    cases += [(nets.images, "f64", "sgd"), (nets.images, "f32", "adamw"), (nets.digits, "bf16", "sgd"),
              (nets.images, "bf16", "adamw"), (nets.images, "f16", "sgd"), (normalized, "f64", "sgd"),
              (normalized, "f32", "sgd")]
    wrong = 0
    for make, dtype, rule in cases:
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            graph = write_network(folder, make, dtype)
            options = ["--amp", dtype] if dtype in ("bf16", "f16") else []
            expected = train([arguments.twb], graph, "cpu", folder, rule, options)
            got = train([*launcher, arguments.twb], graph, arguments.device, folder, rule, options + more)
            worst = max(np.abs(got[name] - value).max() / max(np.abs(value).max(), 1e-30) for name, value in expected.items())
            fine = bool(expected.keys() == got.keys() and worst <= TOLERANCES[dtype])  # NaN is not fine
            wrong += not fine
            print(f"{make.__name__:10} {dtype:4} {rule:13} {len(got):3} parameters  largest difference {worst:.1e}  "
                  f"{'ok' if fine else 'DIFFERS'}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
