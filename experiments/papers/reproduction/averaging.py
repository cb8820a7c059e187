"""Figures of methods that average less, later, or with fewer ranks at a time."""

import statistics

from reproduction.compression import ACCURACY, final_accuracy, final_loss
from reproduction.figure import Figure, Panel, point
from reproduction.measured import exact, median, ratio
from reproduction.points import Points
from reproduction.verdicts import Claim, Verdict, plain

STEP = "step, ms"
SENT = "sent a rank and step, MB"
DISTANCE = "distance of the replicas"
LOCAL = "local steps, kB a rank and step"
LEVEL = "allreduce"
AT_END = "at the end"


def distances(run):
    """(step, distance of the replicas to their mean, over all parameters), from fingerprints."""
    return [(int(row["step"]), float(row["consensus_distance"]))
            for row in run.table("divergence") if row["consensus_distance"]]


def gossip_series(run):
    every = run.get("hook.average_every", 0)
    mixed = run.get("hook.mix", "parameters")
    return f"{mixed}, averaged every {every}" if every else mixed


GOSSIP_NAMES = ("allreduce", "gradients", "gradients, averaged every 50", "parameters",
                "parameters, averaged every 50")


def take_gossip(runs):
    taken = []
    for run in runs["gossip"]:
        series = gossip_series(run)
        taken += [point(run, DISTANCE, series, step, exact(value))
                  for step, value in distances(run)]
        taken.append(point(run, ACCURACY, AT_END, GOSSIP_NAMES.index(series),
                           exact(final_accuracy(run))))
    exact_run = runs["gossip_allreduce"][0]
    taken.append(point(exact_run, ACCURACY, AT_END, 0, exact(final_accuracy(exact_run))))
    for run in runs["gossip_ranks"]:
        taken.append(point(run, STEP, run.get("hook.name", LEVEL), run.ranks,
                           median(run.step_ms())))
        taken.append(point(run, SENT, run.get("hook.name", LEVEL), run.ranks,
                           exact(run.bytes_a_step() / 1e6)))
    return Points(taken)


def early_and_late(curve):
    """The means of the second and of the last quarter of a curve, which tell whether it grows."""
    values = [value.value for _, value in curve]
    quarter = len(values) // 4
    return statistics.fmean(values[quarter:2 * quarter]), statistics.fmean(values[-quarter:])


def judge_gossip(points):
    drift = early_and_late(points.curve(DISTANCE, "gradients"))
    bound = early_and_late(points.curve(DISTANCE, "parameters"))
    sawtooth = [value.value for _, value in
                points.curve(DISTANCE, "gradients, averaged every 50")]
    level = points.at(ACCURACY, AT_END, 0).value
    mixed = {mix: points.at(ACCURACY, AT_END, GOSSIP_NAMES.index(mix)).value
             for mix in ("gradients", "parameters")}
    few, many = (ratio(points.curve(STEP, series)[-1][1], points.curve(STEP, series)[0][1])
                 for series in ("gossip", LEVEL))
    sent = points.curve(SENT, "gossip")
    return Verdict([
        Claim(drift[1] > 1.2 * drift[0], f"with mixed gradients the distance goes from "
                                         f"{drift[0]:.3g} to {drift[1]:.3g}"),
        Claim(bound[1] < 1.2 * bound[0] and bound[1] < drift[1] / 4,
              f"with mixed parameters it goes from {bound[0]:.3g} to {bound[1]:.3g}"),
        Claim(min(sawtooth) < max(sawtooth) / 20, "a full average brings it to "
                                                  f"{min(sawtooth):.2g}"),
        Claim(mixed["parameters"] > level - 2, f"accuracy with mixed parameters "
              f"{mixed['parameters']:.1f} %, with allreduce {level:.1f} %"),
        Claim(mixed["gradients"] > level - 2, f"accuracy with mixed gradients {mixed['gradients']:.1f} %",
              core=False),
        Claim(abs(sent[-1][1].value / sent[0][1].value - 1) < 0.05 and few.below(many),
              f"gossip sends {sent[0][1].value:.2f} MB on {sent[0][0]:g} ranks and "
              f"{sent[-1][1].value:.2f} MB on {sent[-1][0]:g}; a step of allreduce takes "
              f"{plain(many, digits=2)} times as long there"),
        Claim(few.value < 1.15, f"a step of gossip takes {plain(few, digits=2)} times as long on "
                                f"{sent[-1][0]:g} ranks as on {sent[0][0]:g}", core=False),
    ])


