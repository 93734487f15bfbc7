"""What a capture records of ordinary code, and how it leaves the process."""

import concurrent.futures
import copy
import json
import pickle
import threading

import pytest
import torch
from conftest import TORCH

import tensor_workbench


def lines(path, kind=None):
    with open(path) as file:
        records = [json.loads(line) for line in file]
    return [record for record in records if kind is None or record.get("kind") == kind]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "run.twbcap")


def test_a_tensor_answers_with_its_claim():
    with tensor_workbench.capture(gpus=2):
        assert torch.cuda.is_available() and torch.cuda.device_count() == 2
        t = torch.zeros(2, device="cuda:1")
        assert (t.device, t.is_cuda, t.get_device()) == (torch.device("cuda:1"), True, 1)
        assert (t + 1)[0].device == t.device
        assert t.cpu().device == torch.device("cpu")
        assert torch.zeros_like(t).is_cuda and t.new_zeros(3).is_cuda and t.new_tensor([1.0]).is_cuda
        assert torch.tensor([1], device="cuda").device == torch.device("cuda:0")
        assert t.type() == "torch.cuda.FloatTensor"
        assert copy.deepcopy(t).device == t.device
        assert "device='cuda:1'" in repr(t)
        with torch.cuda.device(1):
            assert torch.ones(1).cuda().device == t.device
    assert not torch.cuda.is_available() or torch.version.cuda
    assert t.device == torch.device("cpu")


@pytest.mark.skipif(not hasattr(torch, "set_default_device"), reason="default devices came with torch 2.0")
def test_tensors_without_a_device_are_made_on_the_default_one():
    with tensor_workbench.capture(gpus=2) as c:
        try:
            torch.set_default_device("cuda")
            layer = torch.nn.Linear(2, 3)
            assert layer.weight.is_cuda and torch.zeros(2).is_cuda and torch.tensor([1.0]).is_cuda
            assert torch.arange(3).device == torch.randn(2).device == torch.get_default_device() == torch.device("cuda:0")
            assert torch.as_tensor([1]).is_cuda and torch.linspace(0, 1, 3).is_cuda
            assert not torch.zeros(2, device="cpu").is_cuda and torch.zeros_like(torch.ones(1, device="cpu")).is_cpu
            torch.cuda.set_device(1)
            assert torch.ones(1).device == torch.device("cuda:1")
            torch.cuda.set_device(0)
            layer(torch.ones(1, 2, device="cpu"))
        finally:
            torch.set_default_device(None)
        with torch.device("cuda:1"):
            assert torch.zeros(2).device == torch.device("cuda:1")
        assert torch.zeros(2).is_cpu
    assert len(c.mismatches) == 1


def test_everything_that_was_replaced_is_put_back():
    before = {name: vars(torch.cuda)[name] for name in ("is_available", "device_count", "synchronize", "Stream")}
    step = torch.optim.SGD.step
    with pytest.raises(ValueError):
        with tensor_workbench.capture():
            torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1)
            raise ValueError
    assert {name: vars(torch.cuda)[name] for name in before} == before
    assert torch.optim.SGD.step is step
    assert "__repr__" in vars(torch.Tensor) and "tensor(" in repr(torch.ones(1))
    with tensor_workbench.capture():
        with pytest.raises(RuntimeError, match="Another capture"):
            tensor_workbench.capture().__enter__()


