"""A rank is killed or frozen within a chosen phase of its work: construction, forward, backward,
finalise, join. The victim is stopped first and its own memory says where it stands, so that the
fault is known to have landed there."""

import json
import os
import re
import signal
import subprocess
import time

import rank_memory
from campaign import Ended, Wrong, expect
from faults import PATIENCE_S, RANKS_END_S, Faults, ranks_of, wait_for
from rank_memory import RankMemory

EXPERIMENT = """name = "phase faults"
[model]
kind = "mlp"
layers = [784, {width}, {width}, 10]
[data]
kind = "synthetic"
samples = 512
batch_size = 64
[processes]
world_size = {world}
timeout_seconds = {timeout}
[ddp]
bucket_cap_mb = 0.5
join = {join}
[train]
steps = 1000000
[link]
bandwidth_gbps = {gbps}
simulate_anyway = true
"""
UNEVEN = """[[faults]]
kind = "uneven"
rank = {rank}
samples = {samples}
"""
TIMEOUT_S = 2
# From the fault to the end of the run: the time limit of the ranks, what the supervisor grants
# those that do not end by themselves, and a busy machine.
LIMIT_S = TIMEOUT_S + 15


def expect_alive(process):
    if process.poll() is not None:
        _, err = process.communicate()
        raise Wrong(f"the run ended by itself: {err.decode()[-400:]!r}")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def in_construction(memory, _buckets):
    return (memory.phase() == rank_memory.STARTUP
            and memory.startup_stage() == rank_memory.BUCKETS_STAGE)


def in_forward(memory, _buckets):
    return memory.phase() == rank_memory.FORWARD


def launched(memory):
    """How many buckets of this step were handed to the hook; None once it was finalised."""
    step = memory.step()
    buckets = set()
    for kind, of_step, bucket, _ in memory.newest("ddp"):
        if of_step != step:
            break
        if kind == rank_memory.FINALIZE:
            return None
        if kind == rank_memory.BUCKET_LAUNCHED:
            buckets.add(bucket)
    return len(buckets)


def in_backward(memory, buckets):
    if memory.phase() != rank_memory.BACKWARD:
        return False
    count = launched(memory)
    return count is not None and count < buckets


def in_finalize(memory, buckets):
    return memory.phase() == rank_memory.BACKWARD and launched(memory) == buckets


def in_join(memory, _buckets):
    ended = any(kind == rank_memory.FAULT and detail == rank_memory.UNEVEN
                for kind, _, _, detail in memory.newest("faults"))
    shadows = memory.lane("join")
    return ended and memory.phase() == 0 and shadows is not None and shadows[0] > 0


def buckets_of(memory):
    """How many buckets a step has, from the newest that was finalised; 0 before there is one."""
    finalised = None
    buckets = set()
    for kind, step, bucket, _ in memory.newest("ddp"):
        if kind == rank_memory.FINALIZE and finalised is None:
            finalised = step
        elif finalised is not None and step != finalised:
            return len(buckets)
        elif finalised is not None and kind == rank_memory.BUCKET_LAUNCHED:
            buckets.add(bucket)
    return len(buckets)


def named_in(line):
    """The ranks that a line names: "rank 1", "ranks 0, 2"."""
    lists = re.findall(r"\branks? (\d+(?:, \d+)*)", line)
    return {int(number) for names in lists for number in names.split(", ")}


PHASES = {"construction": in_construction, "forward": in_forward, "backward": in_backward,
          "finalize": in_finalize, "join": in_join}
# What the line says of where the rank was.
PLACES = {"construction": r"during start-up, (in|[\d.]+ \w+ into) buckets",
          "forward": r", (in|[\d.]+ \w+ into) forward",
          "backward": r", (in|[\d.]+ \w+ into) backward",
          "finalize": r", (in|[\d.]+ \w+ into) backward", "join": "in iteration "}


