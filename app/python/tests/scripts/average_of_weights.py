"""Mixed precision with pinned, asynchronous copies, and a moving average of the weights on the CPU."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
torch.backends.cudnn.benchmark = True
device = "cuda:0"
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(8, 10)).cuda()
data = TensorDataset(torch.randn(32, 3, 16, 16), torch.randint(0, 10, (32,)))
loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=1, pin_memory=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
scaler = torch.cuda.amp.GradScaler()
average = [p.detach().clone().cpu() for p in model.parameters()]
stream = torch.cuda.Stream()
for i, (x, y) in enumerate(loader):
    x = x.to(device, non_blocking=True)
    y = y.cuda(non_blocking=True)
    with torch.autocast("cuda", dtype=torch.float16):
        out = model(x)
        loss = F.cross_entropy(out, y)
    if i == 0:
        print("dtypes", out.dtype, loss.dtype, x.device, x.is_pinned())
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    with torch.no_grad():
        for mean, p in zip(average, model.parameters()):
            mean.mul_(0.9).add_(p, alpha=0.1)  # fault 1: the average is on the CPU
    with torch.cuda.stream(stream):
        z = torch.ones(4, device=device) * 2
    torch.cuda.synchronize()
schedule.step()
torch.save(model.state_dict(), "weights.pt")
model.load_state_dict(torch.load("weights.pt", map_location="cuda"))
print("done", model[0].weight.device)