def test_an_op_has_its_operands_line_module_phase_and_step(path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(3, 4))

        def forward(self, x):
            return self.inner(x)

    with tensor_workbench.capture(path):
        net = Net().cuda()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(2, 3, device="cuda")).sum().backward()
            optimizer.step()
    ops = lines(path, "op")
    modules = {module["id"]: module for module in lines(path, "module")}
    locations = {location["id"]: location for location in lines(path, "location")}
    products = [op for op in ops if op["op"] == "aten::addmm"]
    assert [op["step"] for op in products] == [0, 1]
    product = products[0]
    assert [operand["arg"] for operand in product["in"]] == ["self", "mat1", "mat2"]
    assert product["out"][0]["shape"] == [2, 4] and product["out"][0]["dtype"] == "float32"
    assert product["out"][0]["device"] == product["device"] == "cuda:0"
    assert modules[product["module"]] == {"kind": "module", "id": product["module"], "path": "Net.inner.0", "class": "Linear",
                                          "parent": modules[product["module"]]["parent"]}
    assert product["phase"] == "forward" and product["function"] == "linear"
    where = locations[product["location"]]
    assert (where["file"], where["function"]) == (__file__, "forward")
    assert locations[where["caller"]]["function"] == "test_an_op_has_its_operands_line_module_phase_and_step"
    assert {op["phase"] for op in ops if op["op"] == "aten::mm"} == {"backward"}
    assert "optimizer" in {op["phase"] for op in ops if op["op"] in ("aten::add_", "aten::_foreach_add_")}
    names = {(modules[p["module"]]["path"], p["name"]) for p in lines(path, "parameter")}
    assert names == {("Net.inner.0", "weight"), ("Net.inner.0", "bias")}
    made_by = {output["id"] for op in ops for output in op["out"]}
    assert {operand["id"] for operand in product["in"]} <= made_by
    if TORCH >= (2, 1):
        mine = [op for op in ops if op["op"] == "aten::mm" and op["step"] == 0]
        assert [op["forward"] for op in mine] == [product["id"]] * len(mine)
        assert [op["module"] for op in mine] == [product["module"]] * len(mine)


def test_writing_in_place_makes_a_new_value(path):
    with tensor_workbench.capture(path):
        x = torch.zeros(4)
        view = x[:2]
        view.add_(1)
        x * 2
    add, = [op for op in lines(path, "op") if op["op"] == "aten::add_"]
    mul, = [op for op in lines(path, "op") if op["op"] == "aten::mul"]
    assert add["out"][0]["overwrites"] == add["in"][0]["id"]
    value, = lines(path, "tensor")
    assert value["after"] == add["out"][0]["id"] and value["id"] == mul["in"][0]["id"]
    made, = [op for op in lines(path, "op") if op["op"] == "aten::zeros"]
    assert value["before"] == made["out"][0]["id"]


def test_finds_each_kind_of_sync():
    with tensor_workbench.capture() as c:
        t = torch.ones(3, device="cuda")
        t[0].item()
        bool(t.sum() > 0)
        t.nonzero()
        t[t > 0]
        t[t > 2] = 0  # fills under the mask without waiting
        t.cpu()
        str(t)
        t.tolist()
        torch.cuda.synchronize()
        torch.cuda.current_stream().synchronize()
        t.masked_select(t > 0)
        torch.unique(t)
        torch.ones(3).sum().item()
    assert [(line.cause, count) for line, count in c.results.syncs.items()] == [
        ("item()", 1), ("bool(tensor)", 1), ("nonzero()", 1), ("mask indexing", 1), ("cpu()", 1), ("print(tensor)", 1),
        ("tolist()", 1), ("torch.cuda.synchronize()", 1), ("stream.synchronize()", 1), ("masked_select()", 1), ("unique()", 1)]
    assert not c.mismatches


def test_a_copy_has_bytes_direction_and_whether_the_cpu_waits():
    with tensor_workbench.capture(gpus=2) as c:
        host = torch.ones(10)
        host.to("cuda:0", non_blocking=True)
        there = host.pin_memory().to("cuda:0", non_blocking=True)
        there.to("cuda:1")
        there.to("cpu", non_blocking=True)
        host.copy_(there)
        there.half()
        host.to(torch.float64)
        there.to("cuda:0")
    found = [(t.source, t.destination, t.pinned, t.non_blocking, t.blocking, total.bytes) for t, total in c.results.transfers.items()]
    assert found == [
        ("cpu", "cuda:0", False, True, True, 40),  # from pageable memory
        ("cpu", "cuda:0", True, True, False, 40),
        ("cuda:0", "cuda:1", False, False, False, 40),
        ("cuda:0", "cpu", False, True, False, 40),
        ("cuda:0", "cpu", False, False, True, 40)]