def take_local_sgd(runs):
    taken = []
    dense = runs["allreduce"][0]
    for run in runs["post_local_sgd"]:
        period, steps, start = run.get("hook.period"), run.info["steps"], run.get("hook.start")
        # What the synchronous steps of the start sent is known from synchronous SGD.
        local = (run.bytes_a_step() * steps - dense.bytes_a_step() * start) / (steps - start)
        taken += [point(run, LOCAL, "sent", period, exact(local / 1000)),
                  point(run, LOCAL, "synchronous / H", period,
                        exact(dense.bytes_a_step() / period / 1000)),
                  point(run, DISTANCE, "furthest", period,
                        exact(max(value for step, value in distances(run) if step >= start))),
                  point(run, ACCURACY, "post-local SGD", period, exact(final_accuracy(run))),
                  point(run, ACCURACY, "synchronous", period, exact(final_accuracy(dense)))]
    return Points(taken)


def judge_local_sgd(points):
    sent, expected = points.curve(LOCAL, "sent"), points.curve(LOCAL, "synchronous / H")
    off = max(abs(a.value / b.value - 1) for (_, a), (_, b) in zip(sent, expected))
    apart = points.curve(DISTANCE, "furthest")
    level = points.curve(ACCURACY, "synchronous")[0][1].value
    small = [(x, value.value) for x, value in points.curve(ACCURACY, "post-local SGD") if x <= 8]
    furthest = [value.value for _, value in apart]
    grows = all(a < b for a, b in zip(furthest, furthest[1:]))
    lowest = min(value for _, value in small)
    return Verdict([
        Claim(off < 0.1, f"bytes of local steps follow 1/H within {100 * off:.0f} %"),
        Claim(grows, f"replicas are apart by {apart[0][1].value:.2g} at most with H = "
                     f"{apart[0][0]:g}, by {apart[-1][1].value:.2g} with H = {apart[-1][0]:g}"),
        Claim(lowest > level - 2, f"up to H = {small[-1][0]:g} accuracy is {lowest:.1f} % or more, "
                                  f"synchronous {level:.1f} %"),
    ])


PLAIN, DELAYED = "plain", "delayed by a step"
LEARNT = "loss of the last 50 steps "


def delay_series(run):
    return DELAYED if run.get("hook.delay", 1) else PLAIN


def take_delayed(runs):
    taken = [point(run, STEP, delay_series(run), run.get("link.bandwidth_gbps"),
                   median(run.step_ms())) for run in runs["delayed"]]
    taken += [point(run, LEARNT, delay_series(run), run.get("optimizer.learning_rate"),
                    final_loss(run)) for run in runs["delayed_learning_rate"]]
    return Points(taken)


def largest_that_learns(curve):
    """The largest learning rate below which, too, all learnt: at most twice the lowest loss, or
    half of what guessing gives."""
    limit = max(2 * min(value.value for _, value in curve), 1.15)
    fine = 0
    for rate, value in curve:
        if not value.value <= limit:
            break
        fine = rate
    return fine


def judge_delayed(points):
    plain_steps, delayed_steps = points.curve(STEP, PLAIN), points.curve(STEP, DELAYED)
    floor = delayed_steps[-1][1]
    # Where plain communication outlasts the backward, and the delayed one still fits a step.
    hidden = [(x, before, after) for (x, before), (_, after) in zip(plain_steps, delayed_steps)
              if after.below(before) and after.value < 1.1 * floor.value]
    slowest = delayed_steps[0][1]
    rates = [largest_that_learns(points.curve(LEARNT, series)) for series in (PLAIN, DELAYED)]
    seen = "; ".join(f"at {x:g} Gbit/s a step of {plain(after, 'ms')} instead of "
                     f"{plain(before, 'ms')}" for x, before, after in hidden)
    return Verdict([
        Claim(bool(hidden), "with the delay communication is hidden " + seen if hidden else
              "at no link communication is hidden by the delay alone"),
        Claim(slowest.value > 1.1 * floor.value,
              f"at {delayed_steps[0][0]:g} Gbit/s, where it takes longer than a step, a step of "
              f"{plain(slowest, 'ms')}"),
        Claim(0 < rates[1] < rates[0], f"it learns up to a learning rate of {rates[1]:g}, plain "
                                       f"up to {rates[0]:g}"),
    ])


WAITING = "waiting of the other ranks, ms"
BY_CHANCE = "step with all ranks late by chance, ms"
ON_TIME, CHANCE = 0.0, 1.0
LATE = 1  # the rank that straggler.toml holds up


