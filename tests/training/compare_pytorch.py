"""Trains a network with twb and with PyTorch in float64, and compares the loss of each of 200 steps. Then does the same
in mixed precision, with `twb train --amp bf16` and torch.autocast.

Usage: compare_pytorch.py TWB. Ends with 77 if there is no PyTorch.
"""

import json
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

TOLERANCE = 1e-10
# In mixed precision the first loss agrees, as no other rounding does (f32 is 3e-4 away). Later ones depend on the last
# of bf16's 8 bits in each gradient.
TOLERANCE_FIRST, TOLERANCE_BF16 = 1e-6, 1e-2
ROWS, BATCH, EPOCHS = 320, 16, 10
PER_EPOCH = ROWS // BATCH
STEPS = PER_EPOCH * EPOCHS
WARMUP = 20


def one_cycle(optimizer, lr):
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, STEPS, cycle_momentum=False)


def warm_cosine(optimizer, _):
    scheduler = torch.optim.lr_scheduler
    warm = scheduler.LinearLR(optimizer, start_factor=1e-300, total_iters=WARMUP)
    return scheduler.SequentialLR(
        optimizer, [warm, scheduler.CosineAnnealingLR(optimizer, STEPS - WARMUP)], [WARMUP])


def step(optimizer, _):
    return torch.optim.lr_scheduler.StepLR(optimizer, STEPS // 3, 0.1)


def exponential(optimizer, _):
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.01 ** (1 / STEPS))


def plateau(optimizer, _):
    return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)


def clip_norm(parameters):
    torch.nn.utils.clip_grad_norm_(parameters, 0.5)


