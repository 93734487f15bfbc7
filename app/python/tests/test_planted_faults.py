"""Scripts whose comments name their faults: the capture finds those lines and no other."""

import os
import runpy

import pytest

import tensor_workbench

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "..", "resources", "examples", "scripts", "train_digits.py")
SCRIPTS = {name: os.path.realpath(os.path.join(HERE, "scripts", name)) for name in ("packed_lstm.py", "average_of_weights.py")}
if os.path.exists(EXAMPLE):  # in the project's tree
    SCRIPTS["train_digits.py"] = os.path.realpath(EXAMPLE)


def faulty_lines(path):
    with open(path) as file:
        return [number for number, line in enumerate(file, 1) if "# fault" in line]


def captured(name, tmp_path, monkeypatch, **options):
    monkeypatch.chdir(tmp_path)
    path = SCRIPTS.get(name)
    if path is None:
        pytest.skip("the package is tested outside of the project's tree")
    with tensor_workbench.capture(str(tmp_path / "run.twbcap"), **options) as c:
        runpy.run_path(path, run_name="__main__")
    return path, c


@pytest.mark.parametrize("name", ["train_digits.py", "packed_lstm.py", "average_of_weights.py"])
def test_finds_exactly_the_planted_faults(name, tmp_path, monkeypatch):
    path, c = captured(name, tmp_path, monkeypatch)
    assert len(faulty_lines(path)) == (5 if name == "train_digits.py" else 1)
    assert [(m.file, m.line) for m in c.mismatches] == [(path, line) for line in faulty_lines(path)], c.summary()


def test_tells_pinned_asynchronous_copies_from_blocking_ones(tmp_path, monkeypatch, capsys):
    _, c = captured("average_of_weights.py", tmp_path, monkeypatch)
    batches = [(line, total) for line, total in c.results.transfers.items() if line.non_blocking]
    assert [total.count for _, total in batches] == [4, 4]
    assert [total.bytes for _, total in batches] == [32 * 3 * 16 * 16 * 4, 32 * 8]
    assert all(line.pinned and not line.blocking for line, _ in batches)
    moved = [line for line in c.results.transfers if line.cause == "cuda" and not line.non_blocking]
    assert moved and all(line.blocking and not line.pinned for line in moved)
    assert "dtypes torch.float16 torch.float32 cuda:0 False" in capsys.readouterr().out


def test_counts_steps_by_the_optimizer(tmp_path, monkeypatch):
    _, c = captured("train_digits.py", tmp_path, monkeypatch)
    assert c.results.steps == 4
    assert [m.count for m in c.mismatches] == [4, 4, 4, 1, 1]


def test_names_the_syncs_of_an_lstm(tmp_path, monkeypatch, capsys):
    _, c = captured("packed_lstm.py", tmp_path, monkeypatch)
    causes = sorted(line.cause for line in c.results.syncs)
    assert causes == ["bool(tensor)", "cpu()", "float(tensor)", "item()", "print(tensor)"]
    assert "device='cuda:0'" in capsys.readouterr().out
