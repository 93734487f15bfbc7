"""Times steps of training with twb and with eager PyTorch, in turns, on 1 and 2 threads.

Usage: bench_training.py TWB [--rounds N]. Needs torch and numpy.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

DIGITS = Path(__file__).resolve().parents[2] / "resources" / "examples" / "digits"


def project(nodes, edges):
    return {
        "format": "tensor-workbench", "version": 1, "lanes": [{"id": 1, "device": "cpu"}],
        "nodes": [{"id": i, "op": op, "name": name, "lane": 1, "attributes": a} for i, op, name, a in nodes],
        "edges": [{"from": [a, p], "to": [b, q]} for a, p, b, q in edges],
    }


def digits(folder):
    """A network 64-64-10 on 8 × 8 images, in batches of 32."""
    for name in ("train_images", "train_labels"):
        np.save(folder / f"{name}.npy", np.load(DIGITS / f"{name}.npy"))
    nodes = [
        (1, "Batches", "data", {"path": "train_images.npy", "labels": "train_labels.npy", "drop_last": True}),
        (2, "Parameter", "w1", {"shape": [64, 64], "init": "kaiming_uniform"}), (3, "Parameter", "b1", {"shape": [64]}),
        (4, "Gemm", "fc1", {"transB": True}), (5, "Relu", "relu", {}),
        (6, "Parameter", "w2", {"shape": [10, 64], "init": "kaiming_uniform"}), (7, "Parameter", "b2", {"shape": [10]}),
        (8, "Gemm", "fc2", {"transB": True}), (9, "SoftmaxCrossEntropyLoss", "loss", {}),
    ]
    edges = [(1, 0, 4, 0), (2, 0, 4, 1), (3, 0, 4, 2), (4, 0, 5, 0), (5, 0, 8, 0), (6, 0, 8, 1), (7, 0, 8, 2),
             (8, 0, 9, 0), (1, 1, 9, 1)]
    x = torch.from_numpy(np.load(folder / "train_images.npy"))
    y = torch.from_numpy(np.load(folder / "train_labels.npy"))
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    return project(nodes, edges), model, x, y, 32, 2000


def images(folder):
    """A convolutional network on 28 × 28 images, in batches of 64; the data are random."""
    random = np.random.default_rng(1)
    np.save(folder / "x.npy", random.standard_normal((1280, 1, 28, 28)).astype(np.float32))
    np.save(folder / "y.npy", random.integers(0, 10, 1280))
    nodes = [
        (1, "Batches", "data", {"path": "x.npy", "labels": "y.npy", "batch_size": 64}),
        (2, "Parameter", "w1", {"shape": [16, 1, 3, 3], "init": "kaiming_uniform"}), (3, "Parameter", "b1", {"shape": [16]}),
        (4, "Conv", "conv1", {"pads": [1, 1, 1, 1]}), (5, "Relu", "relu1", {}),
        (6, "MaxPool", "pool1", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        (7, "Parameter", "w2", {"shape": [32, 16, 3, 3], "init": "kaiming_uniform"}), (8, "Parameter", "b2", {"shape": [32]}),
        (9, "Conv", "conv2", {"pads": [1, 1, 1, 1]}), (10, "Relu", "relu2", {}),
        (11, "MaxPool", "pool2", {"kernel_shape": [2, 2], "strides": [2, 2]}), (12, "Flatten", "flat", {}),
        (13, "Parameter", "w3", {"shape": [10, 1568], "init": "kaiming_uniform"}), (14, "Parameter", "b3", {"shape": [10]}),
        (15, "Gemm", "fc", {"transB": True}), (16, "SoftmaxCrossEntropyLoss", "loss", {}),
    ]
    edges = [(1, 0, 4, 0), (2, 0, 4, 1), (3, 0, 4, 2), (4, 0, 5, 0), (5, 0, 6, 0), (6, 0, 9, 0), (7, 0, 9, 1), (8, 0, 9, 2),
             (9, 0, 10, 0), (10, 0, 11, 0), (11, 0, 12, 0), (12, 0, 15, 0), (13, 0, 15, 1), (14, 0, 15, 2), (15, 0, 16, 0),
             (1, 1, 16, 1)]
    layers = torch.nn
    model = layers.Sequential(
        layers.Conv2d(1, 16, 3, padding=1), layers.ReLU(), layers.MaxPool2d(2), layers.Conv2d(16, 32, 3, padding=1),
        layers.ReLU(), layers.MaxPool2d(2), layers.Flatten(), layers.Linear(1568, 10))
    x = torch.from_numpy(np.load(folder / "x.npy"))
    y = torch.from_numpy(np.load(folder / "y.npy"))
    return project(nodes, edges), model, x, y, 64, 60


def ours(twb, graph, steps, threads):
    """Without the start of a run and its first steps."""
    few, many = steps // 4, steps
    return (run(twb, graph, many, threads) - run(twb, graph, few, threads)) / (many - few)


def run(twb, graph, steps, threads):
    done = subprocess.run([twb, "run", str(graph), "--iterations", str(steps), "--report", str(graph) + ".json", "--quiet"],
                          env=os.environ | {"OMP_NUM_THREADS": str(threads)})
    if done.returncode:
        sys.exit("twb run failed")
    report = json.loads(Path(str(graph) + ".json").read_text())
    return report["wall_ms"] * 1e3


def theirs(model, x, y, batch, steps, threads):
    torch.set_num_threads(threads)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loss = torch.nn.CrossEntropyLoss()

    def step(i):
        rows = slice(i * batch % (len(x) - batch), i * batch % (len(x) - batch) + batch)
        optimizer.zero_grad()
        loss(model(x[rows]), y[rows]).backward()
        optimizer.step()

    for i in range(max(steps // 10, 3)):
        step(i)
    start = time.perf_counter()
    for i in range(steps):
        step(i)
    return (time.perf_counter() - start) * 1e6 / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twb")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for make in (digits, images):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            graph, model, x, y, batch, steps = make(folder)
            (folder / "net.twb").write_text(json.dumps(graph))
            subprocess.run([arguments.twb, "train", str(folder / "net.twb"), "--loss", "loss", "--optimizer", "sgd", "--lr",
                            "0.01", "--save-graph", str(folder / "learns.twb")], check=True)
            for threads in (1, 2):
                pairs = [(ours(arguments.twb, folder / "learns.twb", steps, threads),
                          theirs(model, x, y, batch, steps, threads)) for _ in range(arguments.rounds)]
                a, b = (statistics.median(column) for column in zip(*pairs))
                print(f"{make.__name__:8} {threads} thread{'s' if threads > 1 else ' '}: twb {a:9.1f} µs, "
                      f"PyTorch {torch.__version__} {b:9.1f} µs a step; PyTorch / twb {b / a:.2f}")


if __name__ == "__main__":
    main()
