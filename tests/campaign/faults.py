"""A rank or the supervisor of a real run is killed, suspended or interrupted at a random moment.
Whatever it was: one line that names the rank, the exit code of its kind, no process left, and a
run file that opens."""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import time

from campaign import Campaign, Ended, Wrong, expect

EXPERIMENT = """name = "faults"
[model]
kind = "mlp"
layers = [784, {width}, 10]
[data]
kind = "synthetic"
samples = 512
batch_size = 16
[processes]
world_size = {world}
timeout_seconds = 5
[train]
steps = 10000000
"""
PATIENCE_S = 60
RANKS_END_S = 5


def wait_for(condition, what, limit=PATIENCE_S):
    """Polls for an event; a moment of a run is what was seen of it, never a time that passed."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise Wrong(f"within {limit} s there was no {what}")


def ranks_of(supervisor):
    """Returns pid by rank of the living ranks that a supervisor started, its own death included."""
    mark = f"LOCKSTEP_SUPERVISOR_PID={supervisor}".encode()
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if mark in variables:
            rank = next(v for v in variables if v.startswith(b"RANK="))
            found[int(rank[5:])] = int(pid)
    return found


def last_step(run):
    try:
        database = sqlite3.connect(f"file:{run}?mode=ro", uri=True, timeout=5)
        try:
            row = database.execute("SELECT value FROM meta WHERE key = 'last_step'").fetchone()
        finally:
            database.close()
    except sqlite3.OperationalError:
        return -1  # not made yet
    return -1 if row is None else int(row[0])


class Faults(Campaign):
    name = "faults"
    shows = "a rank or the supervisor of a run is killed, suspended or interrupted at any moment"
    cases = 80

    def __init__(self, bin_folder, seed):
        super().__init__(bin_folder, seed)
        # Ranks crash here on purpose; nobody wants their memory on the disk.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))

    def run_case(self, rng, folder):
        world = rng.randint(2, 4)
        victim = rng.randrange(world)
        act = rng.choice([self.kill_rank, self.kill_rank, self.crash_rank, self.suspend_rank,
                          self.kill_supervisor, self.suspend_supervisor, self.interrupt])
        # Before the rendezvous is through, at the first step, or within the training.
        moment = rng.choice(["spawned", "spawned", 0, rng.randint(1, 60), rng.randint(60, 600)])
        with open(os.path.join(folder, "x.toml"), "w", encoding="ascii") as file:
            file.write(EXPERIMENT.format(world=world, width=rng.choice([8, 64, 512])))
        command = [self.program("lockstep"), "run", "x.toml", "--quiet", "--out", "x.lockstep"]
        environment = dict(os.environ, XDG_RUNTIME_DIR=folder)
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        story = f"{act.__name__}, rank {victim} of {world}, at {moment}"
        run = os.path.join(folder, "x.lockstep")

        def reached():
            expect(process.poll() is None, f"{story}: the run ended by itself")
            if moment == "spawned":
                return victim in ranks_of(process.pid)
            return last_step(run) >= moment

        try:
            wait_for(reached, f"{story}: such a moment")
            pids = ranks_of(process.pid)
            act(rng, process, victim, pids.get(victim))
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise Wrong(f"the run did not end within {PATIENCE_S} s") from None
            ended = Ended(process.returncode, out.decode(), err.decode())
            wait_for(lambda: not ranks_of(process.pid), "end of the ranks", RANKS_END_S)
            self.check(act, victim, ended, folder)
        except Wrong as wrong:
            raise Wrong(f"{story}: {wrong}") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
            for pid in ranks_of(process.pid).values():
                os.kill(pid, signal.SIGKILL)

    def kill_rank(self, _rng, _process, _victim, pid):
        os.kill(pid, signal.SIGKILL)

    def crash_rank(self, _rng, _process, _victim, pid):
        os.kill(pid, signal.SIGABRT)

    def suspend_rank(self, _rng, _process, _victim, pid):
        os.kill(pid, signal.SIGSTOP)

    def kill_supervisor(self, _rng, process, _victim, _pid):
        process.kill()

    def suspend_supervisor(self, rng, process, _victim, _pid):
        # How long it sleeps is the fault, and no wait for something.
        process.send_signal(signal.SIGSTOP)
        time.sleep(rng.uniform(0.02, 1))
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)

    def interrupt(self, _rng, process, _victim, _pid):
        process.send_signal(signal.SIGINT)

    def check(self, act, victim, ended, folder):
        info = self.lockstep("info", "x.lockstep", "--json", folder=folder)
        expect(info.code == 0, f"lockstep info: {info}")
        told = json.loads(info.out)
        name = f"rank {victim} "
        if act in (self.kill_rank, self.crash_rank):
            number = signal.SIGKILL if act == self.kill_rank else signal.SIGABRT
            expect(ended.code == 5 and ended.err.count("\n") == 1
                   and ended.err.startswith(f"lockstep: {name}was ended by {number.name} "),
                   f"{ended}")
            expect(told["state"] == "failed" and told["ranks"][victim]["signal"] == number,
                   f"info: {told['state']}, {told['ranks'][victim]}")
        elif act == self.suspend_rank:
            # 4: its peers waited for it; 7: it held up the start.
            expect(ended.code in (4, 7) and ended.err.count("\n") == 1
                   and ended.err.startswith("lockstep: ") and name in ended.err
                   and "suspended" in ended.err, f"{ended}")
            expect(told["state"] == "failed", f"info: {told['state']}")
        elif act == self.kill_supervisor:
            expect(ended.code == -signal.SIGKILL and not ended.err, f"{ended}")
            expect(told["state"] == "recorder died", f"info: {told['state']}")
        else:
            expect(ended.code == 130 and not ended.err, f"{ended}")
            expect(told["state"] == "stopped", f"info: {told['state']}")