def test_the_gradient_of_a_copy_is_a_copy_back():
    with tensor_workbench.capture() as c:
        x = torch.ones(4, requires_grad=True)
        (x.cuda() * 2).sum().backward()
        assert x.grad.device == torch.device("cpu")
    assert [(t.source, t.destination, t.phase) for t in c.results.transfers] == [("cpu", "cuda:0", "forward"), ("cuda:0", "cpu", "backward")]
    assert not c.mismatches


def test_consequences_are_folded_under_their_root(path):
    with tensor_workbench.capture(path) as c:
        weight = torch.ones(4, requires_grad=True)
        x = torch.ones(4, device="cuda", requires_grad=True)
        y = x * weight
        (y + weight.exp()).sum().backward()
    assert [m.line for m in c.mismatches] == [c.mismatches[0].line]
    assert c.mismatches[0].echoes >= 2
    found = lines(path, "mismatch")
    assert "root" not in found[0] and {m["root"] for m in found[1:]} == {found[0]["id"]}
    assert {"downstream", "backward"} <= {m["relation"] for m in found[1:]}


def test_autocast_has_cudas_dtypes():
    with tensor_workbench.capture():
        a, b = torch.ones(4, 4, device="cuda"), torch.ones(4, 4, device="cuda")
        conv = torch.nn.Conv2d(1, 2, 3).cuda()
        with torch.autocast("cuda"):
            assert (a @ b).dtype is torch.float16
            assert torch.nn.functional.linear(a, b).dtype is torch.float16
            assert torch.softmax(a @ b, -1).dtype is torch.float32
            assert (a @ b).sum().dtype is torch.float32
            assert torch.cat([a, a @ b]).dtype is torch.float32
            assert (a + b).dtype is torch.float32
            assert conv(torch.ones(1, 1, 5, 5, device="cuda")).dtype is torch.float16
            conv(torch.ones(1, 1, 5, 5, device="cuda")).sum().backward()
            assert conv.weight.grad.dtype is torch.float32
        with torch.autocast("cuda", dtype=torch.bfloat16):
            assert (a @ b).dtype is torch.bfloat16
        assert (a @ b).dtype is torch.float32


def test_autocast_keeps_casts_of_weights_only_until_it_ends():
    with tensor_workbench.capture():
        layer = torch.nn.Linear(2, 1, bias=False).cuda()
        x = torch.ones(1, 2, device="cuda")
        for value in (1.0, 3.0):
            with torch.no_grad():
                layer.weight.fill_(value)
            with torch.autocast("cuda"):
                first = layer(x)
                layer(x)
            assert first.item() == 2 * value
            first.backward()


def test_autocast_leaves_out_and_the_cpu_alone_and_refuses_what_cuda_refuses():
    with tensor_workbench.capture():
        a = torch.ones(4, 4, device="cuda")
        with torch.autocast("cuda"):
            assert torch.mm(a, a, out=torch.empty(4, 4, device="cuda")).dtype is torch.float32
            assert (torch.ones(4, 4) @ torch.ones(4, 4)).dtype is torch.float32
            assert (a.double() @ a.double()).dtype is torch.float64
            assert torch.logsumexp(a.half(), 0).dtype is torch.float32
            assert torch.linalg.vector_norm(a.half()).dtype is torch.float32
            assert torch.addcmul(a.half(), a, a.half()).dtype is torch.float32
            assert torch.nn.functional.interpolate(a.half()[None, None], scale_factor=2, mode="bilinear").dtype is torch.float32
            lstm = torch.nn.LSTM(4, 3).cuda()
            assert lstm(a[None])[0].dtype is torch.float16
            with pytest.raises(RuntimeError, match="unsafe to autocast"):
                torch.nn.functional.binary_cross_entropy(a * 0.5, a)
            torch.nn.functional.binary_cross_entropy_with_logits(a, a)


