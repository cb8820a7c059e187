"""A job of many hosts: ranks that only emit, by relays in network namespaces."""

import contextlib
import pathlib
import sqlite3
import sys
import time

from figures import ask
from load import Load
from studio import cpu_seconds

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "app/cluster"))
from cluster import Network, Run, Skipped  # noqa: E402

RANKS = 512
HOSTS = 8
EVENTS_PER_S = 102_400  # of all
SECONDS = 20
START_S = 60  # for all ranks to have begun: one that begins later has to catch up
WARM_UP_S = 2
RING_EVENTS = 4096
EVERY_RANK = "SELECT count(*) FROM (SELECT rank FROM tracks GROUP BY rank)"


def record(options, network, stack):
    """One run: spans recorded, ranks with a track, hosts with ranks, events dropped, and what the
    head and all relays took of a core, in percent."""
    load = Load(SECONDS, START_S, RANKS, EVENTS_PER_S, wake_ms=20)
    environment = load.environment(options)
    run = stack.enter_context(Run(str(options.bin / "lockstep"), network.hosts[0], world=RANKS,
                                  steps=1_000_000,
                                  more=f"[capture]\nring_events = {RING_EVENTS}\n"))
    head = run.head("--quiet", "--launcher", "external", "--nnodes", str(HOSTS),
                    "--nproc-per-node", str(RANKS // HOSTS), environment=environment)
    joined = [run.join(node, host, environment=environment)
              for node, host in enumerate(network.hosts)]
    programs = [head.process, *(relay.process for relay in joined)]
    load.sleep_until(WARM_UP_S)
    before, since = [cpu_seconds(one) for one in programs], time.monotonic()
    load.sleep_until(SECONDS - 1)
    took = [100 * (cpu_seconds(one) - earlier) / (time.monotonic() - since)
            for one, earlier in zip(programs, before)]
    if head.wait(120) != 0:
        sys.exit(f"bench: the run of {RANKS} generators failed: {head.text()}")
    with sqlite3.connect(run.file) as file:
        one = lambda text: file.execute(text).fetchone()[0]  # noqa: E731
        return (one("SELECT count(*) FROM spans"), one(EVERY_RANK),
                one("SELECT count(DISTINCT host) FROM ranks"),
                one("SELECT sum(events_dropped) FROM ranks"), took[0], sum(took[1:]))


def relays(options):
    """512 processes that only emit, 200 events a second each, on 8 hosts made of network
    namespaces, each with one relay: events dropped, and what head and relays take of a core. Where
    no namespaces can be made it says so, and nothing is measured."""
    result = {"name": "relays", "title": f"head of {RANKS} ranks by {HOSTS} relays, of a core",
              "unit": "%", "ours": None, "ours_name": "lockstep run", "interval": None, "rounds": 1}
    try:
        with contextlib.ExitStack() as stack:
            network = stack.enter_context(Network([f"n{number}" for number in range(HOSTS)]))
            spans, ranks, hosts, dropped, head, all_relays = record(options, network, stack)
    except Skipped as skipped:
        result["lines"] = [f"not measured: {skipped.why}"]
        return result
    result["ours"] = head
    ask(result, "ranks recorded", ranks, "", RANKS, True)
    ask(result, "hosts they are on", hosts, "", HOSTS, True)
    ask(result, "spans recorded a second", spans / SECONDS, "", 0.95 * EVENTS_PER_S, True)
    ask(result, "events dropped", dropped, "", 0)
    result["lines"].append(f"the head took {head:.0f} % of a core, all relays {all_relays:.0f} %")
    return result


BENCHMARKS = {"relays": relays}
