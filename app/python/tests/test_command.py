"""python -m tensor_workbench capture: exit codes, and scripts that end badly."""

import json
import os
import signal
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(HERE), "OMP_NUM_THREADS": "1"}


def test_a_script_runs_as_a_program_with_its_arguments(run_capture):
    code, records, out, err = run_capture("""
        import sys, torch
        if __name__ == "__main__":
            print(sys.argv[1:], torch.cuda.device_count())
    """, "--gpus", "3", script_arguments=("--lr", "1"))
    assert (code, out) == (0, "['--lr', '1'] 3\n"), err
    assert records[0]["gpus"] == 3 and records[0]["arguments"] == ["--lr", "1"]
    assert records[-1]["status"] == "finished"
    assert "0 mismatches" in err


def test_a_script_that_raises_or_exits_leaves_its_capture(run_capture):
    code, records, _, err = run_capture("import torch\ntorch.ones(2)\nraise ValueError('broken')\n")
    assert code == 1 and "ValueError: broken" in err and "script.py" in err
    assert records[-1] == {**records[-1], "status": "failed", "message": "ValueError: broken", "ops": 1}
    code, records, _, err = run_capture("import sys, torch\ntorch.ones(2)\nsys.exit(7)\n")
    assert code == 1 and records[-1]["status"] == "failed" and "7" in records[-1]["message"] and "ended with exit code 7." in err


def test_usage_and_files_have_exit_codes(tmp_path):
    def code(*arguments):
        done = subprocess.run([sys.executable, "-m", "tensor_workbench", "capture", *arguments], env=ENVIRONMENT, cwd=str(tmp_path),
                              capture_output=True, text=True)
        return done.returncode, done.stderr

    script = tmp_path / "ok.py"
    script.write_text("pass\n")
    assert code()[0] == 2
    assert code("--gpus", "0", str(script))[0] == 2
    assert code("--steps", "5:2", str(script))[0] == 2
    assert code("missing.py") == (4, "tensor_workbench: cannot read missing.py: No such file or directory.\n")
    assert code("-o", str(script), str(script))[0] == 2 and script.read_text() == "pass\n"
    script.write_text("def\n")
    assert code(str(script))[0] == 4
    script.write_text("pass\n")
    status, text = code("-o", str(tmp_path / "no" / "such"), str(script))
    assert status == 4 and "cannot write" in text


def started(tmp_path, source):
    script = tmp_path / "script.py"
    script.write_text(source)
    out = tmp_path / "run.twbcap"
    # A shell starts what runs in the background with SIGINT ignored, which its children inherit.
    process = subprocess.Popen([sys.executable, "-m", "tensor_workbench", "capture", "-o", str(out), str(script)], env=ENVIRONMENT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert process.stdout.readline() == "ready\n"
    return process, out


ENDLESS = """
import torch, time
for i in range(100):
    torch.ones(2, device="cuda") + 1
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


@pytest.mark.parametrize("interrupt", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_captured(interrupt, tmp_path):
    process, out = started(tmp_path, ENDLESS)
    process.send_signal(interrupt)
    process.communicate(timeout=300)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert process.returncode == 130
    assert records[-1]["status"] == "interrupted" and records[-1]["ops"] == 200


def test_a_killed_script_leaves_all_lines_up_to_there(tmp_path):
    process, out = started(tmp_path, ENDLESS)
    process.kill()
    process.communicate(timeout=300)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(record.get("kind") == "op" for record in records) == 200
    assert records[-1]["kind"] == "op"


def test_a_forked_child_runs_on_without_the_capture(run_capture):
    code, records, out, err = run_capture("""
        import os, sys, torch
        child = os.fork()
        torch.ones(2)
        if not child:
            torch.zeros(3)
            print("child")
            sys.exit(7)
        print(os.waitpid(child, 0)[1] >> 8)
    """)
    assert (code, out) == (0, "child\n7\n"), err
    assert err.count("Capture saved") == 1
    assert [record["op"] for record in records if record.get("kind") == "op"] == ["aten::ones"]
    assert [record["code"] for record in records if record.get("kind") == "note"] == ["processes"]


def test_a_child_process_ends_as_its_program_says(run_capture):
    code, records, out, err = run_capture("""
        import multiprocessing, signal, time, torch

        def work(queue):
            queue.put(torch.ones(2).sum().item())
            time.sleep(3600)

        if __name__ == "__main__":
            context = multiprocessing.get_context("fork")
            queue = context.SimpleQueue()
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(queue.get())
            process.terminate()
            process.join()
            print(process.exitcode == -signal.SIGTERM)
    """)
    assert (code, out) == (0, "2.0\nTrue\n"), err
    assert [record["code"] for record in records if record.get("kind") == "note"] == ["processes"]


def test_a_script_ends_when_its_threads_do(run_capture):
    code, records, out, err = run_capture("""
        import threading, torch
        go = threading.Event()

        def work():
            go.wait()
            torch.ones(2, device="cuda") + torch.ones(2)
            print("done")

        threading.Thread(target=work).start()
        threading.Timer(0, go.set).start()
    """)
    assert (code, out) == (0, "done\n"), err
    assert records[-1]["mismatches"] == 1


def test_without_torch_there_is_a_sentence(tmp_path):
    script = tmp_path / "ok.py"
    script.write_text("pass\n")
    hidden = tmp_path / "torch.py"
    hidden.write_text("raise ImportError('No module named torch')\n")
    done = subprocess.run([sys.executable, "-m", "tensor_workbench", "capture", str(script)], capture_output=True, text=True,
                          env={**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}:{ENVIRONMENT['PYTHONPATH']}"}, cwd=str(tmp_path))
    assert done.returncode == 4
    assert "PyTorch is not installed" in done.stderr and "Traceback" not in done.stderr
