"""Trains a small classifier of handwritten digits for a few steps. Five tensors are on the wrong device.

With a GPU, PyTorch stops at the first fault. A capture needs no GPU and finds all five; comments name their lines:

    twb capture train_digits.py
"""
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "digits")
BATCH = 64
STEPS = 4


class Digits(nn.Module):
    """Reads an image of 8 by 8 pixels as a sequence of 8 rows."""

    def __init__(self, width=32):
        super().__init__()
        self.rows = nn.Linear(8, width)
        self.position = torch.linspace(-1, 1, 8 * width).view(8, width)  # neither a parameter nor a buffer
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.classes = nn.Linear(width, 10)

    def forward(self, images):
        rows = self.rows(images.view(-1, 8, 8))
        rows = rows + self.position  # fault 1: .to() leaves a plain attribute on the CPU
        found, _ = self.attention(rows, rows, rows, need_weights=False)
        rows = self.norm(rows + found)
        if self.training:
            kept = (torch.rand(rows.shape[0], 8, 1) > 0.1).to(rows.dtype)
            rows = rows * kept  # fault 2: the mask was made on the CPU
        return self.classes(rows.mean(1))


def load(name):
    return torch.from_numpy(np.load(os.path.join(FOLDER, name)))


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
train_images, train_labels = load("train_images.npy"), load("train_labels.npy")
test_images, test_labels = load("test_images.npy").to(device), load("test_labels.npy").to(device)

model = Digits().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
counts = torch.bincount(train_labels, minlength=10)
balance = counts.sum() / (10.0 * counts)
mean = train_images.mean(0)

for step in range(STEPS):
    rows = slice(step * BATCH, (step + 1) * BATCH)
    images = train_images[rows].to(device, non_blocking=True)
    labels = train_labels[rows].to(device)
    loss = F.cross_entropy(model(images), labels, weight=balance)  # fault 3: the weights of the classes are on the CPU
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    predicted = model(test_images).argmax(1)
    print(f"accuracy {(predicted == test_labels).float().mean().item():.2f}")
    typical = test_images - mean  # fault 4: the mean was taken of the images on the CPU
    print(f"largest deviation {typical.abs().max().item():.2f}")
try:
    print(np.bincount(predicted.numpy(), minlength=10))  # fault 5: NumPy reads the memory of the CPU only
except TypeError as error:
    print(error)
