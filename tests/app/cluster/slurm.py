"""A Slurm of three node daemons on this machine, and a run whose ranks its srun starts.

Usage: slurm.py BUILD_FOLDER [TEST...]

Writes slurm.conf and a key for munge into a temporary folder, runs munged, slurmctld and three
slurmd there, and ends them. Needs root and Debian's packages slurm-wlm and munge.
"""

import os
import shutil
import socket
import subprocess
import tempfile

from cluster import Program, Run, main_of_tests, skip, wait_for

CONFIGURATION = """ClusterName=lockstep
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=n[1-3] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=YES
"""


def free_ports(count):
    """A row of ports that nobody has; a daemon that finds one taken says so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        first = probe.getsockname()[1]
    return first if first + count < 65536 else first - count


class Slurm:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="lockstep-slurm-")
        os.chmod(self.folder, 0o755)  # munge refuses a socket that others cannot reach
        self.programs = []

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__(AssertionError)
            raise
        return self

    def start(self):
        port = free_ports(4)
        for name in ("state", "spool.n1", "spool.n2", "spool.n3"):
            os.mkdir(os.path.join(self.folder, name))
        with open(self.path("slurm.conf"), "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(host=socket.gethostname(), folder=self.folder,
                                            port=port, first=port + 1, last=port + 3))
        with open(self.path("key"), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(os.urandom(1024))
        self.environment = {"SLURM_CONF": self.path("slurm.conf")}
        self.daemon("munged", ["munged", "--foreground", "--force", "--key-file",
                               self.path("key"), "--socket", self.path("munge.socket"),
                               "--pid-file", self.path("munge.pid"), "--log-file",
                               self.path("munge.log"), "--seed-file", self.path("munge.seed")])
        wait_for("munge", lambda: os.path.exists(self.path("munge.socket")))
        self.daemon("slurmctld", ["slurmctld", "-D", "-c"])
        for node in ("n1", "n2", "n3"):
            self.daemon(node, ["slurmd", "-D", "-N", node])
        wait_for("three idle nodes", lambda: self.idle() == 3)

    def path(self, name):
        return os.path.join(self.folder, name)

    def daemon(self, name, command):
        self.programs.append(Program(self.folder, name, command, self.environment))

    def idle(self):
        told = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %T"], capture_output=True, text=True,
                              env={**os.environ, **self.environment})
        return sum(line.endswith(" idle") for line in told.stdout.splitlines())

    def steps_of_nodes(self):
        """How many job steps each node's daemon has started, as its log says."""
        counts = []
        for node in ("n1", "n2", "n3"):
            with open(self.path(f"slurmd.{node}.log"), encoding="utf-8") as log:
                counts.append(sum("launch task" in line for line in log))
        return counts

    def __exit__(self, kind, *_):
        for program in reversed(self.programs):
            program.end()
        if kind is not None:
            for name in sorted(os.listdir(self.folder)):
                if name.endswith((".log", ".err")):
                    with open(self.path(name), encoding="utf-8", errors="replace") as file:
                        print(f"--- {name}\n{file.read()[-2000:]}")
        shutil.rmtree(self.folder, ignore_errors=True)


def test_srun_starts_the_ranks_on_three_nodes(lockstep):
    missing = [name for name in ("srun", "slurmctld", "slurmd", "munged")
               if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        skip(f"no {', '.join(missing)} here (slurm-wlm, munge)" if missing
             else "only root can run Slurm's daemons")
    with Slurm() as slurm:
        allocations = [], ["salloc", "--nodes=3", "--ntasks-per-node=2"]
        for runs, allocation in enumerate(allocations, 1):
            with Run(lockstep, world=2) as run:
                head = run.start("head", [
                    *allocation, lockstep, "run", "e.toml", "--out", run.file, "--launcher",
                    "srun", "--nnodes", "3", "--nproc-per-node", "2"],
                    environment=slurm.environment)
                assert head.wait(60) == 0, head.text()
                info = run.info()
                assert info["state"] == "finished" and info["events_dropped"] == 0, info
                assert len({rank["parameter_hash"] for rank in info["ranks"]}) == 1, info
                steps = run.query("""select rank, count(*) from spans_ns where kind = 'step'
                                     group by rank order by rank""")
                assert steps == [(rank, 20) for rank in range(6)], steps
                assert slurm.steps_of_nodes() == [runs] * 3, slurm.steps_of_nodes()


if __name__ == "__main__":
    main_of_tests(globals())
