"""Hosts made of network namespaces on this machine, for tests of runs on several hosts.

A Network is a switch and hosts on it, each a network namespace with an address (10.77.0.1, ...)
and a host name of its own. A host's cable can be pulled; its clock can be set ahead, by a time
namespace. Everything is removed at the end, whatever happened.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
CLONE_NEWTIME = 0x80

EXPERIMENT = """name = "cluster"
[model]
kind = "mlp"
layers = [784, 64, 10]
[data]
kind = "synthetic"
samples = 4096
batch_size = 16
[processes]
world_size = {world}
timeout_seconds = 30
[train]
steps = {steps}
evaluate_at_end = false
{more}
"""


class Skipped(SystemExit):
    """This machine does not have what is needed; as an exit code what ctest takes for that."""

    def __init__(self, why):
        super().__init__(SKIPPED)
        self.why = why


def skip(why):
    print(f"skipped: {why}")
    raise Skipped(why)


def sh(command):
    return subprocess.run(command, shell=True, capture_output=True, text=True)


def wait_for(what, condition, seconds=30):
    """Returns the condition's value once it is true; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {seconds} s")


class Host:
    def __init__(self, network, name, address):
        self.name, self.address = name, address
        self.namespace = f"{network.prefix}{name}"
        self.cable = f"p-{name}"
        self.network = network

    def command(self, command, ahead_ms=0):
        return ["ip", "netns", "exec", self.namespace, sys.executable, "-B", __file__,
                "--as-host", self.name, str(ahead_ms), *command]

    def cut(self):
        assert sh(f"ip -n {self.network.switch} link set {self.cable} down").returncode == 0

    def mend(self):
        assert sh(f"ip -n {self.network.switch} link set {self.cable} up").returncode == 0


class Network:
    def __init__(self, names):
        self.prefix = f"ls{os.getpid()}-"
        self.switch = self.prefix + "switch"
        self.hosts = [Host(self, name, f"10.77.0.{i + 1}") for i, name in enumerate(names)]

    def __enter__(self):
        if os.geteuid() != 0:
            skip("only root can make hosts of network namespaces")
        steps = [f"ip netns add {self.switch}",
                 f"ip -n {self.switch} link add name hub type bridge",
                 f"ip -n {self.switch} link set hub up"]
        for host in self.hosts:
            steps += [f"ip netns add {host.namespace}",
                      f"ip -n {host.namespace} link set lo up",
                      f"ip link add eth0 netns {host.namespace} type veth peer name {host.cable} "
                      f"netns {self.switch}",
                      f"ip -n {self.switch} link set {host.cable} master hub up",
                      f"ip -n {host.namespace} address add {host.address}/24 dev eth0",
                      f"ip -n {host.namespace} link set eth0 up"]
        for step in steps:
            done = sh(step)
            if done.returncode != 0:
                self.__exit__()
                skip(f"no network namespaces here: {step}: {done.stderr.strip()}")
        return self

    def __exit__(self, *_):
        for name in [self.switch] + [host.namespace for host in self.hosts]:
            sh(f"ip netns delete {name}")


