"""Ordinary code that is right on a GPU: a capture runs it and finds no mismatch."""

import copy
import io

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from conftest import TORCH

import tensor_workbench

GPU = "cuda"


def transformer():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2).to(GPU)
    x = torch.randn(2, 5, 16, device=GPU)
    model(x).sum().backward()
    model.eval()
    with torch.no_grad():
        assert model(x, src_key_padding_mask=torch.zeros(2, 5, dtype=torch.bool, device=GPU)).is_cuda


def recurrent():
    for kind in (nn.GRU, nn.RNN, nn.LSTM):
        kind(4, 5, bidirectional=True).to(GPU)(torch.randn(3, 2, 4, device=GPU))[0].sum().backward()
    assert nn.LSTMCell(4, 5).to(GPU)(torch.randn(2, 4, device=GPU))[0].is_cuda
    assert nn.GRUCell(4, 5).to(GPU)(torch.randn(2, 4, device=GPU)).is_cuda


def trained(make, **options):
    model = nn.Linear(3, 2).to(GPU)
    optimizer = make(model.parameters(), lr=0.1, **options)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3, device=GPU)).sum().backward()
        optimizer.step()
    again = make(model.parameters(), lr=0.1, **options)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    again.step()


def optimizers():
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "Adadelta", "RAdam", "Adamax"):
        for foreach in (None, True, False):
            trained(getattr(torch.optim, name), foreach=foreach)
    trained(torch.optim.Adam, capturable=True)
    if TORCH >= (2, 4):
        trained(torch.optim.AdamW, fused=True)


def closures():
    model = nn.Linear(3, 1).to(GPU)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1)
    x = torch.randn(4, 3, device=GPU)

    def closure():
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss

    optimizer.step(closure)


def gradient_clipping():
    model = nn.Linear(3, 2).to(GPU)
    model(torch.randn(4, 3, device=GPU)).sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    nn.utils.clip_grad_value_(model.parameters(), 1.0)
    nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(model.parameters()), model.parameters())


def checkpoints():
    from torch.utils.checkpoint import checkpoint
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(), nn.Linear(3, 3)).to(GPU)
    x = torch.randn(2, 3, device=GPU, requires_grad=True)
    for is_reentrant in (True, False):
        checkpoint(model, x, use_reentrant=is_reentrant).sum().backward()


def averaged_models():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).to(GPU)
    average = torch.optim.swa_utils.AveragedModel(model)
    for _ in range(2):
        average.update_parameters(model)
    assert average(torch.randn(4, 3, device=GPU)).is_cuda


def mixed_precision():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(18, 3)).to(GPU)
    scaler = torch.cuda.amp.GradScaler()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for dtype in (torch.float16, torch.bfloat16):
        with torch.autocast("cuda", dtype=dtype):
            loss = F.cross_entropy(model(torch.randn(4, 1, 5, 5, device=GPU)), torch.randint(3, (4,), device=GPU))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    model.half().to(memory_format=torch.channels_last)(torch.randn(2, 1, 5, 5, device=GPU).half())


def random_numbers():
    generator = torch.Generator(device="cuda")
    generator.manual_seed(1)
    torch.randn(3, device=GPU, generator=generator)
    torch.multinomial(torch.ones(4, device=GPU), 2, generator=generator)
    torch.randperm(4, device=GPU, generator=generator)
    torch.distributions.Normal(torch.zeros(2, device=GPU), torch.ones(2, device=GPU)).rsample()
    torch.distributions.Categorical(logits=torch.ones(3, device=GPU)).sample()
    assert F.dropout(nn.init.normal_(torch.empty(3, device=GPU))).is_cuda


def indexing():
    x = torch.randn(4, 3, device=GPU)
    x[0] = 1
    x[:, 1] = x[:, 0]
    x[[0, 1]] = 0
    x[torch.tensor([0, 1])] += 1
    x.index_add_(0, torch.tensor([0], device=GPU), torch.ones(1, 3, device=GPU))
    x.gather(1, torch.topk(x, 2)[1])
    torch.where(x > 0, x, torch.zeros((), device=GPU))
    torch.where(x > 0, x, 0.0)
    y = x.clone()
    y.data = torch.zeros(2, device=GPU)
    assert y.is_cuda and x.to(torch.zeros(1, device=GPU)).is_cuda and x.new_tensor([1]).is_cuda


