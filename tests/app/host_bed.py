"""Several hosts on this machine, for tests: each has network, host name, processes, /tmp and sshd of its own.

The hosts share the file system, except /tmp and /dev/shm, and the cores. They are joined by a bridge, in a network
namespace of its own, so nothing of this machine's network changes. Needs root, for namespaces.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

TOOLS = ("ip", "unshare", "nsenter", "ssh", "ssh-keygen", "/usr/sbin/sshd")

# The first process of a host. Mounts that a file of the bed lies on stay visible.
INIT = """
set -e
mount --make-rprivate /
new={bed}/root-{name}
mkdir -p "$new"
mount -t tmpfs tmpfs "$new"
case {top} in /tmp/*) mkdir -p "$new/${{visible#/tmp/}}"; mount --rbind {top} "$new/${{visible#/tmp/}}";; esac
chmod 1777 "$new"
mount --move "$new" /tmp
mount -t tmpfs tmpfs /dev/shm
mkdir -p /run/sshd
mount --bind {bed}/hosts /etc/hosts
hostname {name}
ip link set lo up
echo ready
read go
/usr/sbin/sshd -e -f {bed}/sshd_config 2>>{bed}/{name}.sshd
echo up
exec python3 -c 'import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); signal.pause()'  # leaves no zombies
"""

SSHD = """Port 22
HostKey {bed}/host
AuthorizedKeysFile {bed}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
SetEnv {variables}
"""

SSH = """#!/bin/sh
exec {ssh} -F {bed}/ssh_config "$@"
"""

SSH_CONFIG = """IdentityFile {bed}/user
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
ConnectTimeout 10
ServerAliveInterval 5
ServerAliveCountMax 2
"""


class CannotMakeHosts(Exception):
    """The sentence says why."""


def require_tools():
    if os.geteuid() != 0:
        raise CannotMakeHosts("only root can make namespaces that stand for hosts")
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        raise CannotMakeHosts(f"there is no {' and no '.join(missing)}; install iproute2, util-linux, openssh-client "
                              "and openssh-server")
    tried = subprocess.run(["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "sh", "-c",
                            "mount --make-rprivate / && mount -t tmpfs tmpfs /dev/shm && hostname twb-try && "
                            "ip link add twb-try type bridge"], capture_output=True, text=True)
    if tried.returncode != 0:
        raise CannotMakeHosts(f"namespaces are not allowed here: {(tried.stderr.strip() or 'unshare failed')}")


class Hosts:
    """`names`: of the hosts; `folder`: seen by all of them; `top`: the folder that must stay visible if it is in /tmp;
    `variables`: the environment of what ssh starts there. A test may put programs for all hosts into `programs`."""

    def __init__(self, names, folder, top, variables):
        require_tools()
        self.names, self.folder, self.top = list(names), Path(folder), Path(top).resolve()
        # The files that a shell reads at a login may take a minute; an empty home has none.
        home = Path(folder) / "home"
        home.mkdir()
        self.processes, self.inside = {}, {}
        self.bed = self.folder / "bed"
        self.bin, self.programs = self.bed / "bin", self.bed / "programs"
        for made in (self.bin, self.programs):
            made.mkdir(parents=True)
        self.variables = {"HOME": str(home), "PATH": f"{self.programs}:{os.environ['PATH']}", **variables}
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.bed / key], check=True)
        self._write("hosts", "127.0.0.1 localhost\n" +
                    "".join(f"10.214.9.{i} {name}\n" for i, name in enumerate(self.names, start=1)))
        self._write("sshd_config", SSHD.format(bed=self.bed, variables=" ".join(
            f'"{name}={value}"' for name, value in self.variables.items())))
        self._write("ssh_config", SSH_CONFIG.format(bed=self.bed))
        self._write("bin/ssh", SSH.format(bed=self.bed, ssh=shutil.which("ssh"))).chmod(0o755)
        try:
            self._start()
        except Exception:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _write(self, name, text):
        path = self.bed / name
        path.write_text(text)
        return path

    def _start(self):
        self._launch("switch", ["unshare", "--net", "--fork", "--kill-child", "sh", "-c",
                                "echo ready; exec sleep infinity"])
        self._ip("switch", "link", "add", "bridge", "type", "bridge")
        self._ip("switch", "link", "set", "bridge", "up")
        for i, name in enumerate(self.names, start=1):
            init = self._write(f"{name}.init", f"visible={self.top}\n" + INIT.format(
                bed=self.bed, name=name, top=self.top))
            self._launch(name, ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child",
                                "--mount-proc", "sh", str(init)])
            subprocess.run(["ip", "link", "add", f"port{i}", "netns", str(self.inside["switch"]), "type", "veth", "peer",
                            "name", "eth0", "netns", str(self.inside[name])], check=True)
            self._ip("switch", "link", "set", f"port{i}", "master", "bridge", "up")
            self._ip(name, "addr", "add", f"10.214.9.{i}/24", "dev", "eth0")
            self._ip(name, "link", "set", "eth0", "up")
            self.processes[name].stdin.write("go\n")
            self.processes[name].stdin.flush()
            self._expect(name, "up")

    def _launch(self, name, command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes[name] = process
        self._expect(name, "ready")
        self.inside[name] = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])

    def _expect(self, name, word):
        line = self.processes[name].stdout.readline().strip()
        if line != word:
            raise CannotMakeHosts(f"the host {name} does not start: {line or 'its first process has ended'}")

    def _ip(self, name, *words):
        subprocess.run(["nsenter", "-t", str(self.inside[name]), "-n", "ip", *words], check=True)

    def command(self, name, command):
        """The words that run a command on a host, in the shared folder."""
        return ["nsenter", "-t", str(self.inside[name]), "-n", "-u", "-i", "-m", "-p", "sh", "-c",
                'cd "$0" && exec "$@"', str(self.folder), *map(str, command)]

    def environment(self, more=()):
        environment = dict(os.environ, **self.variables)
        environment.pop("OMP_NUM_THREADS", None)  # a host has the threads of its cores
        environment.update(more)
        environment["PATH"] = f"{self.bin}:{environment['PATH']}"
        return environment

    def start(self, name, command, more=(), **options):
        return subprocess.Popen(self.command(name, command), env=self.environment(more), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def run(self, name, command, more=(), timeout=300):
        return subprocess.run(self.command(name, command), env=self.environment(more), capture_output=True, text=True,
                              timeout=timeout)

    def processes_of(self, program):
        """The processes of a program on all hosts: (host, process, environment, whether it is a watch)."""
        spaces = {os.readlink(f"/proc/{self.inside[name]}/ns/uts"): name for name in self.names if name in self.inside}
        out = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                name = spaces.get(os.readlink(entry / "ns/uts"))
                if name is None or os.path.basename(os.readlink(entry / "exe")) != program:
                    continue
                variables = dict(line.split("=", 1) for line in
                                 (entry / "environ").read_bytes().decode(errors="replace").split("\0") if "=" in line)
                out.append((name, int(entry.name), variables, (entry / "comm").read_text().startswith("twb-watch")))
            except OSError:
                continue  # it has ended
        return out

    def clear(self):
        """Removes the files that killed jobs have left in the hosts' /tmp."""
        for inside in self.inside.values():
            for left in Path(f"/proc/{inside}/root/tmp").glob("twb-ranks-*"):
                shutil.rmtree(left, ignore_errors=True)

    def unplug(self, name):
        """Cuts the link of a host."""
        self._ip("switch", "link", "set", f"port{self.names.index(name) + 1}", "down")

    def plug(self, name):
        self._ip("switch", "link", "set", f"port{self.names.index(name) + 1}", "up")

    def close(self):
        for name in reversed(list(self.processes)):
            process = self.processes.pop(name)
            inside = self.inside.pop(name, None)
            if inside:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(inside, signal.SIGKILL)  # with it, all processes of the host
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def wait_for(condition, seconds=600):
    """Whether a condition became true; the limit only ends a test that hangs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False
