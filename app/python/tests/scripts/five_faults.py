"""A small network with five tensors on the wrong device. Comments name the faults."""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.norm = nn.BatchNorm1d(64)
        self.last = nn.Linear(64, 10)
        self.drop = nn.Dropout(0.1)
        self.scale = torch.ones(64)  # neither parameter nor buffer: .to() leaves it behind

    def forward(self, x):
        h = self.drop(F.relu(self.norm(self.first(x))))
        h = h * self.scale  # fault 1
        noise = torch.randn(h.shape)
        h = h + 0.1 * noise  # fault 2: the noise was made on the CPU
        return self.last(h)


model = Net().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
class_weights = torch.ones(10)
for step in range(3):
    x = torch.randn(16, 32)
    y = torch.randint(0, 10, (16,))
    out = model(x.to(device))
    loss = F.cross_entropy(out, y.to(device), weight=class_weights)  # fault 3: the weights are on the CPU
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())  # sync
    accuracy = (out.argmax(1) == y).float().mean()  # fault 4: y is still on the CPU
    values = out.detach().cpu().numpy()
    rows = out[torch.tensor([1, 2, 3])]  # allowed; copies the index
    kept = out[out[:, 0] > 0]  # sync
try:
    out.detach().numpy()  # fault 5: NumPy reads the CPU's memory only
except TypeError as error:
    print(error)