def test_tensors_that_autograd_makes_are_where_their_op_was():
    class Halves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:2].clone(), x[2:].clone()

        @staticmethod
        def backward(ctx, first, second):
            return torch.cat([first, second])  # one of them is made of zeros

    with tensor_workbench.capture(gpus=2) as c:
        here, there = (torch.ones(4, 3, device=d, requires_grad=True) for d in ("cuda:0", "cuda:1"))
        for x in (there, here, there):
            x.unbind(0)[1].sum().backward()           # gradients of unused results
            Halves.apply(x)[0].sum().backward()
            x.split(2)[1].sum().backward()
            x[1:3].sum().backward()                   # a gradient that is written into zeros
            x.sort(0)[0][0].sum().backward()
            x.expand(2, 4, 3).select(0, 1).sum().backward()
            torch.autograd.grad(x.pow(2).sum(), x, create_graph=True)[0].sum().backward()
            assert x.grad.device == x.device
        lstm = torch.nn.LSTM(3, 5, 2).cuda(1)
        lstm(there[None])[1][0].sum().backward()      # the output is unused
        assert {p.grad.device for p in lstm.parameters()} == {torch.device("cuda:1")}
    assert not c.mismatches, c.summary()


def test_ops_of_other_threads_are_recorded():
    with tensor_workbench.capture() as c:
        def work():
            assert torch.ones(2, device="cuda").is_cuda
            torch.ones(2, device="cuda") + torch.ones(2)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert [m.function for m in c.mismatches] == ["work"]


def test_an_executors_threads_are_recorded():
    with tensor_workbench.capture() as c:
        def work(i):
            return (torch.ones(2, device="cuda") * i + torch.ones(2)).device

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            assert list(pool.map(work, range(6))) == [torch.device("cuda:0")] * 6
    assert [(m.function, m.count) for m in c.mismatches] == [("work", 6)]


def test_batches_of_loader_workers_are_on_the_cpu_and_a_note_says_that_their_ops_are_missing():
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    with tensor_workbench.capture() as c:
        for workers in (0, 1):
            for batch, in torch.utils.data.DataLoader(data, batch_size=4, num_workers=workers, pin_memory=True):
                assert batch.device == torch.device("cpu") and batch.is_pinned()
                batch.cuda(non_blocking=True) + batch
    assert [m.count for m in c.mismatches] == [4]
    assert set(c.results.notes) == {"loader-workers"}


def test_data_parallel_copies_between_gpus():
    with tensor_workbench.capture(gpus=2) as c:
        model = torch.nn.DataParallel(torch.nn.Linear(3, 4).cuda(), device_ids=[0, 1])
        out = model(torch.ones(6, 3, device="cuda"))
        assert out.shape == (6, 4) and out.device == torch.device("cuda:0")
        out.sum().backward()
        assert model.module.weight.grad.device == torch.device("cuda:0")
        assert torch.equal(model.module.bias.grad, torch.full((4,), 6.0, device="cuda"))
    assert not c.mismatches
    directions = {(t.source, t.destination) for t in c.results.transfers}
    assert {("cuda:0", "cuda:1"), ("cuda:1", "cuda:0")} <= directions


def test_sparse_tensors_have_claims():
    with tensor_workbench.capture() as c:
        sparse = torch.eye(3).to_sparse().cuda()
        assert sparse.is_cuda
        assert (sparse @ torch.ones(3, 2, device="cuda")).is_cuda
        assert not c.mismatches
        sparse @ torch.ones(3, 2)
    assert len(c.mismatches) == 1


