"""What the threads of a program share: a capture's tables and file, a watch's sites, and the current GPU, which they do not.

A Meeting holds one thread in the middle of a change until a second one is there too. Where the second one has to wait for
the first, the meeting ends after a while, so these tests cannot fail on a slow machine.
"""

import concurrent.futures
import gc
import json
import sys
import threading

import pytest
import torch

import tensor_workbench
from tensor_workbench import claims, patches
from tensor_workbench.capture_file import CaptureFile
from tensor_workbench.claims import Claims
from tensor_workbench.locations import Locations
from tensor_workbench.lock import LOCK
from tensor_workbench.recorder import Recorder
from tensor_workbench.watch_socket import WatchSocket

PATIENCE = 1.0  # seconds for a second thread that may come


class Meeting:
    """The first thread waits until a second one has come; if none comes, neither this nor a later one waits any longer."""

    def __init__(self):
        self._barrier = threading.Barrier(2)

    def wait(self):
        try:
            self._barrier.wait(PATIENCE)
        except threading.BrokenBarrierError:
            pass


def in_threads(work, count=2):
    """Calls work(i) in `count` threads at once and returns the results. Raises what a thread raised."""
    ready = threading.Barrier(count)

    def started(i):
        ready.wait()
        return work(i)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(started, range(count)))


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "run.twbcap")


@pytest.fixture
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def meet_at_lines(monkeypatch, kind):
    """Two threads that are about to write a line of that kind meet."""
    write = CaptureFile.write
    meeting = Meeting()

    def meet(file, record):
        if record.get("kind") == kind:
            meeting.wait()
        write(file, record)

    monkeypatch.setattr(CaptureFile, "write", meet)


def whole(path):
    """The records of a capture. Each number is given once, in order, and before it is used."""
    with open(path) as file:
        records = [json.loads(line) for line in file]
    count = {"location": 0, "module": 0, "op": 0, "mismatch": 0}
    tensors, parameters, judged, calls = set(), set(), {}, {}

    def known(kind, number):
        assert 0 <= number <= count[kind], f"{kind} {number} is not known yet"

    def new_tensor(number):
        assert number not in tensors
        tensors.add(number)

    for record in records[1:]:
        kind = record["kind"]
        known("location", record.get("location", 0))
        known("module", record.get("module", 0))
        if kind in count:
            count[kind] += 1
            assert record["id"] == count[kind]
        if kind == "location":
            assert record.get("caller", 0) < record["id"]
        elif kind == "module":
            assert record.get("parent", 0) < record["id"]
        elif kind == "tensor":
            new_tensor(record["id"])
            assert {record[name] for name in ("after", "before") if name in record} <= tensors
        elif kind == "parameter":
            assert record["tensor"] in tensors and record["storage"] not in parameters
            parameters.add(record["storage"])
        elif kind == "op":
            assert {operand["id"] for operand in record["in"]} <= tensors | {0}
            for out in record["out"]:
                new_tensor(out["id"])
            assert judged.pop(record["id"], record["op"]) == record["op"]
            if "call" in record:
                assert calls.setdefault(record["call"], record["function"]) == record["function"]
        elif kind == "mismatch":
            assert {operand["id"] for operand in record["operands"]} <= tensors
            assert record.get("root", 0) < record["id"]
            if "op" in record:
                assert record["op"] not in judged
                judged[record["op"]] = record["name"]
        elif kind in ("transfer", "sync"):
            known("op", record.get("op", 0))
            assert record.get("tensor", 0) in tensors | {0}
    assert not judged, "mismatches name ops that are not there"
    assert records[-1]["kind"] == "end"
    return records


# ---- one number for one thing ----

def test_a_stack_has_one_number():
    announced = []
    meeting = Meeting()

    def announce(number, location):
        meeting.wait()
        announced.append((number, location))

    locations = Locations(announce)
    first, second = in_threads(lambda i: locations.here())
    assert first == second
    assert [number for number, _ in announced] == list(range(1, len(announced) + 1)) == list(range(1, len(locations.all) + 1))
    assert len({location for _, location in announced}) == len(announced)