class Program:
    """A program in the background, its output in files; killed with all it started at the end."""

    def __init__(self, folder, name, command, environment=None):
        self.files = [os.path.join(folder, f"{name}.{kind}") for kind in ("out", "err")]
        out, err = (open(path, "w", encoding="utf-8") for path in self.files)
        with out, err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, cwd=folder,
                                            env={**os.environ, **(environment or {})},
                                            stdin=subprocess.DEVNULL, start_new_session=True)

    def text(self):
        texts = []
        for path in self.files:
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
        return "".join(texts)

    def wait(self, seconds=60):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end within {seconds} s:\n{self.text()}") from None

    def end(self):
        for pid in descendants(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(10)


def descendants(pid):
    """The process and all that it and its children have started, itself first."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []
    return [pid] + [other for child in children for other in descendants(child)]


class Run:
    """One `lockstep run` as the head, and relays that join it."""

    def __init__(self, lockstep, head=None, **experiment):
        self.lockstep, self.head_host = lockstep, head
        self.folder = tempfile.mkdtemp(prefix="lockstep-cluster-")
        self.file = os.path.join(self.folder, "run.lockstep")
        experiment = {"world": 4, "steps": 20, "more": "", **experiment}
        with open(os.path.join(self.folder, "e.toml"), "w", encoding="ascii") as file:
            file.write(EXPERIMENT.format(**experiment))
        self.programs = []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for program in reversed(self.programs):
            program.end()
        if kind is not None:
            for program in self.programs:
                print(f"--- {program.files[0]}\n{program.text()}")
        else:
            subprocess.run(["rm", "-r", self.folder], check=True)

    def start(self, name, command, host=None, ahead_ms=0, environment=None):
        command = host.command(command, ahead_ms) if host else command
        program = Program(self.folder, name, command,
                          {"XDG_RUNTIME_DIR": self.folder, **(environment or {})})
        self.programs.append(program)
        return program

    def head(self, *arguments, environment=None):
        return self.start("head", [self.lockstep, "run", "e.toml", "--out", self.file, *arguments],
                          self.head_host, environment=environment)

    def ticket(self):
        """The file of the run's token, once the head has written it."""
        folder = os.path.join(self.folder, "lockstep")

        def find():
            names = os.listdir(folder) if os.path.isdir(folder) else []
            return [name for name in names if name.endswith(".token")]
        return os.path.join(folder, wait_for("the run's token", find)[0])

    def join(self, node, host=None, ahead_ms=0, arguments=(), environment=None):
        return self.start(f"join{node}", [self.lockstep, "join", "--token-file", self.ticket(),
                                          "--node-rank", str(node), *arguments], host, ahead_ms,
                          environment)

    def info(self):
        told = subprocess.run([self.lockstep, "info", "--json", self.file], capture_output=True,
                              text=True)
        return json.loads(told.stdout) if told.returncode == 0 else {}

    def steps(self):
        return self.info().get("steps") or 0

    def query(self, text):
        import sqlite3
        with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True) as database:
            return database.execute(text).fetchall()

    def problems(self):
        return [row[0] for row in self.query("select text from problems")]

    def table(self, name):
        """A table of `lockstep export --csv`, a dictionary a row."""
        import csv
        path = os.path.join(self.folder, name + ".csv")
        subprocess.run([self.lockstep, "export", self.file, "--csv", name, path], check=True,
                       capture_output=True)
        with open(path, encoding="utf-8") as file:
            return list(csv.DictReader(file))


def main_of_tests(suite):
    """Runs the functions test_* of a module, or those named behind the build folder."""
    if len(sys.argv) < 2:
        sys.exit(suite["__doc__"])
    lockstep = os.path.join(os.path.abspath(sys.argv[1]), "bin/lockstep")
    wanted = sys.argv[2:]
    for name, test in list(suite.items()):
        if name.startswith("test_") and (not wanted or name in wanted):
            began = time.monotonic()
            test(lockstep)
            print(f"{name}: passed, {time.monotonic() - began:.1f} s", flush=True)


def as_host(name, ahead_ms, command):
    """Becomes `command` on a host of this name, its monotonic clock ahead by so much."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(0x04000000) == 0, "no namespace of host names"  # CLONE_NEWUTS
    assert libc.sethostname(name.encode(), len(name)) == 0
    if ahead_ms == 0:
        os.execvp(command[0], command)
    assert libc.unshare(CLONE_NEWTIME) == 0, "no namespace of clocks"
    with open("/proc/self/timens_offsets", "w", encoding="ascii") as offsets:
        offsets.write(f"monotonic 0 {ahead_ms * 1_000_000}")
    # A new time namespace is entered by children alone.
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    if len(sys.argv) > 4 and sys.argv[1] == "--as-host":
        as_host(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    sys.exit(__doc__)