def clip_value(parameters):
    torch.nn.utils.clip_grad_value_(parameters, 0.01)


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen et al. (2023); PyTorch has none."""

    def __init__(self, parameters, lr, weight_decay=0.0):
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] * torch.sign(0.9 * m + 0.1 * p.grad))
                m.mul_(0.99).add_(p.grad, alpha=0.01)


optim = torch.optim
CASES = {
    "sgd": (optim.SGD, {"lr": 0.1}, [], None, None),
    "sgd-momentum": (optim.SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-3}, [], None, None),
    "sgd-nesterov": (optim.SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True}, [], None, None),
    "sgd-clip": (optim.SGD, {"lr": 0.5}, ["--clip-norm", "0.5"], None, clip_norm),
    "sgd-clip_value": (optim.SGD, {"lr": 0.5}, ["--clip-value", "0.01"], None, clip_value),
    "adam": (optim.Adam, {"lr": 0.01, "weight_decay": 1e-2}, [], None, None),
    "adamw": (optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}, [], None, None),
    "rmsprop": (optim.RMSprop, {"lr": 0.002, "momentum": 0.5}, [], None, None),
    "adagrad": (optim.Adagrad, {"lr": 0.05, "weight_decay": 1e-3}, [], None, None),
    "lion": (Lion, {"lr": 0.001, "weight_decay": 0.1}, [], None, None),
    "sgd-step": (optim.SGD, {"lr": 0.1}, ["--schedule", "step"], step, None),
    "sgd-exponential": (optim.SGD, {"lr": 0.1}, ["--schedule", "exponential"], exponential, None),
    "adamw-one_cycle": (optim.AdamW, {"lr": 0.01}, ["--schedule", "one_cycle"], one_cycle, None),
    "adam-cosine": (optim.Adam, {"lr": 0.01}, ["--schedule", "cosine", "--warmup", str(WARMUP)],
                    warm_cosine, None),
    # So small a rate gains nothing: it is lowered after 11 epochs, and again after 11 more.
    "sgd-plateau": (optim.SGD, {"lr": 1e-7}, ["--schedule", "plateau", "--epochs", "25"], plateau, None),
}

MIXED = {
    "sgd-bf16": (optim.SGD, {"lr": 0.1}, ["--amp", "bf16"], None, None),
    "adamw-bf16": (optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}, ["--amp", "bf16"], None, None),
}


def write_project(folder, rng, dtype):
    data = {
        "x": rng.standard_normal((ROWS, 12)).astype(dtype),
        "y": rng.integers(0, 5, ROWS),
        "w1": (rng.standard_normal((24, 12)) * 0.3).astype(dtype),
        "b1": (rng.standard_normal(24) * 0.1).astype(dtype),
        "w2": (rng.standard_normal((5, 24)) * 0.3).astype(dtype),
        "b2": (rng.standard_normal(5) * 0.1).astype(dtype),
    }
    for name, value in data.items():
        np.save(folder / f"{name}.npy", value)
    nodes = [
        (1, "Batches", "data", {"path": "x.npy", "labels": "y.npy", "batch_size": BATCH, "shuffle": False}),
        (2, "File", "w1", {"path": "w1.npy"}),
        (3, "File", "b1", {"path": "b1.npy"}),
        (4, "File", "w2", {"path": "w2.npy"}),
        (5, "File", "b2", {"path": "b2.npy"}),
        (6, "Gemm", "fc1", {"transB": True}),
        (7, "Tanh", "tanh", {}),
        (8, "Gemm", "fc2", {"transB": True}),
        (9, "SoftmaxCrossEntropyLoss", "loss", {}),
    ]
    edges = [(1, 0, 6, 0), (2, 0, 6, 1), (3, 0, 6, 2), (6, 0, 7, 0), (7, 0, 8, 0), (4, 0, 8, 1), (5, 0, 8, 2),
             (8, 0, 9, 0), (1, 1, 9, 1)]
    project = {
        "format": "tensor-workbench",
        "version": 1,
        "lanes": [{"id": 1, "device": "cpu"}],
        "nodes": [{"id": i, "op": op, "name": name, "lane": 1, "attributes": a} for i, op, name, a in nodes],
        "edges": [{"from": [a, p], "to": [b, q]} for a, p, b, q in edges],
    }
    (folder / "net.twb").write_text(json.dumps(project))
    return data


def trained_by_twb(twb, folder, name, options, extra):
    arguments = [twb, "train", str(folder / "net.twb"), "--loss", "loss", "--parameters", "w1,b1,w2,b2",
                 "--optimizer", name.split("-")[0], "--report",
                 str(folder / "report.json"), "--quiet"]
    for option, value in options.items():
        if option != "nesterov":
            arguments += ["--" + option.replace("_", "-"), str(value)]
    if options.get("nesterov"):
        arguments.append("--nesterov")
    arguments += extra if "--epochs" in extra else [*extra, "--epochs", str(EPOCHS)]
    subprocess.run(arguments, check=True)
    return json.loads((folder / "report.json").read_text())["losses"]


def trained_by_pytorch(data, steps, make, options, schedule, clip, amp):
    weights = {n: torch.tensor(data[n], requires_grad=True) for n in ("w1", "b1", "w2", "b2")}
    optimizer = make(list(weights.values()), **options)
    scheduler = schedule(optimizer, options["lr"]) if schedule else None
    x, y = torch.tensor(data["x"]), torch.tensor(data["y"])
    losses = []
    for at in range(steps):
        rows = slice(at * BATCH % ROWS, at * BATCH % ROWS + BATCH)
        with torch.autocast("cpu", torch.bfloat16, enabled=amp):
            hidden = torch.tanh(torch.nn.functional.linear(x[rows], weights["w1"], weights["b1"]))
            scores = torch.nn.functional.linear(hidden, weights["w2"], weights["b2"])
        # In f32, as by the list of autocast for CUDA, which twb follows; that for the CPU differs.
        loss = torch.nn.functional.cross_entropy(scores.float() if amp else scores, y[rows])
        optimizer.zero_grad()
        loss.backward()
        if clip:
            clip(list(weights.values()))
        optimizer.step()
        losses.append(loss.item())
        if schedule is plateau:
            if len(losses) % PER_EPOCH == 0:
                scheduler.step(sum(losses[-PER_EPOCH:]) / PER_EPOCH)
        elif scheduler:
            scheduler.step()
    return losses


def main():
    twb = sys.argv[1]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for cases, dtype, tolerance in ((CASES, "float64", TOLERANCE), (MIXED, "float32", TOLERANCE_BF16)):
            data = write_project(folder, np.random.default_rng(5), dtype)
            for case, (make, options, extra, schedule, clip) in cases.items():
                ours = trained_by_twb(twb, folder, case, options, extra)
                theirs = trained_by_pytorch(data, len(ours), make, options, schedule, clip, cases is MIXED)
                assert len(ours) >= STEPS
                difference = max(abs(a - b) for a, b in zip(ours, theirs))
                fine = difference <= tolerance and abs(ours[0] - theirs[0]) <= TOLERANCE_FIRST
                wrong += not fine
                print(f"{case:18} {difference:.1e}  {'ok' if fine else 'DIFFERS'}  last loss {ours[-1]:.4f}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