def functions():
    x = torch.randn(4, 3, device=GPU)
    torch.linalg.svd(x)
    torch.fft.fft(x)
    torch.cdist(x, x)
    torch.einsum("ij,kj->ik", x, x)
    torch.bucketize(x, torch.arange(3.0, device=GPU))
    F.interpolate(x[None, None], scale_factor=2, mode="bilinear")
    F.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2, device=GPU), align_corners=False)
    F.embedding(torch.tensor([1], device=GPU), x)
    nn.utils.rnn.pad_sequence([torch.ones(2, device=GPU), torch.ones(3, device=GPU)])
    nn.utils.spectral_norm(nn.Linear(3, 2)).to(GPU)(x)
    nn.EmbeddingBag(5, 3).to(GPU)(torch.tensor([1, 2], device=GPU), torch.tensor([0], device=GPU))
    torch.autograd.functional.jacobian(lambda value: value * 2, torch.ones(2, device=GPU))


def ctc_losses():
    probabilities = torch.randn(5, 1, 3, device=GPU, requires_grad=True)
    targets = torch.tensor([[1, 2]], device=GPU)
    for lengths in ((torch.tensor([5]), torch.tensor([2])), ((5,), (2,))):
        for reduction in ("mean", "sum", "none"):
            F.ctc_loss(probabilities.log_softmax(2), targets, *lengths, reduction=reduction).sum().backward()


def two_gpus():
    first, second = nn.Linear(3, 3).to("cuda:0"), nn.Linear(3, 3).to("cuda:1")
    second(first(torch.ones(2, 3, device="cuda:0")).to("cuda:1")).sum().backward()
    assert first.weight.grad.get_device() == 0 and second.weight.grad.get_device() == 1


def torchscript():
    x = torch.ones(2, 3, device=GPU)
    assert torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()).to(GPU))(x).is_cuda
    assert torch.jit.trace(nn.Linear(3, 3).to(GPU), x)(x).is_cuda


def function_transforms():
    if TORCH >= (2, 0):
        x, weight = torch.randn(4, 3, device=GPU), torch.randn(3, device=GPU)
        gradient = torch.func.grad(lambda weight, x: (weight * x).sum())
        assert torch.func.vmap(gradient, in_dims=(None, 0))(weight, x).is_cuda
        model = nn.Linear(3, 2).to(GPU)
        torch.func.functional_call(model, dict(model.named_parameters()), (x,))


def streams():
    stream, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
    event.record()
    with torch.cuda.stream(stream):
        x = torch.ones(2, device=GPU)
    torch.cuda.current_stream().wait_stream(stream)
    x.record_stream(stream)
    torch.cuda.empty_cache()
    assert torch.cuda.get_device_properties(0).total_memory > torch.cuda.max_memory_allocated()


def files():
    model = nn.Linear(3, 2).to(GPU)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)

    def loaded(**options):
        buffer.seek(0)
        return torch.load(buffer, **options)["weight"]

    assert loaded().is_cuda
    assert not loaded(map_location="cpu").is_cuda
    assert loaded(map_location=torch.device("cuda", 1)).get_device() == 1
    assert loaded(map_location={"cuda:0": "cuda:1"}).get_device() == 1
    assert not loaded(map_location=lambda storage, location: storage).is_cuda


def inference():
    with torch.inference_mode():
        assert nn.Linear(3, 2).to(GPU)(torch.ones(1, 3, device=GPU)).is_cuda


@pytest.mark.parametrize("program", [
    transformer, recurrent, optimizers, closures, gradient_clipping, checkpoints, averaged_models, mixed_precision, random_numbers,
    indexing, functions, ctc_losses, two_gpus, torchscript, function_transforms, streams, files, inference],
    ids=lambda program: program.__name__)
def test_runs_without_a_mismatch(program):
    with tensor_workbench.capture(gpus=2) as c:
        program()
    assert not c.mismatches, c.summary()
