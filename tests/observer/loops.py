"""Cases of observe.py about jobs without DistributedDataParallel (loop.py)."""

import pathlib
import sys

import recorded
from recorded import STEPS, Recorded, alone, check

LOOP = pathlib.Path(__file__).resolve().with_name("loop.py")


def loop(options, world, *ways, **more):
    return Recorded(options, world, *ways, job=LOOP, **more)


def counts(run_, rank, *kinds):
    return [run_.rows("SELECT count(*) FROM spans_ns WHERE rank = ? AND kind = ?", rank, kind)[0][0]
            for kind in kinds]


def check_iterations(run_, world):
    for rank in range(world):
        found = counts(run_, rank, "step", "forward", "backward", "optimizer")
        check(found == [STEPS] * 4, f"rank {rank}: {found} iterations and phases")
        losses = [value for value, in run_.rows(
            "SELECT value FROM metrics WHERE name = 'loss' AND rank = ? ORDER BY step", rank)]
        told = run_.ranks[rank]["losses"]
        check(losses == told, f"rank {rank}: losses {losses}, and it had {told}")


def case_plain(options):
    """A script that averages its gradients itself."""
    run_ = loop(options, 2).good().same_as(alone(2, job=LOOP))
    check_iterations(run_, 2)
    check("has no buckets" in run_.facts(0, "no_buckets")[""], "why there are no buckets")
    sent = run_.rows("SELECT count(*) FROM collectives WHERE operation = 'allreduce' AND rank = 1")
    check(sent == [(6 * STEPS,)], sent)
    said = [] if recorded.sees_all() else [
        "of the collectives of its process groups this PyTorch shows those that Python asks for; from "
        "2.14 on all are seen"]
    check(run_.problems() == said, run_.problems())


def case_alone(options):
    """A script without torch.distributed is a job of one rank."""
    run_ = loop(options, 1, "alone").good().same_as(alone(1, "alone", job=LOOP))
    check_iterations(run_, 1)


def case_phases(options):
    """The script's own names, nested; two names are kinds of their own."""
    run_ = loop(options, 2, "phases").good().same_as(alone(2, job=LOOP))
    phases = run_.phases(1)
    check([name for name, _, _ in phases] == ["tokenise ü", "pad"] * STEPS, phases)
    for outer, inner in zip(phases[::2], phases[1::2]):
        check(outer[1] <= inner[1] and inner[2] <= outer[2] and inner[2] - inner[1] >= 1_000_000,
              (outer, inner))
    check(counts(run_, 0, "checkpoint") == [STEPS], "checkpoints")


def case_groups(options):
    """Each group has a number, a name and its collectives; hooks on them survive the end."""
    for attach in ("watch", "auto"):
        run_ = loop(options, 2, "groups", "leave", attach=attach).good()
        run_.same_as(alone(2, "groups", job=LOOP))
        check(run_.facts(1, "group.") == {
            "0": "default_pg", **{str(n): "undefined: ranks 0, 1" for n in range(1, 5)}},
            run_.facts(1, "group."))
        sent = dict(run_.rows("SELECT group_number, count(*) FROM collectives WHERE rank = 1 AND "
                              "operation = 'allreduce' GROUP BY 1"))
        check(sent == {0: 6 * STEPS, **{n: STEPS for n in range(1, 5)}}, sent)
        check(counts(run_, 0, "step", "optimizer") == [STEPS] * 2, "iterations")


def case_subgroups_leave(options):
    """Twenty jobs with four subgroups that leave without destroy_process_group."""
    codes, by_itself = [], 0
    while len(codes) < 20:
        done = loop(options, 2, "groups", "leave").done
        # PyTorch ends one in twenty of these jobs so when nobody looks on, and 2.15 one in eight (6 of
        # 45, and 4 of 45 under record): a thread of Gloo's is still joinable as the interpreter ends.
        if done.returncode != 0 and by_itself < 8 and \
                "terminate called without an active exception" in done.stderr:
            by_itself += 1
            continue
        codes.append(done.returncode)
    check(codes == [0] * 20, codes)


def case_sharded(options):
    """fully_shard: its all-gathers and reduce-scatters stand in phases named by module."""
    done, by_itself = recorded.run([sys.executable, LOOP, 2, STEPS, "sharded"], JOB_LEAVES_AT_ONCE="1")
    if done.returncode != 0:  # before 2.7 it wants a GPU, or is not there
        raise recorded.Impossible(f"fully_shard fails: {done.stderr.strip().splitlines()[-1]}")
    run_ = loop(options, 2, "sharded").good().same_as(by_itself)
    check_iterations(run_, 2)
    phases = run_.phases(0)
    names = {name for name, _, _ in phases}
    check({f"{what} {unit}" for what in ("all-gather of", "wait for", "reduce-scatter of")
           for unit in ("0", "1", "the root")} <= names, names)
    for operation, what in (("allgather", "all-gather of"), ("reduce_scatter", "reduce-scatter of")):
        calls = run_.rows(
            "SELECT start_ns FROM spans_ns WHERE rank = 0 AND kind = 'collective_queued' AND "
            "(detail & 255) = (SELECT operation FROM operations WHERE name = ?)", operation)
        check(len(calls) >= 3 * STEPS, f"{len(calls)} of {operation}")
        for at, in calls:
            check(any(name.startswith(what) and start <= at <= end for name, start, end in phases),
                  f"{operation} of no module")
    check(run_.facts(0, "no_buckets")[""] == (
        "the model of this job is no DistributedDataParallel (fully sharded, 3 units): it has no "
        "buckets"), run_.facts(0, "no_buckets"))


def case_stall(options):
    """A rank that does not go on says where it is."""
    run_ = loop(options, 2, "stall", LOCKSTEP_STALL_SECONDS="1").good()
    said = [(rank, text) for rank, text in run_.rows("SELECT rank, text FROM problems")]
    mine = [text for rank, text in said if rank == 1]
    check(len(mine) == 1 and "has ended for 1 s and more; the rank is in sleep_without_an_end "
          "(loop.py:" in mine[0] and ", train (loop.py:" in mine[0], said)


CASES = {"plain": case_plain, "alone": case_alone, "phases": case_phases, "groups": case_groups,
         "subgroups_leave": case_subgroups_leave, "sharded": case_sharded, "stall": case_stall}
