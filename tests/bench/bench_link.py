"""Compares the predicted time of an all-reduce with the measured one on a link of known bandwidth.

Usage: bench_link.py TWB [--rates MBIT…] [--sizes BYTES…] [--iterations N]. Needs root, iproute2 and Open MPI.

Two network namespaces stand for two machines. A veth pair between them is the link; a token bucket (tc tbf) limits
each direction. Open MPI goes over it by its TCP transport (BTL tcp, no shared memory). For each bandwidth, the
latency and the bandwidth are calibrated from messages between two ranks: one of 8 bytes and one of 1 MiB, there and
back. With these two figures alone, `twb run --world simulated:2:…` predicts the all-reduces. Exits with 1 if a
prediction is more than 25 % off.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SPACES = ("twb-link-a", "twb-link-b")
ENDS = ("twb-la", "twb-lb")
LIMIT = 0.25
BURST = 6200  # bytes that pass at full speed: four packets
QUEUE = 16 << 20  # bytes; a longer queue would lose packets

# Starts a command on the "machine" that is its first argument, as ssh would.
AGENT = """#!/bin/sh
host=$1; shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
"""


def call(*words):
    subprocess.run(words, check=True)


def clean():
    for space in SPACES:
        subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL)


def connect():
    clean()
    for space in SPACES:
        call("ip", "netns", "add", space)
    call("ip", "link", "add", ENDS[0], "netns", SPACES[0], "type", "veth", "peer", "name", ENDS[1], "netns", SPACES[1])
    for i, (space, end) in enumerate(zip(SPACES, ENDS)):
        call("ip", "-n", space, "addr", "add", f"10.213.7.{i + 1}/24", "dev", end)
        call("ip", "-n", space, "link", "set", end, "up")
        call("ip", "-n", space, "link", "set", "lo", "up")


def shape(mbit):
    for space, end in zip(SPACES, ENDS):
        call("tc", "-n", space, "qdisc", "replace", "dev", end, "root", "tbf", "rate", f"{mbit}mbit", "burst", str(BURST),
             "limit", str(QUEUE))


def project(path, size, ops):
    """A tensor of `size` bytes that passes the ops one after the other."""
    nodes = [{"id": 1, "op": "Full", "name": "x", "lane": 1, "attributes": {"shape": [size // 4], "value": 1.0}}]
    for i, (op, name, attributes) in enumerate(ops, start=2):
        nodes.append({"id": i, "op": op, "name": name, "lane": 1, "attributes": attributes})
    nodes.append({"id": len(nodes) + 1, "op": "Probe", "name": "seen", "lane": 1})
    edges = [{"from": [i, 0], "to": [i + 1, 0]} for i in range(1, len(nodes))]
    path.write_text(json.dumps({"format": "tensor-workbench", "version": 1,
                                "lanes": [{"id": 1, "device": "cpu"}], "nodes": nodes, "edges": edges}))


def medians(report):
    return {row["label"]: row["median_ms"] for row in json.loads(report.read_text())["transfers"]}


class Link:
    def __init__(self, twb, folder, iterations):
        self.twb, self.folder, self.iterations = twb, folder, iterations
        self.agent = folder / "agent"
        self.agent.write_text(AGENT)
        self.agent.chmod(0o755)
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", TWB_CUDA_PLUGIN="none")

    def measure(self, size, ops):
        # The first calls on a new TCP connection are slower, since its window still grows.
        iterations = max(self.iterations, min(101, (16 << 20) // size))
        graph, report = self.folder / "graph.twb", self.folder / "report.json"
        project(graph, size, ops)
        job = [
            "mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "-n", "2", "-host", ",".join(SPACES),
            "--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl", "tcp,self", "--mca", "pml", "ob1",
            "--mca", "btl_tcp_if_include", "10.213.7.0/24", "--mca", "oob_tcp_if_include", "10.213.7.0/24",
            "-x", "OMP_NUM_THREADS", "-x", "TWB_CUDA_PLUGIN",
            str(self.twb), "run", str(graph), "--iterations", str(iterations), "--report", str(report), "--quiet",
        ]
        done = subprocess.run([str(self.agent), SPACES[0], " ".join(job)], env=self.environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=110)
        if done.returncode != 0:
            sys.exit(f"bench_link.py: the job ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return medians(report)

    def message_ms(self, size):
        there = ("SendReceive", "there", {"source": 0, "target": 1})
        back = ("SendReceive", "back", {"source": 1, "target": 0})
        return sum(self.measure(size, [there, back]).values()) / 2

    def predict_ms(self, size, alpha_ms, gb_per_second):
        graph, report = self.folder / "graph.twb", self.folder / "report.json"
        project(graph, size, [("AllReduce", "sum", {})])
        world = f"simulated:2:{1000 * alpha_ms:.6f}us,{gb_per_second:.9f}GB/s"
        subprocess.run([self.twb, "run", graph, "--world", world, "--report", report, "--quiet"], check=True,
                       env=self.environment, stdout=subprocess.DEVNULL)
        return medians(report)["sum"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twb", type=Path)
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 200, 500], help="Mbit/s")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64 << 10, 256 << 10, 1 << 20, 4 << 20], help="bytes")
    parser.add_argument("--iterations", type=int, default=11, help="at least; small messages are repeated up to 101 times")
    options = parser.parse_args()
    missing = [tool for tool in ("ip", "tc", "unshare", "mpirun.openmpi") if not shutil.which(tool)]
    if missing or os.geteuid() != 0:
        sys.exit(f"bench_link.py: needs {', '.join(missing) or 'root, to make network namespaces'}")
    worst = 0
    with tempfile.TemporaryDirectory() as folder:
        link = Link(options.twb.resolve(), Path(folder), options.iterations)
        try:
            connect()
            print("Open MPI, BTL tcp, two network namespaces, veth with tc tbf\n")
            print("| link | latency, bandwidth | all-reduce of | predicted | measured | off by |\n|---|---|---|---|---|---|")
            for rate in options.rates:
                shape(rate)
                alpha = link.message_ms(8)
                bandwidth = (1 << 20) / 1e6 / (link.message_ms(1 << 20) - alpha)
                for size in options.sizes:
                    predicted = link.predict_ms(size, alpha, bandwidth)
                    measured = link.measure(size, [("AllReduce", "sum", {})])["sum"]
                    off = predicted / measured - 1
                    worst = max(worst, abs(off))
                    print(f"| {rate} Mbit/s | {1000 * alpha:.0f} µs, {8000 * bandwidth:.0f} Mbit/s | {size >> 10} KiB "
                          f"| {predicted:.2f} ms | {measured:.2f} ms | {100 * off:+.0f} % |", flush=True)
        finally:
            clean()
    print(f"\nworst: {100 * worst:.0f} % (limit: {100 * LIMIT:.0f} %)")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
