#!/usr/bin/env python3
"""Compares the time per iteration of whole networks with ONNX Runtime and PyTorch, in ms and as ratios within one run.

    bench_networks.py TWB [NAME...] [--batch 1] [--threads 2] [--rounds 15] [--busy 1] [--device cuda:0]

On the cpu the programs take many short turns. A figure is the median over the turns of the median iteration of a turn.
A ratio is the median over the rounds of the ratio of the two turns, which are next to each other, so that a change of
the clock rate affects both; its quartiles follow. twb's output is compared with PyTorch's. It also prints the peak of
resident memory of twb, and that of a process that runs the model with ONNX Runtime, without what Python and NumPy had
taken before. With --busy, as many other processes compute without a pause, and the median and the 95th percentile of
single iterations are compared instead.

On a GPU it compares with PyTorch eager only, and the input is on the GPU from the start for both. It measures twice:
with f32 products and convolutions, and with both rounded to TF32, which PyTorch does by default for convolutions only.
There a figure is the minimum over the rounds of the mean iteration, and the ratio is that of the two figures. Both
programs start iterations without waiting and read results only after ten of them.

The programs take turns, round after round, so that other load affects all of them. Their first iterations do not count,
except those of twb on the cpu: there they are a few of the many whose median is taken. Programs that are not installed
are left out; networks come from tests/conformance/networks.py. twb runs the simplified import, which is its default; ONNX
Runtime simplifies the model itself.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "conformance"))
import networks  # noqa: E402


WARM_UP = 3  # iterations
STANDARD = ["resnet18", "resnet50", "densenet121", "mobilenetv2", "squeezenet", "shufflenet", "regnet", "efficientnet",
            "swin", "convnext", "blocks128", "blocks512", "lstm"]

# Prints the growth of the peak of resident memory in KiB; the arguments are the model, the input and the threads.
PEAK_OF_ONNXRUNTIME = """
import sys, numpy
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
x = numpy.load(sys.argv[2])
before = peak()
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[3])
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
for _ in range(5):
    session.run(None, {"x": x})
