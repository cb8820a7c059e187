"""What the observer takes of a job of PyTorch: steps with it and without, in turns."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from contestants import Contestant, alternate
from figures import ask, compared, interval, mean_step

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHON = os.environ.get("LOCKSTEP_PYTORCH", "/usr/bin/python3")

PLAIN = "without"
AGAIN = "without, again"
OBSERVED = "with the observer"

# name: rounds, steps a turn, most that the upper end of the processor time's ratio may be
CASES = {"mlp": (40, 4, 1.01), "layers": (40, 8, 1.02)}
STEP_LIMIT = 1.03
WARM_UP_STEPS = 3

# What the command of `lockstep record` tells, so that processes beside it can attach.
HOLDER = ("import json, os, signal; print(json.dumps({key: os.environ[key] for key in "
          "('LOCKSTEP_ATTACH', 'PYTHONPATH')}), flush=True); signal.pause()")


@contextlib.contextmanager
def recorder(options):
    """A recorder that waits for processes to attach, and the variables they find it by."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [options.bin / "lockstep", "record", "--quiet", "--out", f"{folder}/run.lockstep", "--",
             PYTHON, "-c", HOLDER], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            line = process.stdout.readline()
            if not line:
                sys.exit("bench: lockstep record did not start")
            yield json.loads(line)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
            process.stdout.close()


def measured(contestant, steps):
    answers = contestant.turn(steps)
    return mean_step(answers), sum(answer["processor_ms"] for answer in answers)


def observer(case):
    rounds, steps, limit = CASES[case]
    name = f"observer.{case}"

    def measure(options):
        with contextlib.ExitStack() as stack:
            found = stack.enter_context(recorder(options))
            command = [PYTHON, FOLDER / "observer_peer.py", case]
            sides = {label: stack.enter_context(Contestant(label, command, 2, (
                found if label == OBSERVED else {"PYTHONPATH": found["PYTHONPATH"]})))
                for label in (PLAIN, AGAIN, OBSERVED)}
            for label, side in sides.items():
                if any(ready["observed"] != (label == OBSERVED) for ready in side.ready):
                    sys.exit(f"bench: {label}: it is observed, or not, against what is measured")
                buckets = side.turn(WARM_UP_STEPS)[0]["buckets"]
            both = alternate(sides, options.rounds or rounds,
                             lambda label: measured(sides[label], options.steps or steps))
        return [result_of(f"{name}.{what}", f"{title}, {case}, {buckets} buckets, 2 ranks",
                          {label: [pair[at] for pair in pairs] for label, pairs in both.items()}, most)
                for at, (what, title, most) in enumerate((
                    ("step", "step of a PyTorch job, observed", STEP_LIMIT),
                    ("processor", "processor time of a step, both ranks, observed", limit)))]

    measure.__doc__ = (f"Steps of a PyTorch job ({case}), 2 ranks over Gloo, under lockstep record "
                       "and alone.")
    return name, measure


def result_of(name, title, times, most):
    """Its ratio is that of the observed time to the other."""
    result = compared(name, title, times, PLAIN, OBSERVED)
    noise = [again / plain for again, plain in zip(times[AGAIN], times[PLAIN])]
    low, high = interval(noise)
    result["lines"] = [f"the same without, to itself: [{low:.3f}, {high:.3f}]"]
    ask(result, "upper end of the ratio's interval", result["interval"][1], "", most)
    return result


BENCHMARKS = dict(observer(case) for case in CASES)
