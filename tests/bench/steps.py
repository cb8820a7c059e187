"""A training step with DDP: ours over each backend, PyTorch's, and both without communication."""

import contextlib
import pathlib
import statistics

from backends import backends
from contestants import Contestant, alternate
from figures import ask, compared, gap, interval, mean_step, median_step, paired

PEER = ["/usr/bin/python3", pathlib.Path(__file__).resolve().parent / "ddp_step_peer.py"]

OURS_ALONE = "Lockstep, no communication"
PEER_ALONE = "PyTorch, no communication"
PEER_DDP = "PyTorch DDP"
VIEW = ", view"

WARM_UP_STEPS = 3  # PyTorch and we rebuild the buckets after the first

# name: model, batch, rounds, steps a turn
CASES = {"mlp": ("mlp", 64, 30, 8), "resnet18": ("resnet18", 32, 12, 2),
         "char_gpt_b4": ("char_gpt", 4, 30, 16), "char_gpt_b16": ("char_gpt", 16, 30, 6)}

# What is asked of the shared memory: how many times faster than PyTorch's DDP as it comes, that is
# with gradients beside the buckets, and which part of the gap between the faster of its settings
# and no communication is closed.
SPEED_UP = {("mlp", 2): 1.5, ("mlp", 4): 1.5}
GAP_CLOSED = {("mlp", 2): 75}
GAP_CLOSED_OTHERWISE = 60  # of resnet18 and char_gpt


def check_same_work(contestants):
    """All have computed the loss of the same weights and data before the first step."""
    losses = {name: ready["loss"] for name, contestant in contestants.items()
              for ready in contestant.ready}
    first = next(iter(losses.values()))
    for name, loss in losses.items():
        if abs(loss - first) > 1e-4 * abs(first):
            raise SystemExit(f"bench: {name} trains something else: its first loss is {loss}, "
                             f"not {first}")


def contestants_of(options, model, batch, ranks, stack):
    words = [model, str(batch)]
    ours = [options.bin / "bench_ddp_step", *words]
    commands = {OURS_ALONE: [*ours, "none", "--record"]}
    for name in backends(options):
        commands[f"Lockstep {name}"] = [*ours, name, "--record"]
        commands[f"Lockstep {name}{VIEW}"] = [*ours, name, "--record", "--view"]
    commands |= {PEER_ALONE: [*PEER, *words, "none"], PEER_DDP: [*PEER, *words, "ddp"],
                 PEER_DDP + VIEW: [*PEER, *words, "ddp", "--view"]}
    contestants = {name: stack.enter_context(Contestant(name, command, ranks))
                   for name, command in commands.items()}
    check_same_work(contestants)
    return contestants


def faster(times, label):
    """With the buckets as gradients or without, whichever takes less."""
    return min((label, label + VIEW), key=lambda one: statistics.median(times[one]))


def lines_of(times):
    """What each side takes, and what it takes beyond its own step without communication."""
    lines = []
    for label, values in times.items():
        low, high = interval(values)
        alone = times[PEER_ALONE if label.startswith("PyTorch") else OURS_ALONE]
        beyond = statistics.median(values) - statistics.median(alone)
        more = f", {beyond:+8.3f} ms beyond no communication" if values is not alone else ""
        lines.append(f"{label:32} {statistics.median(values):9.3f} ms [{low:.3f}, {high:.3f}]"
                     + more)
    frameworks = statistics.median(times[PEER_ALONE]) / statistics.median(times[OURS_ALONE])
    return [*lines, f"without communication, PyTorch takes {frameworks:.3f} times as long"]


