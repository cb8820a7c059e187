"""Runs whose ranks mpirun and torchrun start: the demo's model trains, all ranks in one run file.

Usage: launchers.py BUILD_FOLDER [TEST...]
"""

import os
import re
import shutil
import subprocess
import sys

from cluster import SKIPPED, Network, Run, main_of_tests, wait_for

# Open MPI refuses root, and more ranks than cores, unless it is told otherwise: the latter by the
# third of these up to Open MPI 4, by the fourth from 5 on.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
# torchrun of PyTorch 1.13 cannot read its own default of these under Python 3.11, where a Flag that
# is 0 is no member.
OUTPUT = ["--redirects", "1", "--tee", "1"]
skipped = []


def has_all_ranks(run, world, steps, backend=""):
    info = run.info()
    used = {rank["environment"]["backend"] for rank in info["ranks"]}
    assert len(used) == 1 and used.pop().startswith(backend), info
    assert info["state"] == "finished" and info["events_dropped"] == 0, info
    assert len({rank["parameter_hash"] for rank in info["ranks"]}) == 1, info
    counts = run.query("""select rank, count(*) from spans_ns where kind = 'step'
                          group by rank order by rank""")
    assert counts == [(rank, steps) for rank in range(world)], counts


def test_mpirun_starts_the_ranks(lockstep):
    if shutil.which("mpirun") is None:
        skipped.append("no mpirun here")
        return
    with Run(lockstep, world=2) as run:
        head = run.head("--launcher", "mpirun", "--nproc-per-node", "4",
                        "--set", "processes.backend=gloo", environment=MPI)
        assert head.wait() == 0, head.text()
        has_all_ranks(run, 4, 20, "gloo")
        logs = [row[0] for row in run.query("select text from logs where rank = -1")]
        assert any("mpirun -np 4 --bind-to none -x LOCKSTEP_RECORDER" in line for line in logs)
        assert "mpirun ended with exit code 0" in logs, logs
        token = run.query("select count(*) from logs where text like '%RUN_TOKEN=%'")
        assert token == [(0,)], "the token must not be in the log"


def test_ranks_that_mpirun_starts_may_use_the_mpi_backend(lockstep):
    if shutil.which("mpirun") is None:
        return
    with Run(lockstep, world=4) as run:
        head = run.head("--launcher", "mpirun", "--set", "processes.backend=mpi", environment=MPI)
        ended = head.wait()
        if 'there is no backend "mpi"' in head.text():
            skipped.append("no MPI in this build")
            return
        assert ended == 0, head.text()
        has_all_ranks(run, 4, 20, "mpi")


def test_mpirun_starts_ranks_on_two_hosts(lockstep):
    if shutil.which("mpirun") is None:
        return
    with Network(["a", "b"]) as network, Run(lockstep, network.hosts[0], world=2) as run:
        # In place of ssh, which mpirun reaches another host by: HOST COMMAND...
        shell = os.path.join(run.folder, "shell")
        with open(shell, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nhost=$1; shift\ncase $host in\n")
            for host in network.hosts:
                command = " ".join(host.command(["sh", "-c", '"$*"']))
                file.write(f"{host.address}) exec {command} ;;\n")
            file.write("esac\n")
        os.chmod(shell, 0o755)
        with open(os.path.join(run.folder, "hosts"), "w", encoding="ascii") as file:
            file.writelines(f"{host.address} slots=2\n" for host in network.hosts)
        head = run.head("--launcher", "mpirun", "--nnodes", "2", "--nproc-per-node", "2",
                        "--launcher-arg=--hostfile", "--launcher-arg=hosts",
                        environment={**MPI, "OMPI_MCA_plm_rsh_agent": shell,
                                     "PRTE_MCA_plm_ssh_agent": shell})
        assert head.wait() == 0, head.text()
        has_all_ranks(run, 4, 20)
        assert run.query("select rank, host from ranks order by rank") == \
            [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_a_launcher_that_cannot_start_them_says_why(lockstep):
    with Run(lockstep, world=2) as run:
        head = run.head("--launcher", "mpirun", "--launcher-arg=--no-such-option",
                        environment=MPI)
        assert head.wait() == 3, head.text()
        expected = r"mpirun ended with exit code \d+ before ranks 0, 1 had joined" \
            if shutil.which("mpirun") else "cannot start mpirun"
        assert re.search(expected, head.text()), head.text()


def test_what_mpirun_says_between_rules_is_in_the_line(lockstep):
    if shutil.which("mpirun") is None or os.geteuid() != 0:
        return
    with Run(lockstep, world=2) as run:  # without OMPI_ALLOW_RUN_AS_ROOT
        head = run.head("--launcher", "mpirun")
        assert head.wait() == 3, head.text()
        # From 5 on it calls itself prterun.
        assert re.search("had joined: (mpirun|prterun) has detected an attempt to run as root.",
                         head.text()), head.text()


def test_a_rank_that_dies_under_mpirun_is_the_one_that_is_named(lockstep):
    if shutil.which("mpirun") is None:
        return
    with Run(lockstep, world=3, more="""[[faults]]
kind = "kill"
rank = 1
step = 7
""") as run:
        head = run.head("--launcher", "mpirun", environment=MPI)
        assert head.wait() == 5, head.text()
        assert re.search("rank 1 was ended by SIGKILL .*into iteration 7", head.text()), head.text()


def why_no_torchrun():
    """Why torchrun cannot be tried here; None where it can. Debian 13's torch lacks the library
    that the store of its own torchrun asks for."""
    makes_a_store = ("import torch.distributed.run\n"
                     "torch.distributed.TCPStore('127.0.0.1', 0, 1, True, wait_for_workers=False)")
    tried = subprocess.run([sys.executable, "-c", makes_a_store], capture_output=True, text=True)
    return tried.stderr.splitlines()[-1] if tried.returncode != 0 else None


def test_torchrun_starts_the_ranks(lockstep):
    if why := why_no_torchrun():
        skipped.append(f"torchrun: {why}")
        return
    with Network(["a", "b"]) as network, Run(lockstep, network.hosts[0]) as run:
        a, b = network.hosts
        head = run.head("--launcher", "external", "--nnodes", "2")
        ticket = run.ticket()
        agents = [run.start(f"torchrun{node}", [
            sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--node_rank",
            str(node), "--nproc_per_node", "2", "--master_addr", a.address, "--master_port",
            "29511", *OUTPUT, "--no_python", lockstep, "join", "--token-file", ticket], host)
            for node, host in enumerate([a, b])]
        assert head.wait() == 0, head.text() + agents[0].text()
        assert [agent.wait(30) for agent in agents] == [0, 0], agents[0].text()
        has_all_ranks(run, 4, 20)
        assert run.query("select rank, host from ranks order by rank") == \
            [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_stop_reaches_ranks_that_mpirun_started(lockstep):
    if shutil.which("mpirun") is None:
        return
    with Run(lockstep, world=2, steps=1_000_000) as run:
        head = run.head("--launcher", "mpirun", environment=MPI)
        wait_for("the first steps", lambda: run.steps() > 5)
        subprocess.run([lockstep, "stop", run.file], check=True, capture_output=True,
                       env={**os.environ, "XDG_RUNTIME_DIR": run.folder})
        assert head.wait() == 130, head.text()
        assert run.info()["state"] == "stopped"


if __name__ == "__main__":
    main_of_tests(globals())
    if skipped:
        print("skipped: " + "; ".join(skipped))
        sys.exit(SKIPPED)
