"""Runs the suite against the package beside it, whatever is installed."""

import os
import sys

import pytest
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
torch.set_num_threads(1)

TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])


def pytest_report_header(config):
    return f"torch {torch.__version__}"


@pytest.fixture
def run_capture(tmp_path):
    """Writes a script, captures it in a process of its own and returns (exit code, records, stdout, stderr)."""
    import json
    import subprocess
    import textwrap

    def run(source, *options, script_arguments=(), timeout=300):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(source))
        out = tmp_path / "run.twbcap"
        done = subprocess.run(
            [sys.executable, "-m", "tensor_workbench", "capture", "-o", str(out), *options, str(script), *script_arguments],
            capture_output=True, text=True, timeout=timeout, cwd=str(tmp_path),
            env={**os.environ, "PYTHONPATH": os.path.dirname(HERE), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"})
        records = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        return done.returncode, records, done.stdout, done.stderr

    return run
