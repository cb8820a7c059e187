"""What the observer takes of a job of PyTorch: steps with it and without, in turns."""

import contextlib
import itertools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

from contestants import Contestant, alternate
from figures import ask, compared, resampled

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHON = os.environ.get("LOCKSTEP_PYTORCH", "/usr/bin/python3")

PLAIN = "without"
AGAIN = "without_again"
OBSERVED = "observed"
SIDES = (PLAIN, AGAIN, OBSERVED)

# name: rounds, steps a round, most that the upper end of the processor time's ratio may be
CASES = {"mlp": (240, 4, 1.01), "layers": (240, 8, 1.02)}
STEP_LIMIT = 1.03
WARM_UP_STEPS = 3
# Two processes of one program differ by some percent for as long as they live, by where their memory
# came to lie. So the sides are the same processes, with what the observer put into them and without,
# where it can be taken out; and after so many rounds all are started anew. There the sides take
# turns step by step, each behind one of its side that does not count, so that what else the machine
# does, the recorder's work included, falls on all of them alike. Processes of their own, before
# PyTorch 2.14, take turns round by round.
ROUNDS_A_START = 12
LEAD_IN_STEPS = 2  # of such a turn: what the recorder has still to do of the turn before is in them

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


def observer(case):
    rounds, steps, limit = CASES[case]
    name = f"observer.{case}"

    def measure(options):
        command = [PYTHON, FOLDER / "observer_peer.py", case]
        both = {label: [] for label in (PLAIN, AGAIN, OBSERVED)}
        left = options.rounds or rounds
        while left > 0:
            turns = min(left, ROUNDS_A_START)
            buckets, values = start(options, command, turns, options.steps or steps)
            for label, rows in values.items():
                both[label].append(rows)
            left -= turns
        return [result_of(f"{name}.{what}", f"{title}, {case}, {buckets} buckets, 2 ranks",
                          {label: [[pair[at] for pair in rows] for rows in starts]
                           for label, starts in both.items()}, most)
                for at, (what, title, most) in enumerate((
                    ("step", "step of a PyTorch job, observed", STEP_LIMIT),
                    ("processor", "processor time of a step, both ranks, observed", limit)))]

    measure.__doc__ = (f"Steps of a PyTorch job ({case}), 2 ranks over Gloo, under lockstep record "
                       "and alone.")
    return name, measure


def sides_of(stack, options, command, ranks):
    """Processes by side: the same for all of them, or others for each."""
    found = stack.enter_context(recorder(options))
    observed = stack.enter_context(Contestant(OBSERVED, command, ranks, found))
    if not all(ready["observed"] for ready in observed.ready):
        sys.exit(f"bench: {OBSERVED}: it is not")
    if all(ready["can_be_put_out"] for ready in observed.ready):
        return dict.fromkeys(SIDES, observed)
    plain = {label: stack.enter_context(Contestant(label, command, ranks, {
        "PYTHONPATH": found["PYTHONPATH"]})) for label in (PLAIN, AGAIN)}
    if any(ready["observed"] for contestant in plain.values() for ready in contestant.ready):
        sys.exit(f"bench: {PLAIN}: it is observed")
    return {**plain, OBSERVED: observed}


def start(options, command, rounds, steps):
    """Starts the sides, and returns the number of buckets and what each side's rounds took."""
    with contextlib.ExitStack() as stack:
        sides = sides_of(stack, options, command, 2)
        return warm_up(sides), rounds_of(sides, rounds, steps)


def warm_up(sides):
    """Returns the number of buckets."""
    return [contestant.turn(WARM_UP_STEPS, OBSERVED)[0]["buckets"]
            for contestant in set(sides.values())][0]


def rounds_of(sides, rounds, steps):
    """By side, pairs: the time of a step, and what it took of the processor in all ranks."""
    if len(set(sides.values())) == 1:
        answers = sides[OBSERVED].turn(rounds * steps, *SIDES)
        return {side: list(zip(mean(answers, side, "step_ms"), total(answers, side, "processor_ms")))
                for side in SIDES}

    def turn(side):
        sides[side].turn(LEAD_IN_STEPS, side)
        answers = sides[side].turn(steps, side)
        return tuple(statistics.fmean(values) for values in (
            mean(answers, side, "step_ms"), total(answers, side, "processor_ms")))

    return alternate(sides, rounds, turn)


def total(answers, side, what):
    """Of each step, over all ranks."""
    return [sum(values) for values in zip(*(answer[what][side] for answer in answers))]


def mean(answers, side, what):
    return [value / len(answers) for value in total(answers, side, what)]


def over_starts(ratios):
    """The 95 % interval of the median of ratios, a list a start: resampled by starts."""
    return resampled(lambda starts: statistics.median(itertools.chain(*starts)), ratios)


def result_of(name, title, times, most):
    """Of lists of times, one a start. Its ratio is that of the observed time to what is without."""
    plain, again, observed = (times[label] for label in (PLAIN, AGAIN, OBSERVED))
    result = compared(name, title, {label: list(itertools.chain(*starts))
                                    for label, starts in times.items()}, PLAIN, OBSERVED)
    both = [[2 * o / (p + a) for o, p, a in zip(*starts)] for starts in zip(observed, plain, again)]
    noise = [[a / p for a, p in zip(*starts)] for starts in zip(again, plain)]
    low, high = over_starts(noise)
    result |= {"ratio": statistics.median(itertools.chain(*both)), "interval": over_starts(both),
               "lines": [f"both that are without are the measure, in {len(both)} starts; one of them "
                         f"to the other: [{low:.3f}, {high:.3f}]"]}
    ask(result, "upper end of the ratio's interval", result["interval"][1], "", most)
    return result


BENCHMARKS = dict(observer(case) for case in CASES)
