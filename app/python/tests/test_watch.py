"""The live view of a program: events on a local socket, with and without a window at its other end."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest
import torch

import tensor_workbench
from tensor_workbench import watch_socket, watching

HERE = os.path.dirname(__file__)
PATIENCE = 300  # seconds; only what hangs takes as long
SCHEMA = os.path.join(HERE, "..", "..", "..", "resources", "schema", "watch.schema.json")


class Window:
    """The other end: reads lines until the program closes the socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.file = self.socket.makefile("r", encoding="ascii")
        self.header = json.loads(self.file.readline())

    def rest(self):
        return [json.loads(line) for line in self.file]

    def close(self):
        self.file.close()
        self.socket.close()


@pytest.fixture
def watch(tmp_path, monkeypatch):
    os.chmod(tmp_path, 0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = tensor_workbench.watch()
    yield made
    made.close()


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        time.sleep(0.005)


def train(steps, device="cpu"):
    model = torch.nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        x = torch.randn(8, 4).to(device, non_blocking=True)  # BATCH
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()  # LOSS


def line_of(mark):
    with open(__file__) as file:
        return next(number for number, text in enumerate(file, 1) if text.rstrip().endswith("# " + mark))


def test_steps_and_claimed_transfers_arrive(watch):
    window = Window(watch.path)
    assert window.header["format"] == "tensor-workbench-watch"
    assert window.header["pid"] == os.getpid()
    with tensor_workbench.capture():
        train(3, "cuda")
    watch.close()
    lines = window.rest()
    assert [line["step"] for line in lines if line["kind"] == "step"] == [0, 1, 2]
    sites = {line["id"]: line for line in lines if line["kind"] == "site"}
    batch = next(site for site in sites.values() if site.get("line") == line_of("BATCH"))
    assert (batch["from"], batch["to"], batch["cause"], batch["non_blocking"]) == ("cpu", "cuda:0", "to", True)
    assert batch["file"] == os.path.abspath(__file__) and batch["function"] == "train" and batch["claimed"]
    copies = [line for line in lines if line["kind"] == "transfer" and line["site"] == batch["id"]]
    assert [(copy["step"], copy["bytes"]) for copy in copies] == [(0, 128), (1, 128), (2, 128)]
    assert not any("ns" in copy for copy in copies)  # nothing was copied, so nothing was measured
    waits = [line for line in lines if line["kind"] == "sync"]
    assert {sites[wait["site"]]["line"] for wait in waits} == {line_of("LOSS")} and len(waits) == 3
    assert lines[-1]["kind"] == "end"


def test_lines_follow_the_schema(watch):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    if not os.path.exists(SCHEMA):
        pytest.skip("the package is tested outside of the project's tree, without the schema")
    with open(SCHEMA) as file:
        schema = json.load(file)
    window = Window(watch.path)
    with tensor_workbench.capture():
        train(2, "cuda")
        mask = torch.ones(3, device="cuda") > 0
        torch.ones(3, device="cuda")[mask]
        torch.cuda.synchronize()
    watch.close()
    for line in [window.header, *window.rest()]:
        kind = line.get("kind", "header")
        jsonschema.Draft202012Validator({**schema["$defs"][kind], "$defs": schema["$defs"],
                                         "additionalProperties": False}).validate(line)


def test_all_is_put_back(watch):
    before = torch.Tensor.to
    watch.close()
    assert torch.Tensor.to is not before
    for name in ("to", "cpu", "item", "__getitem__", "copy_", "nonzero"):
        assert name not in vars(torch.Tensor)
    assert "watch" not in torch.optim.SGD.step.__code__.co_filename
    assert not os.path.exists(watch.path)


def test_steps_by_hand(watch):
    window = Window(watch.path)
    wait_until(lambda: watch._socket.listening)
    watch.step()
    train(2)
    watch.step()
    watch.close()
    assert [line["step"] for line in window.rest() if line["kind"] == "step"] == [0, 1]


def test_two_optimizers_make_one_step(watch):
    window = Window(watch.path)
    wait_until(lambda: watch._socket.listening)
    parameters = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    both = [torch.optim.SGD([p], lr=0.1) for p in parameters]
    for _ in range(3):
        for optimizer in both:
            optimizer.step()
    watch.close()
    assert [line["step"] for line in window.rest() if line["kind"] == "step"] == [0, 1, 2]


def test_a_window_that_goes_away_does_not_disturb(watch):
    window = Window(watch.path)
    wait_until(lambda: watch._socket.listening)
    window.close()
    wait_until(lambda: not watch._socket.listening)
    train(2)
    again = Window(watch.path)
    assert again.header["step"] == 2
    again.close()


def test_a_window_that_does_not_read_loses_events_and_is_told(watch):
    watch._socket.listening = True  # as if a window were there that takes nothing
    for _ in range(watch_socket.MOST_WAITING + 5):
        watch._socket.send({"kind": "step", "step": 0, "ns": 1, "at": 1})
    assert len(watch._socket._waiting) == watch_socket.MOST_WAITING
    assert watch._socket._lost == 5


def test_only_the_user_can_open_the_socket(watch, tmp_path):
    assert stat.S_IMODE(os.stat(watch.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(watch.path)).st_mode) == 0o700
    os.chmod(os.path.dirname(watch.path), 0o755)
    with pytest.raises(PermissionError, match="only you can open"):
        watch_socket.folder()


def test_one_watch_in_a_process(watch):
    assert tensor_workbench.watch() is watch


def test_copies_are_timed_by_events(watch, monkeypatch):
    """Without a GPU: events as CUDA's, which are done only when they are asked for the second time."""

    class Event:
        def __init__(self, enable_timing):
            self.asked = 0

        def record(self):
            pass

        def query(self):
            self.asked += 1
            return self.asked > 1

        def elapsed_time(self, other):
            return 0.25

    class Device:
        def __init__(self, device):
            pass

        def __enter__(self):
            pass

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "device", Device)
    monkeypatch.setattr(watching, "_has_gpu", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    window = Window(watch.path)
    wait_until(lambda: watch._socket.listening)
    x = torch.ones(4)
    watch._timed(lambda: x, "to", torch.device("cpu"), torch.device("cuda", 1), x)
    watch.close()
    copies = [line for line in window.rest() if line["kind"] == "transfer"]
    assert [(copy["ns"], copy["bytes"]) for copy in copies] == [(250_000, 16)]
    assert "wait" in copies[0]  # blocking


SCRIPT = """
import os, sys, time, torch, tensor_workbench
w = tensor_workbench.watch()
print(w.path, flush=True)
if sys.argv[1] == "fork":
    child = os.fork()
    if child == 0:
        torch.ones(2).tolist()
        os._exit(0)
    os.waitpid(child, 0)
sys.stdin.readline()
if sys.argv[1] == "raise":
    raise ValueError("planted")
"""


def start(tmp_path, how):
    os.chmod(tmp_path, 0o700)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen([sys.executable, str(script), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True,
                               env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "PYTHONPATH": os.path.dirname(HERE)})
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("how", ["end", "raise", "fork"])
def test_the_end_of_the_program_is_told(how, tmp_path):
    process, path = start(tmp_path, how)
    window = Window(path)
    process.communicate("\n", timeout=PATIENCE)
    assert window.rest()[-1]["kind"] == "end"
    assert not os.path.exists(path)
    assert process.returncode == (1 if how == "raise" else 0)


def test_a_killed_program_closes_the_connection(tmp_path):
    process, path = start(tmp_path, "end")
    window = Window(path)
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    assert not any(line["kind"] == "end" for line in window.rest())


@pytest.mark.skipif(not os.environ.get("TWB_COST"), reason="a measurement: set TWB_COST=1")
def test_overhead_of_a_watched_step(watch, capsys):
    """At most 5 % of a step of about 10 ms, with a window that listens."""
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(12)])
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(64, 256)

    def step():
        optimizer.zero_grad()
        model(x.to("cpu")).square().mean().backward()
        optimizer.step()

    def middle(times):
        return sorted(times)[len(times) // 2]

    window = Window(watch.path)
    wait_until(lambda: watch._socket.listening)
    times = {True: [], False: []}
    for i in range(400):  # in turn, so that other programs disturb both alike
        watch._socket.listening = i % 2 == 0
        begin = time.process_time()
        step()
        times[i % 2 == 0].append(time.process_time() - begin)
    watched, plain = middle(times[True]), middle(times[False])
    window.close()
    with capsys.disabled():
        print(f"\nstep {plain * 1e3:.2f} ms, watched {watched * 1e3:.2f} ms, {100 * (watched / plain - 1):+.1f} %")
    assert watched < 1.05 * plain
