"""Trains lesson networks with twb and with PyTorch from five seeds, and compares the mean accuracy on rows that
were held out. With shuffled labels, the accuracy must stay at chance.

Usage: compare_accuracy.py TWB [--fashion]. --fashion also trains the convolutional network of lesson 17, which
takes minutes. Ends with 77 if there is no PyTorch.

The learning rate falls to 0 along a cosine: at a constant rate the accuracies of five seeds spread so far that
their mean says nothing about half a point.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)

SEEDS = range(5)
DIGITS = Path(__file__).resolve().parents[2] / "resources/examples/digits"
FASHION = Path("/usr/share/datasets/fashion-mnist")
LARGEST = 0.005  # difference of the mean accuracies
nn = torch.nn


def graph(data, nodes, edges):
    return {"format": "tensor-workbench", "version": 1, "lanes": [{"id": 1, "device": "cpu"}],
            "nodes": [{"id": 1, "op": "Batches", "name": "data", "lane": 1, "attributes": data}]
            + [{"id": i, "op": op, "name": name, "lane": 1, "attributes": a} for i, op, name, a in nodes],
            "edges": [{"from": [a, p], "to": [b, q]} for a, p, b, q in edges]}


def layer(first, op, name, shape, **attributes):
    """The nodes from `first` on of a layer, and their edges. Weights start as in PyTorch, biases from 0."""
    start = {"init": "kaiming_uniform", "gain": 3 ** -0.5}
    return ([(first, "Parameter", f"{name}.weight", {"shape": shape, **start}),
             (first + 1, "Parameter", f"{name}.bias", {"shape": shape[:1]}),
             (first + 2, op, name, attributes)],
            [(first, 0, first + 2, 1), (first + 1, 0, first + 2, 2)])


def digits_graph():
    fc1, to1 = layer(2, "Gemm", "fc1", [64, 64], transB=True)
    fc2, to2 = layer(6, "Gemm", "fc2", [10, 64], transB=True)
    data = {"path": "x.npy", "labels": "y.npy", "batch_size": 32}
    return graph(data, [*fc1, (5, "Relu", "relu", {}), *fc2, (9, "SoftmaxCrossEntropyLoss", "loss", {})],
                 [(1, 0, 4, 0), *to1, (4, 0, 5, 0), (5, 0, 8, 0), *to2, (8, 0, 9, 0), (1, 1, 9, 1)])


def digits_network():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def fashion_graph():
    conv1, to1 = layer(2, "Conv", "conv1", [16, 1, 3, 3], pads=[1, 1, 1, 1])
    conv2, to2 = layer(7, "Conv", "conv2", [32, 16, 3, 3], pads=[1, 1, 1, 1])
    fc, to3 = layer(13, "Gemm", "fc", [10, 1568], transB=True)
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    data = {"path": "x.npy", "labels": "y.npy", "batch_size": 64}
    nodes = [*conv1, (5, "Relu", "relu1", {}), (6, "MaxPool", "pool1", pool), *conv2, (10, "Relu", "relu2", {}),
             (11, "MaxPool", "pool2", pool), (12, "Flatten", "flat", {}), *fc,
             (16, "SoftmaxCrossEntropyLoss", "loss", {})]
    edges = [(1, 0, 4, 0), *to1, (4, 0, 5, 0), (5, 0, 6, 0), (6, 0, 9, 0), *to2, (9, 0, 10, 0), (10, 0, 11, 0),
             (11, 0, 12, 0), (12, 0, 15, 0), *to3, (15, 0, 16, 0), (1, 1, 16, 1)]
    return graph(data, nodes, edges)


def fashion_network():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 10))


def idx(name, skipped, shape):
    import gzip
    data = np.frombuffer(gzip.decompress((FASHION / name).read_bytes()), np.uint8, offset=skipped)
    return data.reshape(shape)


def digits_data():
    x = np.load(DIGITS / "train_images.npy").astype(np.float32)
    y = np.load(DIGITS / "train_labels.npy").astype(np.int64)
    order = np.random.default_rng(3).permutation(len(x))
    return x[order[:1150]], y[order[:1150]], x[order[1150:]], y[order[1150:]]


def fashion_data():
    def images(name):
        return idx(name, 16, (-1, 1, 28, 28)).astype(np.float32) / 255

    def labels(name):
        return idx(name, 8, -1).astype(np.int64)

    return (images("train-images-idx3-ubyte.gz")[:20000], labels("train-labels-idx1-ubyte.gz")[:20000],
            images("t10k-images-idx3-ubyte.gz"), labels("t10k-labels-idx1-ubyte.gz"))


def by_twb(twb, folder, epochs, seed):
    subprocess.run([twb, "train", str(folder / "net.twb"), "--loss", "loss", "--optimizer", "adamw", "--lr", "0.002",
                    "--schedule", "cosine", "--epochs", str(epochs), "--seed", str(seed), "--val", "vx.npy",
                    "--val-labels", "vy.npy", "--report", str(folder / "r.json"), "--quiet"], check=True)
    return json.loads((folder / "r.json").read_text())["epochs"][-1]["accuracy"]


def by_pytorch(data, network, batch, epochs, seed):
    torch.manual_seed(seed)
    x, y, vx, vy = (torch.tensor(a) for a in data)
    model = network()
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.002)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * math.ceil(len(x) / batch))
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        return (model(vx).argmax(1) == vy).double().mean().item()


def compare(twb, name, data, make_graph, network, epochs):
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        for file, array in zip(("x", "y", "vx", "vy"), data):
            np.save(folder / f"{file}.npy", array)
        project = make_graph()
        (folder / "net.twb").write_text(json.dumps(project))
        batch = project["nodes"][0]["attributes"]["batch_size"]
        ours = [by_twb(twb, folder, epochs, seed) for seed in SEEDS]
        theirs = [by_pytorch(data, network, batch, epochs, seed) for seed in SEEDS]
        difference = np.mean(ours) - np.mean(theirs)
        print(f"{name}: {np.mean(ours):.4f}, PyTorch {np.mean(theirs):.4f}, difference {difference:+.4f}; "
              f"seeds {', '.join(f'{a:.4f}' for a in ours)}; PyTorch {', '.join(f'{a:.4f}' for a in theirs)}")
        np.save(folder / "y.npy", np.random.default_rng(9).permutation(data[1]))
        chance = by_twb(twb, folder, epochs, 0)
        print(f"{name} with shuffled labels: {chance:.4f}")
        return abs(difference) <= LARGEST and chance < 0.2


def main():
    twb = sys.argv[1]
    fine = compare(twb, "digits", digits_data(), digits_graph, digits_network, 40)
    if "--fashion" in sys.argv:
        fine = compare(twb, "Fashion-MNIST", fashion_data(), fashion_graph, fashion_network, 2) and fine
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