def test_equal_code_of_two_files_has_two_locations(tmp_path):
    locations = Locations(lambda number, location: None)
    source = "def here(locations):\n    return locations.here()\n"
    numbers = []
    for name in ("a.py", "b.py"):
        space = {}
        exec(compile(source, str(tmp_path / name), "exec"), space)
        numbers.append(space["here"](locations))
    assert [locations.users_line(number).file for number in numbers] == [str(tmp_path / "a.py"), str(tmp_path / "b.py")]


def test_finalizers_run_outside_of_the_lock(path, monkeypatch):
    """Python may collect garbage wherever an object is made. A finalizer may use tensors, and wait for other threads."""
    owned = []

    class Garbage:
        def __init__(self):
            self.me = self

        def __del__(self):
            owned.append(LOCK._lock._is_owned())
            torch.ones(1) + 1

    place = Recorder._place

    def littering(recorder, record, location):
        assert LOCK._lock._is_owned() or record["kind"] != "op"
        Garbage()
        [[] for _ in range(100)]  # more objects than the threshold
        place(recorder, record, location)

    monkeypatch.setattr(Recorder, "_place", littering)
    before = gc.get_threshold()
    gc.set_threshold(10)
    try:
        with tensor_workbench.capture(path):
            for _ in range(5):
                torch.ones(2) * 2
            assert gc.isenabled()
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(owned) >= 5 and not any(owned)
    numbers = [record["id"] for record in whole(path) if record.get("kind") == "op"]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_program_that_collects_no_garbage_stays_so():
    gc.disable()
    try:
        with LOCK, LOCK:
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
    with LOCK:
        with LOCK:
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_location_is_written_before_the_ops_there(path, monkeypatch):
    meet_at_lines(monkeypatch, "location")
    with tensor_workbench.capture(path) as c:
        in_threads(lambda i: torch.ones(2, device="cuda") + torch.ones(2))
    whole(path)
    assert [m.count for m in c.mismatches] == [2]


