"""A job without PyTorch: processes that attach to the recorder and write iterations.

Usage: fake_job.py WORLD STEPS [RANK:WHAT ...]

WHAT: throw, kill or exit at the end of the steps; stay, until it is interrupted; world, which says
another world size; trace, which ends once it was asked for a trace and the file FAKE_UNTIL, if one
is named, is there; twice, which says the rank before; again, which starts the rank anew behind it;
flood, which prints 5 MB; outlive, for which nobody waits once it has written its iterations;
elsewhere, which is not started here; suspend, which stops itself (SIGSTOP), hang, which stays in the
data of its next iteration, and forward, which does in its forward: they are killed at the end, the
one that is stopped after two seconds more, as torchrun does after thirty; wait, which fails in the
forward of its next iteration as one that waited for another in vain.
Prints "steps of rank R: FIRST..LAST" for each. The exit code is that of the first rank that has one.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

STEP, DATA, FORWARD = 10, 11, 12
HANGS = signal.SIGUSR1  # to the job, from the process that does


def rank_main(rank, world, steps, what):
    from lockstep import _ending, _recorder

    claimed = rank - 1 if what == "twice" else rank
    try:
        recorder = _recorder.Recorder(claimed, world + 1 if what == "world" else world)
    except _recorder.Refused as error:
        print(f"rank {rank} refused: {error}", flush=True)
        return 0
    _ending.install(recorder)
    memory = recorder.memory
    lane = memory.lane("step")
    recorder.send("environment", values={"torch": "none"})
    first = recorder.first_step
    for step in range(first, first + steps):
        start = memory.enter(FORWARD, step)
        memory.ends(lane, FORWARD, start, step)
        memory.ends(lane, STEP, start, step)
    print(f"steps of rank {rank}: {first}..{first + steps - 1}", flush=True)
    if what == "throw":
        raise ValueError("boom")
    if what in ("hang", "forward"):
        memory.enter(DATA if what == "hang" else FORWARD, first + steps)
        os.kill(os.getppid(), HANGS)
        signal.pause()
    if what == "wait":
        memory.enter(FORWARD, first + steps)
        raise RuntimeError("Timed out waiting 1000ms for recv operation to complete")
    if what == "suspend":
        os.kill(os.getpid(), signal.SIGSTOP)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit":
        os._exit(0)
    if what == "flood":
        print(("x" * 99 + "\n") * 50_000, flush=True)
    if what in ("stay", "twice"):
        signal.pause()
    if what == "trace":
        deadline = time.monotonic() + 30
        until = os.environ.get("FAKE_UNTIL")
        while (not memory.trace_requested() or (until and not os.path.exists(until))) and \
                time.monotonic() < deadline:
            time.sleep(0.005)
        print(f"rank {rank} traces {memory.trace_requested() & 0xFFFF} iterations", flush=True)
        memory.trace_done(memory.trace_requested())
    if what == "outlive":
        time.sleep(30)
    return 0


def main():
    world, steps = int(sys.argv[1]), int(sys.argv[2])
    whats = dict(argument.split(":") for argument in sys.argv[3:])
    if "FAKE_RANK" in os.environ:
        rank = int(os.environ["FAKE_RANK"])
        return rank_main(rank, world, steps, whats.get(str(rank)))
    code = 0
    traced = []
    standing = []
    stopped = []
    signal.pthread_sigmask(signal.SIG_BLOCK, [HANGS])
    for rank in range(world):
        what = whats.get(str(rank))
        for _ in range({"again": 2, "elsewhere": 0}.get(what, 1)):
            worker = subprocess.Popen([sys.executable, *sys.argv],
                                      env=dict(os.environ, FAKE_RANK=str(rank)),
                                      stdout=subprocess.PIPE if what == "outlive" else None,
                                      start_new_session=what == "outlive")
            if what == "trace":
                traced.append(worker)
            if what == "suspend":
                stopped.append(worker)
                os.waitid(os.P_PID, worker.pid, os.WSTOPPED)
            elif what in ("hang", "forward"):
                standing.append(worker)
                signal.sigwait([HANGS])
            elif what == "outlive":
                print(worker.stdout.readline().decode(), end="", flush=True)
            elif what not in ("stay", "twice", "trace"):
                worker.wait()
            code = code or abs(worker.returncode or 0)
    for worker in stopped:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(2)
    for worker in stopped + standing:
        worker.kill()
    for worker in traced + stopped + standing:
        code = code or abs(worker.wait())
    for rank, what in whats.items():
        if what == "stay":
            try:
                signal.pause()
            except KeyboardInterrupt:
                return 130
    return code


sys.exit(main())