def test_sparse_gradients_and_layouts_have_claims():
    with tensor_workbench.capture() as c:
        table = torch.nn.Embedding(5, 3, sparse=True).cuda()
        optimizer = torch.optim.SparseAdam(table.parameters())
        table(torch.tensor([1, 2], device="cuda")).sum().backward()
        assert table.weight.grad.is_sparse and table.weight.grad.is_cuda
        optimizer.step()
        built = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), device="cuda")
        assert built.is_cuda and built.coalesce().values().is_cuda and built.to_dense().is_cuda
        rows = torch.eye(3, device="cuda").to_sparse_csr()
        assert rows.is_cuda and (rows @ torch.ones(3, 2, device="cuda")).is_cuda
    assert not c.mismatches, c.summary()


def test_copies_and_pickles_of_a_tensor_keep_its_claim():
    with tensor_workbench.capture():
        t = torch.ones(2, device="cuda")
        assert copy.copy(t).is_cuda and copy.deepcopy(t).is_cuda
        assert pickle.loads(pickle.dumps(t)).is_cuda
        layer = pickle.loads(pickle.dumps(torch.nn.Linear(2, 2).cuda()))
        assert layer.weight.is_cuda and copy.deepcopy(layer).bias.is_cuda


def test_saved_tensors_keep_their_claims(tmp_path):
    file = str(tmp_path / "t.pt")
    with tensor_workbench.capture():
        torch.save({"a": torch.arange(3.0, device="cuda")}, file)
        assert torch.load(file)["a"].is_cuda
        assert not torch.load(file, map_location="cpu")["a"].is_cuda
        assert torch.load(file, map_location="cuda:0")["a"].tolist() == [0, 1, 2]
    assert torch.load(file, map_location="cpu")["a"].tolist() == [0, 1, 2]


def test_steps_limit_what_is_recorded(path):
    with tensor_workbench.capture(path, first_step=1, end_step=3) as c:
        for _ in range(5):
            torch.ones(2, device="cuda") + 1
            c.step()
    assert [op["step"] for op in lines(path, "op") if op["op"] == "aten::add"] == [1, 2]
    assert lines(path)[0]["steps"] == [1, 3]


def test_assert_no_mismatches_returns_the_result_or_names_the_line():
    def good(x):
        return x.cuda() * 2

    def bad(x):
        return x.cuda() * x

    assert tensor_workbench.assert_no_mismatches(good, torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(AssertionError) as error:
        tensor_workbench.assert_no_mismatches(bad, torch.ones(2))
    line = bad.__code__.co_firstlineno + 1
    assert f"test_capture.py:{line} in bad" in str(error.value)
    assert "other is on cpu, different from other tensors on cuda:0" in str(error.value)


@pytest.mark.skipif(TORCH < (2, 1), reason="captures without values need torch 2.1")
def test_a_fake_capture_computes_nothing_and_says_what_it_assumed(path):
    with tensor_workbench.capture(path, fake=True) as c:
        huge = torch.nn.Linear(200_000, 200_000, device="cuda")
        y = huge(torch.ones(1, 200_000, device="cuda"))
        assert y.device == torch.device("cuda:0")
        y.sum().item()
        y[y > 0]
        y + torch.ones(200_000)
    assert [m.op for m in c.mismatches] == ["aten::add"]
    assert set(c.results.notes) == {"fake-item", "fake-size"}
    assert lines(path)[0]["fake"] is True


@pytest.mark.skipif(TORCH < (2, 6), reason="older versions cannot compile for this version of Python, or have no force_eager")
def test_what_was_compiled_before_the_capture_runs_eagerly():
    compiled = torch.compile(lambda x: x + torch.ones(2))
    with tensor_workbench.capture() as c:
        compiled(torch.ones(2, device="cuda"))
    assert [m.op for m in c.mismatches] == ["aten::add"]


@pytest.mark.skipif(TORCH < (2, 0), reason="torch.compile came with torch 2.0")
def test_compiled_models_run_eagerly_with_a_note():
    with tensor_workbench.capture() as c:
        torch.compile(torch.nn.Linear(2, 2).cuda())(torch.ones(1, 2, device="cuda"))
    assert "compile" in c.results.notes
    assert c.results.ops > 2