def blocks(run):
    """(delay in ms, first step, step after the last) of the delays of the late rank."""
    delays = sorted((fault["from"], fault["to"] + 1, fault["milliseconds"])
                    for fault in run.get("faults"))
    return [(0, 0, delays[0][0])] + [(ms, first, end) for first, end, ms in delays]


def waited(run, first, end):
    per_step = {}
    for row in run.table("overlap"):
        if int(row["rank"]) != LATE and first <= int(row["step"]) < end and row["waiting_ms"]:
            per_step.setdefault(int(row["step"]), []).append(float(row["waiting_ms"]))
    return median([statistics.fmean(values) for values in per_step.values()])


def take_straggler(runs):
    taken = []
    for run in runs["straggler"]:
        series = run.get("hook.name", LEVEL)
        for ms, first, end in blocks(run):
            settled = first + 2  # the first steps of a block still have the last one's pace
            steps = median(run.step_ms(settled, end))
            taken.append(point(run, STEP, series, ms, steps))
            if ms == 0:
                taken.append(point(run, BY_CHANCE, series, ON_TIME, steps))
            if series == LEVEL:
                taken.append(point(run, WAITING, series, ms, waited(run, settled, end)))
    for run in runs["straggler_everywhere"]:
        taken.append(point(run, BY_CHANCE, run.get("hook.name", LEVEL), CHANCE,
                           median(run.step_ms())))
    return Points(taken)


def lost_by_chance(points, series):
    return points.at(BY_CHANCE, series, CHANCE) - points.at(BY_CHANCE, series, ON_TIME)


def judge_straggler(points):
    steps, waits = points.curve(STEP, LEVEL), points.curve(WAITING, LEVEL)
    late = steps[-1][0]
    longer = steps[-1][1] - steps[0][1]
    waiting = waits[-1][1] - waits[0][1]
    everyone, partner = (lost_by_chance(points, series) for series in (LEVEL, "gossip"))
    return Verdict([
        Claim(abs(longer.value / late - 1) < 0.2,
              f"with one rank {late:g} ms late all take {plain(longer, 'ms')} longer"),
        Claim(abs(waiting.value / late - 1) < 0.25,
              f"the others wait {plain(waiting, 'ms')} more"),
        Claim(partner.below(everyone),
              f"when all are late by chance a step of gossip gets {plain(partner, 'ms')} longer, "
              f"of allreduce {plain(everyone, 'ms')}", core=False),
    ])


FIGURES = [
    Figure("straggler", "Daily et al., GossipGraD, 2018, and all synchronous training",
           "a step takes as long as the slowest rank and the others wait for it; gossip absorbs "
           "part of delays that come by chance",
           ("straggler", "straggler_everywhere"),
           (Panel(STEP, "delay of one rank, ms"), Panel(WAITING, "delay of one rank, ms"),
            Panel(BY_CHANCE, "", names={ON_TIME: "on time", CHANCE: "0 to 40 ms late"})),
           take_straggler, judge_straggler),
    Figure("post_local_sgd", "Lin et al., Don't Use Large Mini-Batches, Use Local SGD, ICLR 2020",
           "bytes fall as 1/H, replicas drift apart the more between two averages, and accuracy "
           "hardly notices a small H",
           ("post_local_sgd", "../hooks/convergence/allreduce"),
           (Panel(LOCAL, "H", scale="log"), Panel(DISTANCE, "H", scale="symlog"),
            Panel(ACCURACY, "H")), take_local_sgd, judge_local_sgd),
    Figure("gossip", "Daily et al., GossipGraD, 2018",
           "accuracy stays near that of allreduce and a step costs the same on any number of "
           "ranks; replicas whose gradients are mixed drift apart, those whose parameters are do not",
           ("gossip", "gossip_allreduce", "gossip_ranks"),
           (Panel(DISTANCE, "step", numbers=True, scale="symlog"),
            Panel(ACCURACY, "mixed", names=dict(enumerate(
                ("all", "g", "g, avg", "p", "p, avg")))),
            Panel(STEP, "ranks"), Panel(SENT, "ranks")), take_gossip, judge_gossip),
    Figure("delayed", "Ho et al., Stale Synchronous Parallel, NIPS 2013",
           "an allreduce that may take a whole step is not seen until it takes longer; old "
           "gradients need a smaller learning rate",
           ("delayed", "delayed_learning_rate"),
           (Panel(STEP, "link, Gbit/s"), Panel(LEARNT, "learning rate", scale="log")),
           take_delayed, judge_delayed),
]
