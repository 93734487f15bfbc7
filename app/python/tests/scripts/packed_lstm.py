"""An LSTM over packed sequences whose initial state is on the CPU."""
import torch
import torch.nn as nn

device = "cuda"


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.rnn = nn.LSTM(16, 32, 2, batch_first=True)
        self.out = nn.Linear(32, 5)

    def forward(self, x, lengths):
        state = (torch.zeros(2, x.size(0), 32), torch.zeros(2, x.size(0), 32))
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(x), lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.rnn(packed)
        padded, _ = self.rnn(self.embedding(x), state)  # fault 1: the state is on the CPU
        return self.out(hidden[-1]) + self.out(padded[:, -1])


model = Reader().to(device)
x = torch.randint(0, 50, (4, 7), device=device)
lengths = torch.tensor([7, 5, 3, 2], device=device)
y = model(x, lengths)
print(y.device, lengths.device)
loss = y.pow(2).mean()
loss.backward()
while loss.item() > 1e9:
    pass
if loss > 0.0:
    print("branch taken", float(loss))
print(y[0])
