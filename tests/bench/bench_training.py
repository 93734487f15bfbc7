"""Times steps of training with twb and with eager PyTorch, in turns, on 1 and 2 threads or on a GPU.

Usage: bench_training.py TWB [--rounds N] [--device cuda:0]. Needs torch and numpy. On a GPU the batches start in host
memory, and both programs copy them while they compute: twb by its prefetch, PyTorch from pinned memory. It measures
twice: with f32 products and convolutions, and with both rounded to TF32, as PyTorch does by default for convolutions.
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


def put_on(graph, device):
    """The graph with all its nodes on `device`, except those that read files: copies bring their batches."""
    if device == "cpu":
        return graph
    graph["lanes"].append({"id": 2, "device": device})
    to_device = []
    for node in graph["nodes"]:
        if node["op"] != "Batches":
            node["lane"] = 2
            continue
        for port in sorted({edge["from"][1] for edge in graph["edges"] if edge["from"][0] == node["id"]}):
            to = len(graph["nodes"]) + len(to_device) + 1
            to_device.append({"id": to, "op": "To", "name": f"to {port}", "lane": 2,
                              "attributes": {"pin_memory": True, "non_blocking": True}})
            for edge in graph["edges"]:
                if edge["from"] == [node["id"], port]:
                    edge["from"] = [to, 0]
            graph["edges"].append({"from": [node["id"], port], "to": [to, 0]})
    graph["nodes"] += to_device
    return graph


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
    return project(nodes, edges), model, x, y, 32, 20000


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


class Layers:
    """Collects nodes and edges, one layer after the other."""

    def __init__(self, data):
        self.nodes, self.edges = [(1, "Batches", "data", data)], []

    def add(self, op, inputs, **attributes):
        node = len(self.nodes) + 1
        self.nodes.append((node, op, f"{op.lower()}{node}", attributes))
        self.edges += [(source, 0, node, port) for port, source in enumerate(inputs)]
        return node

    def parameter(self, *shape, **attributes):
        return self.add("Parameter", [], shape=list(shape), **attributes)

    def convolution(self, x, channels, to, size, stride):
        weight = self.parameter(to, channels, size, size, init="kaiming_uniform")
        x = self.add("Conv", [x, weight], strides=[stride] * 2, pads=[size // 2] * 4)
        ones = {"init": "constant", "value": 1.0}
        statistics = [self.add("Zeros", [], shape=[to]), self.add("Ones", [], shape=[to])]
        return self.add("BatchNormalization",
                        [x, self.parameter(to, **ones), self.parameter(to), *statistics])

    def loss(self, scores):
        self.nodes.append((len(self.nodes) + 1, "SoftmaxCrossEntropyLoss", "loss", {}))
        self.edges += [(scores, 0, len(self.nodes), 0), (1, 1, len(self.nodes), 1)]


def resnet18(folder):
    """torchvision's ResNet-18 on 224 × 224 images, in batches of 8; the data are random."""
    import torchvision

    random = np.random.default_rng(1)
    np.save(folder / "x.npy", random.standard_normal((16, 3, 224, 224)).astype(np.float32))
    np.save(folder / "y.npy", random.integers(0, 1000, 16))
    net = Layers({"path": "x.npy", "labels": "y.npy", "batch_size": 8})
    x = net.add("Relu", [net.convolution(1, 3, 64, 7, 2)])
    x = net.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for to, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for step in (stride, 1):
            way = net.add("Relu", [net.convolution(x, channels, to, 3, step)])
            way = net.convolution(way, to, to, 3, 1)
            beside = net.convolution(x, channels, to, 1, step) if (step, channels) != (1, to) else x
            x = net.add("Relu", [net.add("Add", [way, beside])])
            channels = to
    x = net.add("Flatten", [net.add("GlobalAveragePool", [x])])
    x = net.add("Gemm", [x, net.parameter(1000, 512, init="kaiming_uniform"), net.parameter(1000)], transB=True)
    net.loss(x)
    data = [torch.from_numpy(np.load(folder / f"{name}.npy")) for name in "xy"]
    return project(net.nodes, net.edges), torchvision.models.resnet18(), *data, 8, 8


def peak(command, threads):
    """The largest resident memory of a process, in MB. A small process starts it: a child counts the memory that its
    parent had at the fork."""
    script = ("import resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], check=True)\n"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n")
    done = subprocess.run([sys.executable, "-S", "-c", script, *command], check=True, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"OMP_NUM_THREADS": str(threads)})
    return int(done.stdout) / 1000


