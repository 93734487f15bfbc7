"""Kills and stops random ranks at random moments and measures how long their jobs take to end.

Usage: lost_ranks.py TWB [--launcher NAME] [--ways WAY,…] [--signals SIGNAL,…] [--trials N] [--seed N]. Run it by hand, as
root, on a machine where nothing else runs. Ends with 77, and a sentence, where no hosts can be made (host_bed.py).

The ways of a job, each with three ranks and with Open MPI and MPICH:
  local   a training, whose launcher and ranks are on one host
  hosts   the same training, with rank 0 on one host and the others on another one
  ssh     a graph that `twb run --on ssh:HOST --ranks 3` runs on another host

For each way and launcher, N ranks are killed and N are stopped. The job must end within 5 s of a kill, and of the end of
TWB_STALL_SECONDS after a stop; messages and report must name the rank and its last step; the training must resume from its
checkpoint; no process and no file of the job may be left.
"""

import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from host_bed import wait_for
from several_hosts import A, B, ENDLESS, TRAIN, Suite, options_of, run_on_hosts, write_project, write_training

RANKS = 3
STALL_S = 2
LIMIT_S = 5
LAST_STEP = 'its last step was "'


class Trials(Suite):
    """Jobs that lose a rank."""

    def __init__(self, hosts, twb, launcher, signals, dice):
        super().__init__(hosts, twb, launcher)
        self.signals, self.dice = signals, dice

    def local(self):
        return self.start_training({A: RANKS})

    def hosts_way(self):
        return self.start_training({A: 1, B: RANKS - 1})

    def start_training(self, places):
        write_training(self.folder)
        job = self.start(places, ENDLESS, {"TWB_STALL_SECONDS": str(STALL_S)})
        return job, lambda: (self.folder / "c/checkpoint.json").exists()

    def ssh(self):
        write_project(self.folder / "g.twb", [("Full", "x", "cpu", {"shape": [100, 100], "value": 0.5}, []),
                                              ("MatMul", "p", "cpu", {}, ["x", "x"]),
                                              ("AllReduce", "sum", "cpu", {}, ["p"])])
        mpirun = self.hosts.programs / "mpirun"
        mpirun.write_text(f'#!/bin/sh\nexec {self.launcher.program} "$@"\n')
        mpirun.chmod(0o755)
        job = self.hosts.start(A, [self.twb, "run", "g.twb", "--on", f"ssh:{B}:{self.folder}/runs", "--ranks", str(RANKS),
                                   "--iterations", "1000000000", "--trace", "t.json", "--report", "r.json", "--quiet"],
                               {"TWB_REMOTE_PROGRAM": str(self.twb)})
        return job, lambda: all(list(self.temporary(B).glob(f"twb-ranks-*/rank{rank}")) for rank in range(RANKS))

    def temporary(self, host):
        return Path(f"/proc/{self.hosts.inside[host]}/root/tmp")

    def lose(self, start, number):
        """Returns the seconds from the signal to the end of the job."""
        self.fresh()
        job, has_begun = start()
        if not wait_for(lambda: has_begun() or job.poll() is not None) or job.poll() is not None:
            raise AssertionError(f"the job has not begun: {job.communicate()}")
        # So long that the ranks compute; then at any moment of a step.
        time.sleep(self.dice.uniform(0.5, 1.5))
        rank = self.dice.randrange(RANKS)
        host, process = self.process(rank)
        begin = time.monotonic()
        os.kill(process, number)
        limit = LIMIT_S + (STALL_S if number == signal.SIGSTOP else 0)
        try:
            out, err = job.communicate(timeout=limit + 5)
        except subprocess.TimeoutExpired:
            left = f"{self.processes()}\n{self.reasons()}"
            self.kill_all()
            raise AssertionError(f"after the signal to rank {rank}, still running:\n{left}\n{job.communicate()[1]}") from None
        took = time.monotonic() - begin
        self.check(job.returncode, rank, number, err)
        assert took < limit, f"{took:.2f} s after the signal to rank {rank}: {err}"
        return took

    def reasons(self):
        """When the hosts were told why the job ends."""
        return [f"{path} since {time.time() - path.stat().st_mtime:.1f} s" for name in (A, B)
                for path in self.temporary(name).glob("twb-ranks-*/failed")]

    def processes(self):
        return "\n".join(subprocess.run(self.hosts.command(name, ["ps", "-eLo", "pid,ppid,stat,etimes,time,wchan:20,comm,args"]),
                                        capture_output=True, text=True).stdout for name in (A, B))

    def check(self, exit_code, rank, number, err):
        wanted = (f"rank {rank} of {RANKS} was killed or has ended early (process " if number == signal.SIGKILL else
                  f"rank {rank} has not answered for {STALL_S} s")
        report = self.json("r.json")
        error = report["error"] if "error" in report else report["errors"][0]["message"]
        said = f"rank {rank} of {RANKS} lost with exit code {exit_code}:\n{error}\n{err}"
        assert 0 < exit_code and report["status"] == "failed", said
        assert wanted in error and LAST_STEP in error, said  # behind the name of a step that waited for the rank
        assert f"twb: {wanted}" in err and LAST_STEP in err, said
        assert len(set(re.findall(r"twb: (rank \d+)", err))) == 1, said
        self.expect_nobody_left()
        left = [str(path) for name in (A, B) for path in self.temporary(name).glob("twb-ranks-*")]
        left += [str(path) for path in (self.folder / "net.ranks").glob(".twb-ranks-*")]
        runs = self.folder / "runs"
        left += [str(path) for path in (runs.iterdir() if runs.exists() else [])]
        assert not left, left
        if (self.folder / "c").exists():
            resumed = self.hosts.run(A, [self.twb, *TRAIN, "--epochs", "1", "--quiet", "--checkpoint", "c", "--resume"])
            assert resumed.returncode == 0, resumed.stderr

    def run_way(self, way, trials):
        """Returns how many trials have failed."""
        start = {"local": self.local, "hosts": self.hosts_way, "ssh": self.ssh}[way]
        failed = 0
        for number in self.signals:
            times = []
            for trial in range(trials):
                try:
                    times.append(self.lose(start, number))
                except Exception:
                    failed += 1
                    print(f"FAILED: {way}, {self.launcher.name}, {number.name}, trial {trial + 1}\n"
                          f"{traceback.format_exc()}", flush=True)
                    self.kill_all()  # the next trial begins without them and their files
                    self.expect_nobody_left()
                    self.hosts.clear()
            print(f"{way}, {self.launcher.name}, {number.name}: {len(times)} of {trials} as promised; seconds "
                  f"{' '.join(f'{took:.2f}' for took in times)}", flush=True)
            if times:
                print(f"  min {min(times):.2f} s, median {statistics.median(times):.2f} s, max {max(times):.2f} s",
                      flush=True)
        return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", default="local,hosts,ssh")
    parser.add_argument("--signals", default="SIGKILL,SIGSTOP")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options = options_of(parser)
    print(f"seed {options.seed}", flush=True)
    signals = [signal.Signals[name] for name in options.signals.split(",")]

    def test(hosts, launchers):
        return sum(Trials(hosts, options.twb, launcher, signals, random.Random(options.seed)).run_way(way, options.trials)
                   for way in options.ways.split(",") for launcher in launchers)

    return run_on_hosts(options, test, {"TWB_STALL_SECONDS": str(STALL_S)})


if __name__ == "__main__":
    sys.exit(main())
