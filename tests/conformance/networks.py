#!/usr/bin/env python3
"""Whole networks with seeded random weights: exported by PyTorch, imported and run by twb, compared.

    networks.py TWB [NAME...]    compare with PyTorch's output: as the model is, simplified, and on a simulated cuda:0

Exits with 77 (skipped) if torch or torchvision is not installed. tests/bench/bench_networks.py measures them.
"""

import argparse
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import torch
    import torchvision
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Relative to the largest element of the output.
TOLERANCE = 1e-3

# Networks of torchvision by their names there; each takes an image of 224 × 224.
IMAGES = {
    "resnet18": "resnet18",
    "mobilenetv2": "mobilenet_v2",
    "squeezenet": "squeezenet1_1",
    "densenet121": "densenet121",
    "vit": "vit_b_16",
    "resnet50": "resnet50",
    "shufflenet": "shufflenet_v2_x1_0",
    "regnet": "regnet_y_400mf",
    "efficientnet": "efficientnet_b0",
    "swin": "swin_t",
    "convnext": "convnext_tiny",
}
# Compared with PyTorch if no network is named.
STANDARD = ["resnet18", "mobilenetv2", "squeezenet", "densenet121", "vit", "blocks128", "lstm"]


class Block(torch.nn.Module):
    """A transformer block with its layer norms first, as in GPT-2."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = torch.nn.LayerNorm(size), torch.nn.LayerNorm(size)
        self.qkv, self.out = torch.nn.Linear(size, 3 * size), torch.nn.Linear(size, size)
        self.up, self.down = torch.nn.Linear(size, 4 * size), torch.nn.Linear(4 * size, size)

    def forward(self, x):
        parts = self.qkv(self.first(x)).chunk(3, -1)
        q, k, v = (part.reshape(*part.shape[:-1], self.heads, -1).transpose(1, 2) for part in parts)
        scores = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        x = x + self.out((scores @ v).transpose(1, 2).flatten(2))
        return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))


class Recurrent(torch.nn.Module):
    """Two layers of LSTM over sequences of 64 steps."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(256, 256, 2)

    def forward(self, x):
        return self.lstm(x)[0]


def mlp():
    """Three layers, large enough that matrix products dominate the time."""
    sizes = (1024, 4096, 4096, 1000)
    layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers[:-1])


def blocks():
    return torch.nn.Sequential(*(Block(512, 8) for _ in range(6)))


def model_of(name, batch):
    """A model and the shape of its input. The batch of the LSTM is four times as large."""
    if name in IMAGES:
        return getattr(torchvision.models, IMAGES[name])(weights=None), (batch, 3, 224, 224)
    others = {
        "mlp": (mlp, (batch, 1024)),
        "blocks128": (blocks, (batch, 128, 512)),
        "blocks512": (blocks, (batch, 512, 512)),
        "lstm": (Recurrent, (64, 4 * batch, 256)),
    }
    if name not in others:
        sys.exit(f"{name} is not a network; the networks are {', '.join([*IMAGES, *others])}")
    make_model, shape = others[name]
    return make_model(), shape


def make(name, batch, folder):
    """Writes NAME.onnx, x.npy and y.npy; returns the PyTorch model and its input."""
    torch.manual_seed(1)
    model, shape = model_of(name, batch)
    model.eval()
    for module in model.modules():  # as a trained network has them, not ones and zeros
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    if name == "vit":  # a fresh head gives zeros, which compare with everything
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)
    x = torch.randn(shape)
    with torch.no_grad():
        y = model(x)
    # The exporter that all versions of PyTorch have; since 2.9 it is not the default.
    options = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(model, x, str(folder / f"{name}.onnx"), input_names=["x"], output_names=["y"], opset_version=14,
                      **options)
    numpy.save(folder / "x.npy", x.numpy())
    numpy.save(folder / "y.npy", y.numpy())
    return model, x


def twb(program, *arguments, threads=None):
    environment = dict(os.environ)
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"twb {' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def import_model(program, name, folder, *options):
    """Writes NAME.twb; returns the seconds and the number of nodes."""
    start = time.perf_counter()
    said = twb(program, "import", folder / f"{name}.onnx", "-o", folder / f"{name}.twb", *options)
    return time.perf_counter() - start, int(said.split(": ")[1].split(" nodes")[0])


def put_on(project, device):
    """The project with its lane on another device."""
    text = project.read_text().replace('"device": "cpu"', f'"device": "{device}"', 1)
    out = project.with_name(f"{project.stem}-{device.replace(':', '')}.twb")
    out.write_text(text)
    return out


def compare(program, name):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        make(name, 2, folder)
        project = folder / f"{name}.twb"
        _, nodes = import_model(program, name, folder, "--no-simplify")
        original = put_on(project, "cpu")
        seconds, fewer = import_model(program, name, folder)
        megabytes = (folder / f"{name}.onnx").stat().st_size / 1e6
        on_gpu = put_on(project, "cuda:0")
        expected = numpy.load(folder / "y.npy")
        fine = True
        places = {original: f"cpu, {nodes} nodes", project: f"cpu, {fewer} nodes", on_gpu: "cuda:0 simulated"}
        for graph, label in places.items():
            policy = "implicit" if graph is on_gpu else "strict"
            out = folder / "out.npy"
            twb(program, "run", graph, "--policy", policy, "--input", f"x={folder / 'x.npy'}",
                "--output", f"y={out}", "--quiet")
            got = numpy.load(out)
            worst = numpy.abs(got - expected).max() / numpy.abs(expected).max()
            good = got.shape == expected.shape and worst <= TOLERANCE
            fine = fine and bool(good)
            print(f"{name:<12} {label:<17} {'equal' if good else 'DIFFERENT'}"
                  f"  largest difference {worst:.1e} of the largest output"
                  f"  (imported {megabytes:.0f} MB in {seconds:.2f} s)", flush=True)
        return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twb")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    results = [compare(arguments.twb, name) for name in arguments.names or STANDARD]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
