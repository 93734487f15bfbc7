#!/usr/bin/env python3
"""ms of an iteration of whole networks against ONNX Runtime and PyTorch, as ratios in one run.

    bench_networks.py TWB [NAME...] [--batch 1 16] [--threads 2] [--rounds 3] [--device cuda:0]

On a GPU it is PyTorch eager alone, and the input lies on the GPU from the start for both.

The programs take turns, round after round, so that what else the machine does falls on all of them. A figure is the
mean of a round's iterations without the first ones, which warm up; the least of all rounds. Leaves out what is not
installed; networks come from tests/conformance/networks.py.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "conformance"))
import networks  # noqa: E402


WARM_UP = 3  # iterations


def mean_ms(run, seconds):
    for _ in range(WARM_UP):
        run()
    count = 0
    start = time.perf_counter()
    while count < 5 or time.perf_counter() < start + seconds:
        run()
        count += 1
    return (time.perf_counter() - start) * 1e3 / count


def pytorch(model, x, threads, seconds):
    import torch

    torch.set_num_threads(threads)

    def run():
        model(x)
        if x.is_cuda:
            torch.cuda.synchronize()

    with torch.no_grad():
        return mean_ms(run, seconds)


def onnxruntime_session(path, threads):
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Between its turns it must leave the cores to the others.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def twb_wall_ms(program, project, folder, threads, iterations):
    report = folder / "r.json"
    networks.twb(program, "run", project, "--require-gpu", "--policy", "implicit", "--iterations", iterations, "--input",
                 f"x={folder / 'x.npy'}", "--report", report, "--quiet", threads=threads)
    return json.loads(report.read_text())["wall_ms"]


def twb(program, project, folder, threads, seconds):
    warm = twb_wall_ms(program, project, folder, threads, WARM_UP)
    count = max(5, int(seconds * 1e3 / (warm / WARM_UP)))
    return (twb_wall_ms(program, project, folder, threads, WARM_UP + count) - warm) / count


def bench(program, name, batch, device, threads, rounds, seconds):
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        model, x = networks.make(name, batch, folder)
        networks.import_model(program, name, folder)
        project = networks.put_on(folder / f"{name}.twb", device)
        session = onnxruntime_session(folder / f"{name}.onnx", threads) if device == "cpu" else None
        feed = {"x": x.numpy()}
        model, x = model.to(device), x.to(device)
        results = {"twb": [], "onnxruntime": [], "pytorch": []}
        for _ in range(rounds):
            if session:
                results["onnxruntime"].append(mean_ms(lambda: session.run(None, feed), seconds))
            results["twb"].append(twb(program, project, folder, threads, seconds))
            results["pytorch"].append(pytorch(model, x, threads, seconds))
        best = {who: min(times) for who, times in results.items() if times}
        line = f"{name:<12} batch {batch:<3} twb {best['twb']:8.2f} ms"
        for peer in ("onnxruntime", "pytorch"):
            if peer in best:
                line += f"   {peer} {best[peer]:8.2f} ms (ratio {best['twb'] / best[peer]:.2f})"
        print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twb")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 16])
    parser.add_argument("--device", default="cpu", help="cpu, or cuda:0 where PyTorch has it, too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of each program in each round")
    arguments = parser.parse_args()
    if arguments.device != "cpu":
        import torch

        if not torch.cuda.is_available():
            sys.exit("bench_networks.py: PyTorch has no GPU here")
    standard = ["resnet18", "mobilenetv2"] if arguments.device == "cpu" else ["mlp", "resnet18"]
    for name in arguments.names or standard:
        for batch in arguments.batch:
            bench(arguments.twb, name, batch, arguments.device, arguments.threads, arguments.rounds, arguments.seconds)


if __name__ == "__main__":
    main()