def test_a_module_has_one_number(path, monkeypatch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    meet_at_lines(monkeypatch, "module")
    with tensor_workbench.capture(path):
        in_threads(lambda i: net(torch.ones(1, 2)))
    paths = [record["path"] for record in whole(path) if record.get("kind") == "module"]
    assert paths == ["Sequential", "Sequential.0", "Sequential.1"]


def test_a_storage_has_one_claim(monkeypatch):
    make = claims.StorageWeakRef
    meeting = Meeting()

    def meet(storage):
        meeting.wait()
        return make(storage)

    monkeypatch.setattr(claims, "StorageWeakRef", meet)
    table = Claims()
    tensor = torch.ones(2)
    first, second = in_threads(lambda i: table.memory(tensor))
    assert first is second and table.count == 1


def test_a_value_is_written_before_its_copy(path, monkeypatch):
    with tensor_workbench.capture(path, first_step=1) as c:
        there = torch.ones(2, device="cuda")
        c.step()
        meet_at_lines(monkeypatch, "tensor")
        in_threads(lambda i: there.tolist())
    copies = [record["tensor"] for record in whole(path) if record.get("kind") == "transfer"]
    assert len(copies) == 2 and len(set(copies)) == 1


def test_a_mismatch_names_its_own_op(path, monkeypatch):
    record = Recorder.op
    meeting = Meeting()

    def meet(recorder, name, *rest):
        if name in ("aten::add", "aten::mul"):
            meeting.wait()
        return record(recorder, name, *rest)

    monkeypatch.setattr(Recorder, "op", meet)
    with tensor_workbench.capture(path):
        here, there = torch.ones(2), torch.ones(2, device="cuda")
        in_threads(lambda i: here * there if i else here + there)
    assert sum(record.get("kind") == "mismatch" for record in whole(path)) == 2


def test_a_mismatch_of_a_layer_names_its_own_op(path, monkeypatch):
    record, judge = Recorder.op, Recorder.mismatch
    judged, added = threading.Event(), threading.Event()

    def after_judging(*arguments):
        root = judge(*arguments)
        judged.set()
        return root

    def after_another(recorder, name, *rest):
        if name == "aten::lstm":
            added.wait(PATIENCE)
        return record(recorder, name, *rest)

    monkeypatch.setattr(Recorder, "mismatch", after_judging)
    monkeypatch.setattr(Recorder, "op", after_another)
    with tensor_workbench.capture(path) as c:
        lstm, here, there = torch.nn.LSTM(2, 2), torch.ones(2), torch.ones(1, 1, 2, device="cuda")

        def work(i):
            if i == 0:
                return lstm(there)
            judged.wait()
            here + here
            added.set()

        in_threads(work)
    whole(path)
    assert [m.op for m in c.mismatches] == ["aten::lstm"]


# ---- nothing is lost, and nothing comes late ----

def test_all_threads_are_waited_for(monkeypatch):
    start, join, meeting = threading.Thread.start, threading.Thread.join, Meeting()
    go, joined = threading.Event(), []
    threads = [threading.Thread(target=go.wait) for _ in range(2)]

    def meet(thread):
        if thread in threads:
            meeting.wait()
        start(thread)

    def counted_join(thread):
        joined.append(thread)
        join(thread)

    monkeypatch.setattr(threading.Thread, "start", meet)
    with tensor_workbench.capture() as c:
        in_threads(lambda i: threads[i].start())
        go.set()
        monkeypatch.setattr(threading.Thread, "join", counted_join)
        c.join_threads()
    assert set(threads) <= set(joined)


def test_an_optimizer_that_is_made_counts_its_steps():
    def step(self, closure=None):
        return None

    meeting = Meeting()

    def replacement(original):
        if original is step:
            meeting.wait()
        return lambda *arguments: original(*arguments)

    made = patches.Patches()
    patches.replace_optimizer_steps(made, replacement)
    try:
        late = type("Late", (torch.optim.SGD,), {"step": step})

        def work(i):
            late([torch.nn.Parameter(torch.ones(1))], lr=1)
            return late.step is step

        assert in_threads(work) == [False, False]
    finally:
        made.undo()
    assert late.step is step


def test_the_end_is_the_last_line(path, monkeypatch):
    write, close = CaptureFile.write, CaptureFile.close
    ended, wrote, stop = threading.Event(), threading.Event(), threading.Event()

    def watched(file, record):
        is_late = ended.is_set()
        write(file, record)
        if record.get("kind") == "end":
            ended.set()
        elif is_late:
            wrote.set()

    def late(file):
        wrote.wait(PATIENCE)
        close(file)

    def work():
        while not stop.is_set():
            torch.ones(1) + 1

    monkeypatch.setattr(CaptureFile, "write", watched)
    monkeypatch.setattr(CaptureFile, "close", late)
    with tensor_workbench.capture(path):
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
    stop.set()
    thread.join()
    whole(path)


def test_one_capture_is_open(monkeypatch, tmp_path):
    make = CaptureFile.__init__
    meeting, tried = Meeting(), threading.Barrier(2)

    def meet(file, path):
        meeting.wait()
        make(file, path)

    monkeypatch.setattr(CaptureFile, "__init__", meet)

    def work(i):
        try:
            with tensor_workbench.capture(str(tmp_path / f"{i}.twbcap")):
                tried.wait()
                return "open"
        except RuntimeError as error:
            tried.wait()
            return str(error)

    assert sorted(in_threads(work)) == ["Another capture is open in this process. End it first.", "open"]
    assert len(list(tmp_path.iterdir())) == 1


def test_threads_that_train_at_once_leave_a_whole_capture(path, frequent_switches):
    functions = [torch.add, torch.mul, torch.sub, torch.div]
    shared = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(20)])
    before = [torch.ones(2) for _ in range(50)]

    def work(i):
        for number in range(10):
            # 40 new lines of a new function
            body = "\n".join(f"    f(x, before[{line}])" for line in range(40))
            names = {}
            exec(compile(f"def lines_{number}(f, x, before):\n{body}\n", f"<{number}>", "exec"), names)
            there = torch.ones(2, device="cuda")
            names[f"lines_{number}"](functions[i], there, before)
            net = torch.nn.Sequential(torch.nn.Linear(2, 2)).cuda()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(shared(before[number].view(1, 2)).cuda()).sum().backward()
            optimizer.step()
            torch.cuda.Event().elapsed_time(None)

    with tensor_workbench.capture(path) as c:
        in_threads(work, len(functions))
    records = whole(path)
    count = {kind: sum(record.get("kind") == kind for record in records) for kind in ("op", "mismatch", "note")}
    assert count["op"] == c.results.ops and count["note"] == 1
    assert sum(m.count + m.echoes for m in c.mismatches) == count["mismatch"] >= 4 * 10 * 40
    lines = [tuple(record[name] for name in ("file", "line", "function")) for record in records
             if record.get("kind") == "location" and record["file"].startswith("<")]
    assert len(lines) == len(set(lines)) == 10 * 40