def step_results(name, case, ranks, times, backend):
    """The backend that stands for us against PyTorch's DDP, each with its better setting, and
    Gloo against Gloo with the same setting."""
    model, batch, _, _ = CASES[case]
    title = f"DDP step, {model}, batch {batch}, {ranks} ranks"
    ours, peer = faster(times, f"Lockstep {backend}"), faster(times, PEER_DDP)
    result = compared(name, title, times, ours, peer, OURS_ALONE)
    closed, spread = gap(times[ours], times[peer], times[OURS_ALONE])
    result |= {"gap_closed": closed, "gap_interval": spread, "lines": lines_of(times)}
    if spread is not None and closed is not None:
        result["lines"].append(f"gap to no communication closed: {100 * closed:.0f} % "
                               f"[{100 * spread[0]:.0f}, {100 * spread[1]:.0f}]")
    if backend == "shared_memory":
        speed_up = SPEED_UP.get((case, ranks))
        if speed_up is not None:
            plain = paired(name, times[ours], times[PEER_DDP])
            ask(result, "times faster than PyTorch's DDP as it comes", plain["ratio"], "", speed_up,
                True)
        else:
            ask(result, "upper end of the ratio's interval", result["interval"][1], "", 1, True)
        if case != "mlp" or (case, ranks) in GAP_CLOSED:
            ask(result, "gap to no communication closed",
                None if closed is None else 100 * closed, "%",
                GAP_CLOSED.get((case, ranks), GAP_CLOSED_OTHERWISE), True)
    results = [result]
    for setting in ("", VIEW) if "Lockstep gloo" in times else ():
        same = compared(f"{name}.gloo{setting.replace(', ', '_')}",
                        f"{title}, Gloo against Gloo{setting}", times, "Lockstep gloo" + setting,
                        PEER_DDP + setting, OURS_ALONE)
        del same["sides"]  # those of the first result
        ask(same, "upper end of the ratio's interval", same["interval"][1], "", 1, True)
        results.append(same)
    return results


def ddp_step(case, ranks):
    """The benchmark of one model on so many ranks."""
    model, batch, rounds, steps = CASES[case]
    name = f"ddp_step.{case}.{ranks}"

    def measure(options):
        with contextlib.ExitStack() as stack:
            contestants = contestants_of(options, model, batch, ranks, stack)
            for contestant in contestants.values():
                contestant.turn(WARM_UP_STEPS)
            times = alternate(contestants, options.rounds or rounds,
                              lambda side: mean_step(contestants[side].turn(options.steps
                                                                            or steps)))
        return step_results(name, case, ranks, times, backends(options)[-1])

    measure.__doc__ = (f"A DDP step of {model}, batch {batch}, {ranks} ranks, against PyTorch's "
                       "DDP over Gloo and against no communication.")
    return name, measure


def tracing(options):
    """A step of mlp over Gloo, 2 ranks, with capture on and off in turns, a recorder draining to a
    file beside it: what an event takes, and all events of a step."""
    command = [options.bin / "bench_ddp_step", "mlp", "64", "gloo", "--record"]
    with Contestant("lockstep", command) as ours:
        ours.turn(WARM_UP_STEPS)
        answers = {"capture-on": [], "capture-off": []}

        def turn(word):
            answers[word].append(ours.turn(options.steps or 8, word))
            return median_step(answers[word][-1])
        times = alternate(answers, options.rounds or 30, turn)
    captured = [answer for turn in answers["capture-on"] for answer in turn]
    events = statistics.median(answer["events_per_step"] for answer in captured)
    event_ns = statistics.median(answer["event_ns"] for answer in captured)
    result = compared("tracing", "step with its events captured, against without", times,
                      "capture-on", "capture-off")
    share = 100 * events * event_ns / (result["peer"] * 1e6)
    result |= {"events_per_step": events, "event_ns": event_ns, "share_of_step_percent": share,
               "dropped": sum(answer["dropped"] for answer in answers["capture-on"][-1])}
    result["lines"] = [f"{events:.0f} events a step, {result['dropped']} dropped"]
    ask(result, "one event", event_ns, "ns", 20)
    ask(result, "events of a step, of the step", share, "%", 0.1)
    return result


BENCHMARKS = {**dict(ddp_step(case, ranks) for case in CASES for ranks in (2, 4)),
              "tracing": tracing}