class PhaseFaults(Faults):
    name = "phase-faults"
    shows = "a rank is killed or frozen in construction, forward, backward, finalise or join"
    cases = 200

    def run_case(self, rng, folder):
        world = rng.randint(2, 3)
        victim = rng.randrange(world)
        phase = rng.choice(list(PHASES))
        fatal = rng.random() < 0.5
        after = rng.randint(2, 12)
        text = EXPERIMENT.format(world=world, width=rng.choice([256, 512]), timeout=TIMEOUT_S,
                                 gbps=rng.choice([0.5, 1]),
                                 join="true" if phase == "join" else "false")
        if phase == "join":
            text += UNEVEN.format(rank=victim, samples=64 * (1_000_000 - 3))
        with open(os.path.join(folder, "x.toml"), "w", encoding="ascii") as file:
            file.write(text)
        story = f"rank {victim} of {world} {'killed' if fatal else 'frozen'} in {phase}"
        process = subprocess.Popen(
            [self.program("lockstep"), "run", "x.toml", "--quiet", "--out", "x.lockstep"],
            cwd=folder, env=dict(os.environ, XDG_RUNTIME_DIR=folder), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        try:
            pid, memory = self.memory_of(process, victim)
            self.freeze_in(phase, process, pid, memory, after)
            if fatal:
                os.kill(pid, signal.SIGKILL)
            began = time.monotonic()
            try:
                out, err = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise Wrong(f"the run did not end within {PATIENCE_S} s") from None
            took = time.monotonic() - began
            expect(took <= LIMIT_S, f"the run took {took:.1f} s to end")
            wait_for(lambda: not ranks_of(process.pid), "end of the ranks", RANKS_END_S)
            ended = Ended(process.returncode, out.decode(), err.decode())
            self.check_end(phase, victim, fatal, ended, folder)
        except Wrong as wrong:
            raise Wrong(f"{story}: {wrong}") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
            for pid in ranks_of(process.pid).values():
                os.kill(pid, signal.SIGKILL)

    @staticmethod
    def memory_of(process, victim):
        def opened():
            expect_alive(process)
            try:
                pid = ranks_of(process.pid)[victim]
                return pid, RankMemory(pid)
            except (KeyError, OSError):
                return None  # not started yet, or still its parent's image

        return wait_for(opened, "event memory of the rank")

    @staticmethod
    def freeze_in(phase, process, pid, memory, after):
        """Stops the victim, and lets it go on until it is found stopped within the phase."""
        is_there = PHASES[phase]
        buckets = 0
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            expect_alive(process)
            if phase in ("forward", "backward", "finalize"):
                buckets = buckets or buckets_of(memory)
                if not buckets or memory.step() < after:
                    time.sleep(0.002)
                    continue
            if not is_there(memory, buckets):
                time.sleep(0.0002)
                continue
            try:
                os.kill(pid, signal.SIGSTOP)
                wait_for(lambda: state_of(pid) in "TZ", "stop of the rank")
                if is_there(memory, buckets):
                    return
                os.kill(pid, signal.SIGCONT)
            except (ProcessLookupError, FileNotFoundError):
                continue  # it has ended, and so will the run
        raise Wrong(f"within {PATIENCE_S} s it was not met in {phase}")

    def check_end(self, phase, victim, fatal, ended, folder):
        info = self.lockstep("info", "x.lockstep", "--json", folder=folder)
        expect(info.code == 0, f"lockstep info: {info}")
        told = json.loads(info.out)
        name = f"rank {victim} "
        expect(ended.err.count("\n") == 1 and ended.err.startswith("lockstep: "), f"{ended}")
        expect(told["state"] == "failed", f"info: {told['state']}")
        if fatal:
            expect(ended.code == 5 and ended.err.startswith(f"lockstep: {name}was ended by "
                                                            f"SIGKILL "), f"{ended}")
            expect(told["ranks"][victim]["signal"] == signal.SIGKILL, f"{told['ranks'][victim]}")
        else:
            # 4: its peers waited for it; 7: it held up the start.
            expect(ended.code in (4, 7) and name in ended.err and "suspended" in ended.err,
                   f"{ended}")
        expect(re.search(PLACES[phase], told["ranks"][victim]["last_words"]),
               f"last words: {told['ranks'][victim]['last_words']}")
        # A peer that failed by itself names the rank that it missed: the victim, or another that
        # the supervisor has ended meanwhile.
        gone = {victim} | {rank["rank"] for rank in told["ranks"] if rank["signal"]}
        for rank in told["ranks"]:
            if rank["rank"] != victim and rank["exit_code"] == 4:
                expect(gone & named_in(rank["last_words"]),
                       f"rank {rank['rank']} does not name rank {victim}: {rank['last_words']}")