def test_threads_that_script_at_once_leave_the_capture_as_it_was(monkeypatch):
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def script(i):
        (second_in if i else first_in).set()
        (first_out if i else second_in).wait()

    def work(i):
        if i:
            first_in.wait()
        torch.jit.script(i)
        first_out.set()

    def replaced():
        return torch.nn.functional.has_torch_function_unary

    monkeypatch.setattr(torch.jit, "script", script)
    before = replaced()
    with tensor_workbench.capture():
        inside = replaced()
        in_threads(work)
        assert replaced() is inside is not before
    assert replaced() is before


# ---- what a thread has of its own ----

def test_a_thread_has_its_own_current_gpu():
    meeting = threading.Barrier(2)

    def work(i):
        with torch.cuda.device(i):
            meeting.wait()
            inside = torch.ones(1, device="cuda").device.index, torch.cuda.current_device()
            meeting.wait()
        return inside, torch.cuda.current_device()

    with tensor_workbench.capture(gpus=2):
        assert in_threads(work) == [((0, 0), 0), ((1, 1), 0)]
        torch.cuda.set_device(1)
        assert in_threads(lambda i: torch.cuda.current_device()) == [0, 0]
        assert torch.cuda.current_device() == 1


# ---- a watch ----

@pytest.fixture
def watch(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = tensor_workbench.watch()
    yield made
    made.close()


def test_a_site_is_sent_before_its_events(watch, monkeypatch):
    meeting = Meeting()
    sent = []

    def meet(line):
        if line["kind"] == "site":
            meeting.wait()
        sent.append(line)

    monkeypatch.setattr(watch._socket, "send", meet)
    watch._socket.listening = True
    in_threads(lambda i: watch.claimed_sync("item()", None))
    assert [line["kind"] for line in sent] == ["site", "sync", "sync"]


def test_optimizers_of_many_threads_end_steps(watch, frequent_switches):
    sent = []
    watch._socket.listening = True
    watch._socket.send = sent.append

    def work(i):
        for optimizer in [torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1) for _ in range(400)]:
            optimizer.step()

    in_threads(work, 4)
    steps = [line["step"] for line in sent if line["kind"] == "step"]
    assert steps == list(range(len(steps))) and steps


def test_a_process_has_one_watch(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    make = WatchSocket.__init__
    meeting = Meeting()

    def meet(made, *arguments):
        meeting.wait()
        make(made, *arguments)

    monkeypatch.setattr(WatchSocket, "__init__", meet)
    first, second = in_threads(lambda i: tensor_workbench.watch())
    first.close()
    second.close()
    assert first is second


# ---- a child process ----

def test_a_child_finds_the_tables_free(run_capture):
    code, records, out, err = run_capture("""
        import os, threading, torch
        from tensor_workbench.capture_file import CaptureFile

        begin, writing, forking = threading.Event(), threading.Event(), threading.Event()
        write = CaptureFile.write

        def slow(file, record):
            if record.get("kind") == "op" and threading.current_thread() is not threading.main_thread():
                writing.set()
                forking.wait(5)
            write(file, record)

        CaptureFile.write = slow
        threading.Thread(target=lambda: begin.wait() and torch.ones(1)).start()
        begin.set()
        writing.wait()
        child = os.fork.__wrapped__()  # the replacement makes a note, and so waits for the line
        forking.set()
        made = torch.ones(2, device="cuda")
        if not child:
            os._exit(7 if made.is_cuda else 1)
        print(os.waitpid(child, 0)[1] >> 8)
    """)
    assert (code, out) == (0, "7\n"), err
    assert [record["op"] for record in records if record.get("kind") == "op"] == ["aten::ones"] * 2
