"""Exports models with torch.export and compares `twb run` of each with PyTorch, by hand:
    python3 tests/conformance/pt2_models.py TWB FOLDER [MODEL...]
Needs torch 2.9 or later, for raw weights. A model passes if no element differs by more than 1e-5 of the largest.
`--data` writes the two files of tests/data/pt2 with real weights instead.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn


class Block(nn.Module):
    """torchvision's BasicBlock."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)), [torch.randn(1, 3, 96, 96)]


class Inverted(nn.Module):
    """torchvision's InvertedResidual."""

    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        hidden = inputs * expand
        layers = [] if expand == 1 else [nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True)]
        layers += [nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden),
                   nn.ReLU6(inplace=True), nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.conv = nn.Sequential(*layers)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


def mobilenet_v2():
    layers = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6(inplace=True)]
    inputs = 32
    for expand, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                           (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            layers.append(Inverted(inputs, outputs, stride if i == 0 else 1, expand))
            inputs = outputs
    layers += [nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(inplace=True)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 1000)), [
        torch.randn(1, 3, 96, 96)]


class Vit(nn.Module):
    """vit_b_16, with fewer layers."""

    def __init__(self, size=768, layers=4, heads=12):
        super().__init__()
        self.proj = nn.Conv2d(3, size, 16, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, size))
        self.position = nn.Parameter(torch.randn(1, 37, size) * 0.02)
        layer = nn.TransformerEncoderLayer(size, heads, 4 * size, 0.1, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(size), enable_nested_tensor=False)
        self.head = nn.Linear(size, 1000)

    def forward(self, x):
        x = self.proj(x).flatten(2).permute(0, 2, 1)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        return self.head(self.encoder(x)[:, 0])


class Lstm(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.lstm = nn.LSTM(size, hidden, 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, 3)

    def forward(self, x):
        y, (h, _) = self.lstm(x)
        return self.out(y[:, -1]) + h.sum()


def encoder(size, heads, layers):
    layer = nn.TransformerEncoderLayer(size, heads, 2 * size, 0.1, batch_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


MODELS = {
    "resnet18": resnet18,
    "mobilenet_v2": mobilenet_v2,
    "vit": lambda: (Vit(), [torch.randn(1, 3, 96, 96)]),
    "lstm": lambda: (Lstm(16, 32), [torch.randn(2, 7, 16)]),
    "encoder": lambda: (encoder(64, 4, 3), [torch.randn(2, 9, 64)]),
}
SMALL = {
    "lstm": lambda: (Lstm(4, 5), [torch.randn(2, 3, 4)]),
    "encoder": lambda: (encoder(8, 2, 1), [torch.randn(2, 3, 8)]),
}


def export(model, inputs, path):
    """Saves the model and returns its result."""
    model = model.eval()
    for module in model.modules():  # statistics as after training
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    with torch.no_grad():
        result = model(*inputs)
    torch.export.save(torch.export.export(model, tuple(inputs), strict=False), path)
    return result


def compare(twb, name, folder):
    torch.manual_seed(3)
    model, inputs = MODELS[name]()
    path = folder / f"{name}.pt2"
    wanted = export(model, inputs, path).detach().numpy()
    project = folder / f"{name}.twb"
    subprocess.run([twb, "import", path, "-o", project], check=True)
    graph = json.loads(project.read_text())
    nodes = graph["nodes"]
    command = [twb, "run", project, "--quiet"]
    for i, node in enumerate([n for n in nodes if n["op"] == "Input"]):
        np.save(folder / f"{name}-in{i}.npy", inputs[i].numpy())
        command += ["--input", f"{node['name']}={folder / f'{name}-in{i}.npy'}"]
    probe = next(n for n in nodes if n["op"] == "Probe")
    source = next(e for e in graph["edges"] if e["to"][0] == probe["id"])["from"]
    made = next(n for n in nodes if n["id"] == source[0])["name"]
    out = folder / f"{name}-out.npy"
    subprocess.run(command + ["--output", f"{made}={out}"], check=True)
    got = np.load(out)
    error = float(np.abs(got - wanted).max() / np.abs(wanted).max())
    opaque = sum(n["op"] == "Opaque" for n in nodes)
    print(f"{name}: {len(nodes)} nodes, {opaque} opaque, largest error {error:.1e}", "ok" if error <= 1e-5 else "WRONG")
    return error <= 1e-5


def data(folder):
    for name, make in SMALL.items():
        torch.manual_seed(3)
        model, inputs = make()
        result = export(model, inputs, folder / f"torch2.9-{name}.pt2")
        numbers = {"inputs": [x.reshape(-1).tolist() for x in inputs], "output": result.reshape(-1).tolist()}
        (folder / f"torch2.9-{name}.json").write_text(json.dumps(numbers) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--data":
        data(Path(sys.argv[2]))
    else:
        target = Path(sys.argv[2])
        target.mkdir(parents=True, exist_ok=True)
        results = [compare(sys.argv[1], name, target) for name in sys.argv[3:] or MODELS]
        sys.exit(0 if all(results) else 1)