print(peak() - before)
"""


def mean_ms(run, seconds, iterations=1):
    """The time per iteration of calls with this many iterations each."""
    for _ in range(WARM_UP):
        run()
    count = 0
    start = time.perf_counter()
    while count < 5 or time.perf_counter() < start + seconds:
        run()
        count += 1
    return (time.perf_counter() - start) * 1e3 / (count * iterations)


def median_ms(run, seconds):
    """The median time of single calls."""
    for _ in range(WARM_UP):
        run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def pytorch(model, x, threads, seconds, tf32):
    import torch

    torch.set_num_threads(threads)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
    iterations = 10 if x.is_cuda else 1

    def run():
        for _ in range(iterations):
            model(x)
        if x.is_cuda:
            torch.cuda.synchronize()

    with torch.no_grad():
        return mean_ms(run, seconds, iterations) if x.is_cuda else median_ms(run, seconds)


def onnxruntime_session(path, threads):
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Between its turns it must leave the cores to the other programs.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def twb_report(program, project, folder, threads, iterations, tf32=False):
    report = folder / "r.json"
    networks.twb(program, "run", project, "--require-gpu", "--policy", "implicit", "--iterations", iterations, "--input",
                 f"x={folder / 'x.npy'}", "--report", report, "--quiet", *(["--allow-tf32"] if tf32 else []),
                 threads=threads)
    return json.loads(report.read_text())


def twb_peak_mb(program, project, folder, threads):
    """The peak of resident memory in MB. The kernel's own figure only grows, so the last one that is seen is it."""
    run = subprocess.Popen([program, "run", project, "--input", f"x={folder / 'x.npy'}", "--iterations", "50", "--quiet"],
                           env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    peak = 0
    while run.poll() is None:
        with contextlib.suppress(OSError, StopIteration):
            status = pathlib.Path(f"/proc/{run.pid}/status").read_text().splitlines()
            peak = int(next(line for line in status if line.startswith("VmHWM")).split()[1])
        time.sleep(0.002)
    return peak / 1024


def onnxruntime_peak_mb(model, folder, threads):
    child = subprocess.run([sys.executable, "-c", PEAK_OF_ONNXRUNTIME, model, folder / "x.npy", str(threads)],
                           capture_output=True, text=True, check=True)
    return int(child.stdout) / 1024


def twb(program, project, folder, threads, seconds, tf32):
    """The mean time of an iteration on a GPU."""
    def wall_ms(iterations):
        return twb_report(program, project, folder, threads, iterations, tf32)["wall_ms"]

    # A GPU's libraries take long to start in each run, compared with which a few iterations are negligible.
    warm_up = 200
    warm = wall_ms(warm_up)
    least = max((wall_ms(6 * warm_up) - warm) / (5 * warm_up), 1e-3)
    count = max(5, int(seconds * 1e3 / least))
    return (wall_ms(warm_up + count) - warm) / count


@contextlib.contextmanager
def busy_processes(count):
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def bench_beside(program, name, batch, threads, rounds, seconds, busy):
    """Single iterations beside other processes. The figures are medians over the rounds."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        _, x = networks.make(name, batch, folder)
        networks.import_model(program, name, folder)
        project = folder / f"{name}.twb"
        session = onnxruntime_session(folder / f"{name}.onnx", threads)
        alone = twb_report(program, project, folder, threads, 20)["iteration_ms"]["median"]
        feed = {"x": x.numpy()}
        rows = {"twb": [], "onnxruntime": []}
        with busy_processes(busy):
            for _ in range(rounds):
                if session:
                    times = []
                    end = time.perf_counter() + seconds
                    while time.perf_counter() < end:
                        start = time.perf_counter()
                        session.run(None, feed)
                        times.append((time.perf_counter() - start) * 1e3)
                    times.sort()
                    rows["onnxruntime"].append((times[len(times) // 2], times[math.ceil(0.95 * len(times)) - 1]))
                count = max(20, int(seconds * 1e3 / (2 * alone)))
                figures = twb_report(program, project, folder, threads, count)["iteration_ms"]
                rows["twb"].append((figures["median"], figures["p95"]))
        line = f"{name:<12} batch {batch:<3} beside {busy} busy: "
        for who, figures in rows.items():
            if figures:
                medians, p95s = (sorted(column) for column in zip(*figures))
                line += f"  {who} median {medians[len(medians) // 2]:.1f}, p95 {p95s[len(p95s) // 2]:.1f} ms"
        print(line, flush=True)


def difference(program, project, folder, threads):
    """The largest difference of twb's output from PyTorch's, relative to the largest element."""
    networks.twb(program, "run", project, "--input", f"x={folder / 'x.npy'}", "--output", f"y={folder / 'out.npy'}",
                 "--quiet", threads=threads)
    expected, got = (networks.numpy.load(folder / name) for name in ("y.npy", "out.npy"))
    return abs(got - expected).max() / abs(expected).max()


def bench_cpu(program, name, batch, threads, rounds, seconds):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        model, x = networks.make(name, batch, folder)
        networks.import_model(program, name, folder)
        project = folder / f"{name}.twb"
        session = onnxruntime_session(folder / f"{name}.onnx", threads)
        feed = {"x": x.numpy()}
        alone = twb_report(program, project, folder, threads, 10)["iteration_ms"]["median"]
        count = max(20, int(seconds * 1e3 / alone))
        figures = {"twb": [], "onnxruntime": [], "pytorch": []}
        for _ in range(rounds):
            if session:
                figures["onnxruntime"].append(median_ms(lambda: session.run(None, feed), seconds))
            figures["twb"].append(twb_report(program, project, folder, threads, count)["iteration_ms"]["median"])
            figures["pytorch"].append(pytorch(model, x, threads, seconds, False))
        line = f"{name:<12} batch {batch:<3} twb {statistics.median(figures['twb']):8.3f} ms"
        for peer in ("onnxruntime", "pytorch"):
            if figures[peer]:
                ratios = [ours / theirs for ours, theirs in zip(figures["twb"], figures[peer])]
                low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
                line += f"   {peer} {statistics.median(figures[peer]):8.3f} ms"
                line += f" (ratio {middle:.2f}, quartiles {low:.2f} to {high:.2f})"
        line += f"   difference {difference(program, project, folder, threads):.1e}"
        if session:
            line += f"   peak {twb_peak_mb(program, project, folder, threads):.0f} MB, onnxruntime "
            line += f"{onnxruntime_peak_mb(folder / f'{name}.onnx', folder, threads):.0f} MB"
        print(line, flush=True)


def bench_gpu(program, name, batch, device, threads, rounds, seconds, tf32):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        model, x = networks.make(name, batch, folder)
        networks.import_model(program, name, folder)
        project = networks.put_on(folder / f"{name}.twb", device)
        model, x = model.to(device), x.to(device)
        results = [(twb(program, project, folder, threads, seconds, tf32), pytorch(model, x, threads, seconds, tf32))
                   for _ in range(rounds)]
        ours, theirs = (min(times) for times in zip(*results))
        precision = " TF32" if tf32 else " f32 "
        print(f"{name:<12} batch {batch:<3}{precision} twb {ours:8.3f} ms   pytorch {theirs:8.3f} ms "
              f"(ratio {ours / theirs:.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twb")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--batch", type=int, nargs="*", default=[1])
    parser.add_argument("--device", default="cpu", help="cpu, or cuda:0 where PyTorch has it, too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, help="default: 15; beside other processes and on a GPU 3")
    parser.add_argument("--seconds", type=float, help="of each program in each round; default: 0.3, else 4")
    parser.add_argument("--busy", type=int, default=0, help="number of other processes that compute")
    arguments = parser.parse_args()
    is_long = arguments.busy or arguments.device != "cpu"
    rounds = (3 if is_long else 15) if arguments.rounds is None else arguments.rounds
    least = 1 if is_long else 2
    if rounds < least:
        parser.error(f"--rounds: {rounds} is too few; give at least {least}" + ("" if is_long else ", for the quartiles"))
    seconds = arguments.seconds or (4 if is_long else 0.3)
    if arguments.device != "cpu":
        import torch

        if not torch.cuda.is_available():
            sys.exit("bench_networks.py: PyTorch has no GPU here")
    standard = STANDARD if arguments.device == "cpu" else ["mlp", "resnet18", "vit", "blocks512", "efficientnet"]
    for name in arguments.names or standard:
        for batch in arguments.batch:
            if arguments.busy:
                bench_beside(arguments.twb, name, batch, arguments.threads, rounds, seconds, arguments.busy)
            elif arguments.device == "cpu":
                bench_cpu(arguments.twb, name, batch, arguments.threads, rounds, seconds)
            else:
                for tf32 in (False, True):
                    bench_gpu(arguments.twb, name, batch, arguments.device, arguments.threads, rounds, seconds, tf32)


if __name__ == "__main__":
    main()
