"""Jobs of PyTorch over two hosts under `lockstep record --listen` and `lockstep join -- COMMAND`.

Usage: jobs.py BUILD_FOLDER [TEST...]

The job is tests/observer/job.py, four ranks on Gloo, two on each host.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from cluster import Network, Run, descendants, main_of_tests, wait_for
from launchers import OUTPUT, why_no_torchrun

JOB = str(pathlib.Path(__file__).resolve().parents[2] / "observer" / "job.py")
WORLD = 4
STEPS = 12
LONG = 20_000  # steps; longer than any test waits
PATIENCE = 180  # seconds, for four processes that load PyTorch on a machine that is busy

# What a user of Gloo sets on hosts that do not know each other's names.
HOSTS = {"NNODES": "2", "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29511",
         "GLOO_SOCKET_IFNAME": "eth0"}


class Job(Run):
    """One `lockstep record` on the first host, `lockstep join` on the second."""

    def __init__(self, lockstep, network, steps, *ways):
        super().__init__(lockstep)
        self.hosts = network.hosts
        self.command = [sys.executable, JOB, str(WORLD), str(steps), "watch", *ways]

        self.may_go_on = os.path.join(self.folder, "may_go_on")  # for a job that waits

    def record(self, *options):
        return self.start("head", [self.lockstep, "record", "--quiet", "--listen", *options, "--out",
                                   self.file, "--", *self.command], self.hosts[0],
                          environment={**HOSTS, "NODE_RANK": "0", "JOB_MAY_GO_ON": self.may_go_on})

    def join_job(self, *options, ahead_ms=0, token=None):
        return self.start("join", [self.lockstep, "join", "--token-file", token or self.ticket(),
                                   *options, "--", *self.command], self.hosts[1], ahead_ms,
                          {**HOSTS, "NODE_RANK": "1", "JOB_MAY_GO_ON": self.may_go_on})

    def all_ranks_wait(self):
        return all(os.path.exists(f"{self.may_go_on}.{rank}") for rank in range(WORLD))

    def go_on(self):
        pathlib.Path(self.may_go_on).touch()

    def failure(self):
        return dict(self.query("select key, value from meta")).get("failure", "")

    def states(self):
        return dict(self.query("select rank, state from ranks"))

    def tell(self, command, *options):
        """What a command says of the run; from this host, which has another name than the head's,
        and the folder of its socket."""
        done = subprocess.run([self.lockstep, command, self.file, *options], capture_output=True,
                              text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    def stop(self):
        stopped = self.tell("stop")
        assert stopped[0] == 0, stopped

    def nothing_is_left(self, pids):
        wait_for("the end of all processes",
                 lambda: not [pid for pid in pids if os.path.exists(f"/proc/{pid}/exe")], 10)
        left = os.listdir(os.path.join(self.folder, "lockstep"))
        assert not left, left


def processes_of(*programs):
    return [pid for program in programs for pid in descendants(program.process.pid)]


def rank_process(program, rank):
    """The process of one rank below a program."""
    def find():
        for pid in descendants(program.process.pid):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if f"RANK={rank}".encode() in file.read().split(b"\0"):
                        return pid
            except OSError:
                pass
        return None
    return wait_for(f"the process of rank {rank}", find)


def told(*programs):
    ranks = {}
    for program in programs:
        for line in program.text().splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                ranks[row["rank"]] = row
    return ranks


def test_ranks_of_two_hosts_are_one_run(lockstep):
    with Network(["a", "b"]) as network, Job(lockstep, network, STEPS) as job:
        head = job.record()
        joined = job.join_job(ahead_ms=5)
        assert head.wait(PATIENCE) == 0, head.text()
        assert joined.wait(60) == 0, joined.text()
        assert len({row["weights"] for row in told(head, joined).values()}) == 1
        assert sorted(told(head, joined)) == list(range(WORLD)), head.text() + joined.text()
        assert not [row for row in told(head) if row > 1], "the other host's output stays there"
        info = job.info()
        assert info["state"] == "finished" and info["events_dropped"] == 0, info
        assert job.query("select host, name from hosts order by host") == [(0, "a"), (1, "b")]
        assert job.query("select rank, host, state from ranks order by rank") == \
            [(rank, rank // 2, "finished") for rank in range(WORLD)]
        for rank in range(WORLD):
            for kind in ("step", "forward", "backward", "optimizer"):
                count = job.query(f"""select count(*) from spans_ns
                                      where kind = '{kind}' and rank = {rank}""")
                assert count == [(STEPS,)], (rank, kind, count)
            assert job.query(f"""select count(*) > 0 from metrics where rank = {rank}
                                 and name = 'resident_bytes'""") == [(1,)], rank
        assert not job.problems(), job.problems()
        # Every collective has all ranks, and no rank leaves one that another has not come to.
        offset, uncertainty = job.query(
            "select offset_ns, uncertainty_ns from clocks where host = 1 order by id")[-1]
        print(f"  {offset / 1e6:.3f} ± {uncertainty / 1e6:.3f} ms")
        assert abs(offset - 5_000_000) <= uncertainty < 2_000_000, (offset, uncertainty)
        met = {}
        for rank, value, start, duration in job.query(
                "select rank, value >> 40, start_ns, duration_ns from spans_ns "
                "where kind = 'collective' and bucket is not null"):
            met.setdefault(value, {})[rank] = (start, start + duration)
        assert len(met) >= STEPS, met
        for parts in met.values():
            assert len(parts) == WORLD, met
            latest = max(start for start, _ in parts.values())
            assert latest <= min(end for _, end in parts.values()) + 2 * uncertainty, parts
        assert "b:" in " ".join(text for text, in job.query("select text from logs")), "no output"


def test_a_rank_of_the_other_host_that_throws_is_named(lockstep):
    with Network(["a", "b"]) as network, Job(lockstep, network, STEPS, "throw_3") as job:
        head = job.record()
        joined = job.join_job()
        assert head.wait(PATIENCE) == 1, head.text()
        assert joined.wait(60) == 1, joined.text()
        failure = job.failure()
        assert failure.startswith("rank 3 failed in iteration 7, in data"), failure
        assert failure.endswith("ValueError: boom"), failure
        assert f"lockstep: {failure}" in head.text(), head.text()


def test_a_rank_of_the_other_host_that_is_killed_is_named(lockstep):
    with Network(["a", "b"]) as network, Job(lockstep, network, LONG) as job:
        head = job.record()
        joined = job.join_job()
        wait_for("the first steps", lambda: job.steps() > 5, PATIENCE)
        pids = processes_of(head, joined)
        os.kill(rank_process(joined, 2), signal.SIGKILL)
        assert head.wait(PATIENCE) != 0, head.text()
        assert joined.wait(60) != 0, joined.text()
        failure = job.failure()
        assert failure.startswith("rank 2 was lost, last seen in iteration"), failure
        assert "ended without a word" in failure, failure
        job.nothing_is_left(pids)


def test_a_stop_ends_the_commands_of_all_hosts(lockstep):
    with Network(["a", "b"]) as network, Job(lockstep, network, LONG) as job:
        head = job.record()
        joined = job.join_job()
        wait_for("the first steps", lambda: job.steps() > 5, PATIENCE)
        pids = processes_of(head, joined)
        job.stop()
        assert head.wait(PATIENCE) != 0, head.text()
        assert joined.wait(60) != 0, joined.text()
        assert job.info()["state"] == "stopped", job.info()
        job.nothing_is_left(pids)


def test_a_capture_has_the_ranks_of_all_hosts(lockstep):
    with Network(["a", "b"]) as network, Job(lockstep, network, LONG) as job:
        head = job.record()
        joined = job.join_job(ahead_ms=5)
        wait_for("the first steps", lambda: job.steps() > 5, PATIENCE)
        held = rank_process(joined, 3)
        os.kill(held, signal.SIGSTOP)
        stopped = f"rank 3 is stopped and would not trace; let it go on (kill -CONT {held} on b)"
        samples = "select count(*) from metrics where rank = 3 and name = 'resident_bytes'"
        (before,), = job.query(samples)  # with them comes the word that it is stopped
        wait_for("the word of the other host", lambda: job.query(samples)[0][0] > before + 1, 20)
        told = job.tell("capture")
        assert told[0] == 2 and stopped in told[1], told
        os.kill(held, signal.SIGCONT)
        wait_for("the capture", lambda: job.tell("capture", "--steps", "3")[0] == 0, 20)
        traced = wait_for("the trace of all ranks", lambda: (lambda rows: rows if len(rows) == WORLD
                          else None)(job.query("select rank from environment where key = 'trace.1' "
                                               "order by rank")), PATIENCE)
        assert traced == [(rank,) for rank in range(WORLD)], traced
        again = wait_for("its end", lambda: (lambda told: told if told[0] == 0 else None)(
            job.tell("capture", "--steps", "2")), PATIENCE)
        assert "4 ranks trace their next 2 iterations" in again[1], again
        job.stop()
        assert head.wait(PATIENCE) != 0 and joined.wait(60) != 0, head.text() + joined.text()
        names = dict(job.query("select distinct substr(key, 7), value from environment "
                               "where key like 'phase.%'"))
        for rank in range(WORLD):
            steps = [step for step, in job.query(
                f"""select distinct step from spans_ns where kind = 'operator' and rank = {rank}
                    order by step""")]
            first = steps[:3]
            assert first == list(range(first[0], first[0] + 3)), (rank, steps)
            # On the clock of its own host, as its phases are.
            for step in first:
                (begin, end), = job.query(
                    f"""select start_ns, start_ns + duration_ns from spans_ns
                        where kind = 'step' and rank = {rank} and step = {step}""")
                layers = [start for start, value in job.query(
                    f"""select start_ns, value from spans_ns where kind = 'operator'
                        and rank = {rank} and step = {step}""") if names[str(value)] == "aten::addmm"]
                assert len(layers) == 4, (rank, step, layers)
                assert all(begin - 100_000 <= at <= end for at in layers), (rank, step)
        info = job.info()
        assert info["state"] == "stopped", info["state"]
        kinds = [key for rank in info["ranks"] for key in rank["environment"]
                 if key.startswith("phase.")]
        assert not kinds, "names of kinds of events are no facts of a rank"


def test_ranks_that_torchrun_starts_again_are_recorded_on(lockstep):
    if why := why_no_torchrun():
        print(f"  torchrun: {why}")
        return
    with Network(["a", "b"]) as network, Job(lockstep, network, STEPS, "fail_once") as job:
        met = {"GLOO_SOCKET_IFNAME": "eth0", "MEETING": os.path.join(job.folder, "meeting")}

        def torchrun(node):
            return [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2",
                    "--nproc_per_node", "2", "--max_restarts", "1", "--rdzv_backend", "c10d",
                    "--rdzv_endpoint", "10.77.0.1:29520", "--rdzv_conf",
                    f"is_host={1 - node}", *OUTPUT, *job.command[1:]]
        head = job.start("head", [lockstep, "record", "--quiet", "--listen", "--out", job.file, "--",
                                  *torchrun(0)], job.hosts[0], environment=met)
        joined = job.start("join", [lockstep, "join", "--token-file", job.ticket(), "--",
                                    *torchrun(1)], job.hosts[1], environment=met)
        assert head.wait(PATIENCE) == 0, head.text() + joined.text()
        assert joined.wait(60) == 0, joined.text()
        info = job.info()
        assert info["state"] == "finished" and info["events_dropped"] == 0, info
        hosts = job.query("select host, count(*) from ranks group by host order by host")
        assert hosts == [(0, 2), (1, 2)], hosts
        logs = [text for text, in job.query("select text from logs")]
        again = [text for text in logs if " was started again, as process " in text]
        print(f"  {job.problems()}")
        assert len(again) == WORLD, logs
        assert len({text.rsplit(" at step ")[1] for text in again}) == 1, again
        for rank in range(WORLD):
            steps = [step for step, in job.query(
                f"select step from spans_ns where kind = 'step' and rank = {rank} order by step")]
            assert steps == sorted(set(steps)) and STEPS < len(steps) <= 2 * STEPS, (rank, steps)
        assert not job.problems(), job.problems()


def test_a_relay_that_is_killed_is_lost_and_the_job_goes_on(lockstep):
    with Network(["a", "b"]) as network, Job(lockstep, network, STEPS, "waits") as job:
        head = job.record()
        joined = job.join_job()
        wait_for("step 3 of all ranks", job.all_ranks_wait, PATIENCE)
        pids = processes_of(joined)
        os.kill(joined.process.pid, signal.SIGKILL)
        lost = "host b (10.77.0.2) with ranks 2, 3 is lost: its connection broke"
        wait_for("the loss", lambda: any(lost in problem for problem in job.problems()), 30)
        job.go_on()
        assert head.wait(PATIENCE) == 0, head.text()
        assert lost in head.text(), head.text()
        assert job.info()["state"] == "finished", job.info()
        states = job.states()
        assert states == {0: "finished", 1: "finished", 2: "lost", 3: "lost"}, states
        steps = job.query("select count(*) from spans_ns where kind = 'step' and rank = 0")
        assert steps == [(STEPS,)], steps
        wait_for("the end of its ranks", lambda: not any(
            os.path.exists(f"/proc/{pid}/exe") for pid in pids), 10)


def test_the_commands_go_on_where_the_head_is_killed(lockstep):
    with Network(["a", "b"]) as network, Job(lockstep, network, LONG) as job:
        head = job.record()
        joined = job.join_job()
        wait_for("the first steps", lambda: job.steps() > 5, PATIENCE)
        pids = processes_of(head, joined)
        os.kill(head.process.pid, signal.SIGKILL)
        wait_for("the relay's word", lambda: "the command here goes on, and is not recorded any "
                 "more" in joined.text(), 10)
        assert "the head of the run, host a (10.77.0.1), is lost" in joined.text(), joined.text()
        joined.process.send_signal(signal.SIGINT)  # there is no head to ask
        assert joined.wait(60) != 0, joined.text()
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def test_a_host_that_falls_silent_is_named(lockstep):
    with Network(["a", "b"]) as network, Job(lockstep, network, LONG) as job:
        head = job.record()
        joined = job.join_job()
        wait_for("the first steps", lambda: job.steps() > 5, PATIENCE)
        job.hosts[1].cut()
        lost = "host b (10.77.0.2) with ranks 2, 3 is lost: nothing was heard from it for 15 s"
        wait_for("the loss", lambda: any(lost in problem for problem in job.problems()), 30)
        wait_for("the relay's word", lambda: "is lost: nothing was heard from it for 15 s"
                 in joined.text(), 10)
        job.stop()  # of the job itself nobody has decided that it is over
        assert head.wait(PATIENCE) != 0, head.text()


def test_a_wrong_token_is_refused_and_counted(lockstep):
    with Network(["a", "b"]) as network, Job(lockstep, network, STEPS) as job:
        head = job.record("10.77.0.1")
        wrong = os.path.join(job.folder, "wrong.token")
        with open(job.ticket(), encoding="ascii") as file:
            text = file.read().rstrip("\n")
        with open(wrong, "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text[:-1] + ("0" if text[-1] != "0" else "1") + "\n")
        refused = job.join_job("--wait", "1", token=wrong)
        assert refused.wait(20) == 7, refused.text()
        assert "the recorder refused the token, which is of another run" in refused.text()
        assert not told(refused), "the command was started"
        numbered = job.join_job("--node-rank", "1")
        assert numbered.wait(20) == 2, numbered.text()
        assert "--node-rank: is of ranks that lockstep run has started" in numbered.text()
        without = job.start("without", [lockstep, "join", "--token-file", job.ticket(),
                                        "--node-rank", "1"], job.hosts[1])
        assert without.wait(20) == 2, without.text()
        assert "the head refuses this relay: it was started without a command" in without.text()
        joined = job.join_job()
        assert head.wait(PATIENCE) == 0 and joined.wait(60) == 0, head.text() + joined.text()
        assert any("with a wrong token" in problem for problem in job.problems()), job.problems()


def test_a_launcher_starts_a_relay_a_rank(lockstep):
    if shutil.which("mpirun") is None:
        print("  no mpirun here")
        return
    with Run(lockstep) as run:
        as_rank = ("RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE "
                   f"exec {sys.executable} {JOB} 2 {STEPS} watch")
        head = run.start("head", [
            lockstep, "record", "--quiet", "--listen", "127.0.0.1", "--out", run.file, "--",
            "mpirun", "-np", "2", "--oversubscribe", "-x", "LOCKSTEP_RECORDER", "-x",
            "LOCKSTEP_RUN_TOKEN", lockstep, "join", "--", "sh", "-c", as_rank], environment={
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29512"})
        assert head.wait(PATIENCE) == 0, head.text()
        for rank in range(2):
            count = run.query(f"""select count(*) from spans_ns
                                  where kind = 'step' and rank = {rank}""")
            assert count == [(STEPS,)], (rank, count)
        assert not run.problems(), run.problems()


if __name__ == "__main__":
    main_of_tests(globals())
