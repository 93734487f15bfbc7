"""Runs jobs of several ranks on several hosts, which are namespaces of this machine (host_bed.py), by mpirun of Open MPI
and mpiexec of MPICH over ssh.

Usage: several_hosts.py TWB [--only NAME] [--launcher NAME]. Ends with 77, and a sentence, where no hosts can be made.

CTest does not run it: it needs root and takes minutes. lost_ranks.py has the jobs that lose a rank.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from host_bed import CannotMakeHosts, Hosts, wait_for

A, B = "twb-a", "twb-b"
VARIABLES = {
    "TWB_CUDA_PLUGIN": "none", "TWB_OPS": "none", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Several ranks share this machine's cores: those that wait must not take them from those that compute.
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


class Launcher:
    def __init__(self, name, program, ranks_on):
        self.name, self.program, self._ranks_on = name, program, ranks_on

    def command(self, places, variables=()):
        """`places`: the number of ranks by host. `variables`: names of those that all ranks need."""
        passed = [word for name in variables for word in ("-x", name)] if self.name == "openmpi" else []
        return [self.program, "-n", str(sum(places.values())), *self._ranks_on(places), *passed]

    @staticmethod
    def rank_of(variables):
        # A run that a rank of a batch has started is no rank.
        return variables.get("OMPI_COMM_WORLD_RANK") or variables.get("PMI_RANK")


LAUNCHERS = [
    Launcher("openmpi", "mpirun.openmpi", lambda places: ["--host", ",".join(f"{h}:{n}" for h, n in places.items())]),
    Launcher("mpich", "mpiexec.mpich", lambda places: ["-hosts", ",".join(f"{h}:{n}" for h, n in places.items())]),
]


def write_npy(path, shape, code, kind, values):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header = text + " " * (-(len(text) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}{code}", *values))


def write_project(path, nodes):
    """`nodes`: (op, name, lane, attributes, names of inputs; with a number, that output)."""
    lanes, ids, lines, edges = [], {}, [], []
    for number, (op, name, lane, attributes, inputs) in enumerate(nodes, start=1):
        if lane not in lanes:
            lanes.append(lane)
        ids[name] = number
        lines.append({"id": number, "op": op, "name": name, "lane": lanes.index(lane) + 1, "attributes": attributes})
        for port, source in enumerate(inputs):
            source, output = source if isinstance(source, tuple) else (source, 0)
            edges.append({"from": [ids[source], output], "to": [number, port]})
    path.write_text(json.dumps({
        "format": "tensor-workbench", "version": 1,
        "lanes": [{"id": i, "device": lane} for i, lane in enumerate(lanes, start=1)], "nodes": lines, "edges": edges}))


def write_training(folder):
    """A layer in f64 with a cross-entropy loss on 93 rows, in batches of 10."""
    dice = random.Random(5)
    write_project(folder / "net.twb", [
        ("Batches", "data", "cpu", {"path": "x.npy", "labels": "y.npy", "batch_size": 10}, []),
        ("Parameter", "w", "cpu", {"shape": [3, 8], "init": "xavier_uniform", "dtype": "f64"}, []),
        ("Parameter", "b", "cpu", {"shape": [3], "dtype": "f64"}, []),
        ("Gemm", "scores", "cpu", {"transB": True}, ["data", "w", "b"]),
        ("SoftmaxCrossEntropyLoss", "loss", "cpu", {}, ["scores", ("data", 1)]),
    ])
    write_npy(folder / "x.npy", (93, 8), "d", "<f8", [dice.uniform(-1, 1) + (k == row % 3) for row in range(93)
                                                    for k in range(8)])
    write_npy(folder / "y.npy", (93,), "q", "<i8", [row % 3 for row in range(93)])


def weights_in(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            out[name] = struct.unpack(f"<{(end - start) // 8}d", data[8 + size + start:8 + size + end])
    return out


TRAIN = ["train", "net.twb", "--loss", "loss", "--optimizer", "sgd", "--momentum", "0.9", "--lr", "0.1"]
ENDLESS = [*TRAIN, "--epochs", "1000000", "--quiet", "--checkpoint", "c", "--every", "5", "--report", "r.json"]


class Suite:
    def __init__(self, hosts, twb, launcher):
        self.hosts, self.folder, self.twb, self.launcher = hosts, hosts.folder, twb, launcher

    def fresh(self):
        """An empty folder that all hosts see."""
        for entry in self.folder.iterdir():
            if entry != self.hosts.bed:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def run(self, places, arguments, more=()):
        command = [*self.launcher.command(places, more), self.twb, *arguments]
        for _ in range(5):
            try:
                return self.hosts.run(A, command, more, timeout=60)
            except subprocess.TimeoutExpired:
                # MPICH 4.0 (pmodels/mpich, pull request 6596): ranks that wait in the barrier of MPI_Finalize do not help
                # the others to close their connections.
                if self.launcher.name != "mpich" or not self.waits_for_launcher():
                    raise
                print(f"MPICH hangs in MPI_Finalize, so the job is started again: {' '.join(arguments)}", flush=True)
                self.kill_all()
                self.expect_nobody_left()
        raise AssertionError("MPICH hangs in MPI_Finalize each time")

    def waits_for_launcher(self):
        """Whether a rank waits for a message of its launcher."""
        waits = []
        for _, process, _, is_watch in self.hosts.processes_of("twb"):
            if not is_watch:
                waits += [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/wchan")]
        return any(name.startswith("unix_stream_read") for name in waits)

    def kill_all(self):
        for _, process, _, _ in self.hosts.processes_of("twb"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def start(self, places, arguments, more=()):
        return self.hosts.start(A, [*self.launcher.command(places, more), self.twb, *arguments], more)

    def json(self, name):
        return json.loads((self.folder / name).read_text())

    def process(self, rank):
        for host, pid, variables, is_watch in self.hosts.processes_of("twb"):
            if not is_watch and self.launcher.rank_of(variables) == str(rank):
                return host, pid
        return None

    def expect_nobody_left(self):
        if not wait_for(lambda: not self.hosts.processes_of("twb")):
            left = [(host, pid, "watch" if is_watch else "rank") for host, pid, _, is_watch in
                    self.hosts.processes_of("twb")]
            raise AssertionError(f"still running: {left}")

    # Tests: one for each method with this prefix.

    def test_a_training_gives_the_parameters_of_one_process(self):
        write_training(self.folder)
        options = ["--epochs", "5", "--report", "r.json"]
        alone = self.hosts.run(A, [self.twb, *TRAIN, *options, "--export-weights", "alone.safetensors"])
        assert alone.returncode == 0, alone.stderr
        ended = self.run({A: 1, B: 2}, [*TRAIN, *options, "--export-weights", "w.safetensors", "--checkpoint", "c"])
        assert ended.returncode == 0, ended.stderr
        wanted, found = weights_in(self.folder / "alone.safetensors"), weights_in(self.folder / "w.safetensors")
        far = max(abs(a - b) for name in wanted for a, b in zip(wanted[name], found[name]))
        assert set(wanted) == {"w", "b"} and far <= 1e-12, far
        hashes = self.json("r.json")["ranks"]["parameter_hashes"]
        assert len(hashes) == 3 and len(set(hashes)) == 1, hashes
        for rank in (1, 2):
            assert "epoch 5/5" in (self.folder / f"net.ranks/rank{rank}.log").read_text()
        # Another number of ranks and hosts continues from rank 0's checkpoint.
        ended = self.run({B: 2}, [*TRAIN, "--epochs", "6", "--checkpoint", "c", "--resume"])
        assert ended.returncode == 0 and "resumed from epoch 6, step 50" in ended.stderr, ended.stderr

    def test_a_rank_has_the_cores_of_its_host(self):
        write_project(self.folder / "g.twb", [("Full", "x", "cpu", {"shape": [4], "value": 1.5}, []),
                                              ("AllReduce", "sum", "cpu", {}, ["x"])])
        ended = self.run({A: 1, B: 2}, ["run", "g.twb", "--trace", "t.json", "--iterations", "20"])
        assert ended.returncode == 0, ended.stderr
        cores = len(os.sched_getaffinity(0))
        threads = [int(re.search(r"(\d+) threads?", text).group(1)) for text in
                   [ended.stdout] + [(self.folder / f"g.ranks/rank{rank}.log").read_text() for rank in (1, 2)]]
        assert threads == [cores, max(1, cores // 2), max(1, cores // 2)], threads
        trace = self.json("t.json")
        events = trace["traceEvents"]
        names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
        assert names == {f"rank 0 on {A}", f"rank 1 on {B}", f"rank 2 on {B}"}, names
        # On one clock: no sum ends before all ranks have begun it.
        paces = json.loads(next(e["args"]["ranks"] for e in events if e["ph"] == "M" and "ranks" in e["args"]))
        error = 1 + 1e3 * sum(pace["clock_error_ms"] for pace in paces)  # in us, and the times are rounded
        sums = {}
        for e in events:
            if e["ph"] == "X" and e["name"] == "sum":
                sums.setdefault(e["pid"] // 1000, []).append((e["ts"], e["ts"] + e["dur"]))
        assert len(sums) == 3 and all(len(one) == 20 for one in sums.values()), sums
        for each in zip(*(sorted(one) for one in sums.values())):
            late = max(start for start, _ in each) - min(end for _, end in each)
            assert late < error, f"{late} us, but the clocks differ by at most {error} us"

    def test_lanes_divide_a_graph(self):
        write_project(self.folder / "g.twb", [
            ("Full", "a", "cuda:0", {"shape": [64, 64], "value": -2.0}, []),
            ("To", "there", "rank1/cuda:0", {}, ["a"]),
            ("Abs", "b", "rank1/cuda:0", {}, ["there"]),
            ("To", "out", "rank1/cpu", {}, ["b"]),
            ("Save", "save", "rank1/cpu", {"path": "b.npy"}, ["out"]),
            ("To", "back", "cpu", {}, ["b"]),
            ("Probe", "seen", "cpu", {}, ["back"])])
        ended = self.run({A: 1, B: 1}, ["run", "g.twb", "--iterations", "3", "--device-map", "cuda:0=simulated:h200",
                                        "--report", "r.json"])
        assert ended.returncode == 0, ended.stderr
        assert "seen  min 2  max 2" in ended.stdout, ended.stdout
        assert (self.folder / "b.npy").stat().st_size > 64 * 64 * 4
        assert "cuda:0" in (self.folder / "g.ranks/rank1.log").read_text()

    def test_ranks_of_other_hosts_have_live_figures(self):
        write_project(self.folder / "g.twb", [("Full", "x", "cpu", {"shape": [200, 200], "value": 0.5}, []),
                                              ("MatMul", "p", "cpu", {}, ["x", "x"]),
                                              ("AllReduce", "sum", "cpu", {}, ["p"])])
        job = self.start({A: 1, B: 2}, ["run", "g.twb", "--iterations", "1000000", "--events", "events"])

        def figures():
            try:
                lines = (self.folder / "events").read_text().split("\n")[:-1]
            except OSError:
                return []
            rows = [json.loads(line)["ranks_now"] for line in lines if line.startswith('{"ranks_now"')]
            names = ("iteration_ns", "iterations", "samples", "wait", "modelled", "node", "known", "has_wait")
            return [dict(zip(names, row)) for row in rows[-1]] if rows else []

        def are_shown():
            return len(figures()) == 3 and all(rank["known"] for rank in figures())

        assert wait_for(lambda: are_shown() or job.poll() is not None), figures()
        assert job.poll() is None, job.communicate()[1]
        first = figures()[2]["iterations"]
        assert wait_for(lambda: figures()[2]["iterations"] > first), figures()
        assert figures()[2]["node"], figures()
        os.kill(self.process(1)[1], signal.SIGKILL)  # nsenter would not pass a signal on to the launcher
        job.communicate()
        self.expect_nobody_left()

    def test_hosts_share_out_a_batch(self):
        write_project(self.folder / "g.twb", [("Full", "x", "cpu", {"shape": [4], "value": 1.5}, []),
                                              ("Probe", "seen", "cpu", {}, ["x"])])
        members = 300
        batch = ["batch", "g.twb", "--set", "x.value=" + ",".join(map(str, range(members))), "--report", "out"]
        reports = lambda: [p for p in (self.folder / "out").glob("g*.json")] if (self.folder / "out").exists() else []
        for _ in range(2):
            known = len(reports())
            job = self.start({A: 1, B: 2}, batch)
            assert wait_for(lambda: (len(reports()) >= known + 6 and self.process(2)) or job.poll() is not None)
            assert job.poll() is None, f"the job was too fast for this test: {job.communicate()}"
            os.kill(self.process(2)[1], signal.SIGKILL)
            out, err = job.communicate()
            assert job.returncode != 0, err
            self.expect_nobody_left()
        before = {path: path.read_bytes() for path in reports()}
        assert len(before) < members, "the jobs were too fast for this test"
        ended = self.run({A: 1, B: 2}, batch)
        assert ended.returncode == 0, ended.stderr
        summary = self.json("out/summary.json")
        assert (summary["count"], summary["failed"]) == (members, 0), summary["failed"]
        assert len({run["name"] for run in summary["runs"]}) == members == len(reports())
        assert all(path.read_bytes() == text for path, text in before.items())

    def test_a_host_that_cannot_be_reached_ends_the_job(self):
        write_training(self.folder)
        job = self.start({A: 1, B: 1}, ENDLESS, {"TWB_STALL_SECONDS": "3"})
        assert wait_for(lambda: (self.folder / "c/checkpoint.json").exists() or job.poll() is not None)
        assert job.poll() is None, job.communicate()[1]
        self.hosts.unplug(B)
        try:
            out, err = job.communicate(timeout=300)
            self.expect_nobody_left()
        finally:
            self.hosts.plug(B)
        assert job.returncode != 0, err
        # Each rank sees that the other one is lost; the hosts share the folder in which the first one says so.
        report = self.json("r.json")
        assert report["status"] == "failed", report
        assert re.match("rank [01] has not answered for 3 s: ", report["error"]), (report["error"], err)
        assert "twb: " + report["error"] in err, err
        # mpirun of Open MPI would wait for its daemon there.
        assert ("and may wait for another machine" in err) == (self.launcher.name == "openmpi"), err
        resumed = self.hosts.run(A, [self.twb, *TRAIN, "--epochs", "1", "--quiet", "--checkpoint", "c", "--resume"])
        assert resumed.returncode == 0, resumed.stderr

    def test_a_project_that_one_host_lacks_is_named(self):
        write_training(self.folder)
        for name in ("net.twb", "x.npy", "y.npy"):
            self.hosts.run(A, ["cp", name, "/tmp"])
        arguments = [*TRAIN, "--epochs", "1", "--quiet"]
        arguments[1] = "/tmp/net.twb"
        ended = self.run({A: 1, B: 1}, arguments)
        assert ended.returncode != 0, ended.stdout
        assert "rank 1 failed: " in ended.stderr and "/tmp/net.twb" in ended.stderr, ended.stderr
        self.expect_nobody_left()


def options_of(parser):
    """The options of a program on several hosts: those of `parser`, the program under test and the launchers."""
    parser.add_argument("twb", type=Path)
    parser.add_argument("--launcher", default="", help="launchers whose name contains this")
    return parser.parse_args()


def run_on_hosts(options, test, variables=()):
    """Makes the hosts, and calls `test` with them and the launchers that the options name; it returns the number of failures.
    Returns the program's exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"{Path(sys.argv[0]).name}: ended by SIGTERM"))  # removes the hosts
    options.twb = options.twb.resolve()
    top = options.twb.parent.parent
    launchers = [one for one in LAUNCHERS if shutil.which(one.program) and options.launcher in one.name and
                 (top / f"lib/libtwb_mpi_{one.name}.so").exists()]
    if not launchers:
        print("skipped: no MPI; install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev")
        return 77
    folder = Path(tempfile.mkdtemp(prefix="hosts-", dir=top))
    try:
        with Hosts([A, B], folder, top, dict(VARIABLES, **dict(variables))) as hosts:
            return 1 if test(hosts, launchers) else 0
    except CannotMakeHosts as reason:
        print(f"skipped: {reason}")
        return 77
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="tests whose name contains this")
    options = options_of(parser)

    def test(hosts, launchers):
        failed = 0
        for suite in [Suite(hosts, options.twb, launcher) for launcher in launchers]:
            for name in [name for name in dir(suite) if name.startswith("test_") and options.only in name]:
                suite.fresh()
                try:
                    getattr(suite, name)()
                    print(f"passed: {name} ({suite.launcher.name})", flush=True)
                except Exception:
                    failed += 1
                    print(f"FAILED: {name} ({suite.launcher.name})\n{traceback.format_exc()}", flush=True)
                    suite.kill_all()  # the next test begins without them
                    suite.expect_nobody_left()
        return failed

    return run_on_hosts(options, test)


if __name__ == "__main__":
    sys.exit(main())