def memory(twb, folder, threads):
    """Of three steps, without what each program needs before them: PyTorch's import, and a run of one number."""
    script = ("import sys; import torch, torchvision\n"
              "steps = int(sys.argv[1])\n"
              "if steps:\n"
              "    model = torchvision.models.resnet18()\n"
              "    optimizer = torch.optim.SGD(model.parameters(), 0.01)\n"
              "for _ in range(steps):\n"
              "    optimizer.zero_grad()\n"
              "    x, y = torch.randn(8, 3, 224, 224), torch.randint(0, 1000, (8,))\n"
              "    torch.nn.functional.cross_entropy(model(x), y).backward()\n"
              "    optimizer.step()\n")
    (folder / "one.twb").write_text(json.dumps(project([(1, "Zeros", "z", {"shape": []}), (2, "Probe", "p", {})],
                                                       [(1, 0, 2, 0)])))
    run = [twb, "run", "--quiet", "--iterations", "3"]
    own = peak([*run, str(folder / "learns.twb")], threads) - peak([*run, str(folder / "one.twb")], threads)
    python = [sys.executable, "-c", script]
    other = peak([*python, "3"], threads) - peak([*python, "0"], threads)
    print(f"{'':8} memory: twb {own:.0f} MB, PyTorch {other:.0f} MB; twb / PyTorch {own / other:.2f}")


def ours(twb, graph, steps, threads, options):
    """Without the start of a run and its first steps."""
    few, many = steps // 4, steps
    return (run(twb, graph, many, threads, options) - run(twb, graph, few, threads, options)) / (many - few)


def run(twb, graph, steps, threads, options):
    done = subprocess.run([twb, "run", str(graph), "--iterations", str(steps), "--report", str(graph) + ".json", "--quiet",
                           *options], env=os.environ | {"OMP_NUM_THREADS": str(threads)})
    if done.returncode:
        sys.exit("twb run failed")
    report = json.loads(Path(str(graph) + ".json").read_text())
    return report["wall_ms"] * 1e3


def theirs(model, x, y, batch, steps, threads, device):
    torch.set_num_threads(threads)
    model = model.to(device)
    if device != "cpu":
        x, y = x.pin_memory(), y.pin_memory()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loss = torch.nn.CrossEntropyLoss()

    def step(i):
        first = i * batch % (len(x) - batch + 1)
        rows = slice(first, first + batch)
        optimizer.zero_grad()
        loss(model(x[rows].to(device, non_blocking=True)), y[rows].to(device, non_blocking=True)).backward()
        optimizer.step()

    def finish():
        if device != "cpu":
            torch.cuda.synchronize()

    for i in range(max(steps // 10, 3)):
        step(i)
    finish()
    start = time.perf_counter()
    for i in range(steps):
        step(i)
    finish()
    return (time.perf_counter() - start) * 1e6 / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twb")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda:0 where PyTorch has it, too")
    arguments = parser.parse_args()
    on_gpu = arguments.device != "cpu"
    for make in (digits, images, resnet18):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            graph, model, x, y, batch, steps = make(folder)
            if on_gpu:
                steps = max(steps, 400)
            (folder / "net.twb").write_text(json.dumps(put_on(graph, arguments.device)))
            subprocess.run([arguments.twb, "train", str(folder / "net.twb"), "--loss", "loss", "--optimizer", "sgd", "--lr",
                            "0.01", "--save-graph", str(folder / "learns.twb")], check=True)
            ways = (("f32 ", 2, ["--require-gpu"]), ("TF32", 2, ["--require-gpu", "--allow-tf32"])) if on_gpu else (
                ("1 thread ", 1, []), ("2 threads", 2, []))
            for way, threads, options in ways:
                torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "--allow-tf32" in options
                pairs = [(ours(arguments.twb, folder / "learns.twb", steps, threads, options),
                          theirs(model, x, y, batch, steps, threads, arguments.device)) for _ in range(arguments.rounds)]
                a, b = (statistics.median(column) for column in zip(*pairs))
                where = f"{arguments.device} {way}" if on_gpu else way
                print(f"{make.__name__:8} {where}: twb {a:9.1f} µs, PyTorch {torch.__version__} {b:9.1f} µs a step; "
                      f"PyTorch / twb {b / a:.2f}", flush=True)
            if make is resnet18 and not on_gpu:
                memory(arguments.twb, folder, 1)


if __name__ == "__main__":
    main()
