"""What ``lockstep.open`` returns: a run as frames of pandas."""

from __future__ import annotations

import json
import os
import pathlib
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from lockstep import _program, _run_file
from lockstep._run_file import RunFileError

if TYPE_CHECKING:
    import pandas

Steps = Union[int, Tuple[int, int]]

# Whole numbers of which some are not known.
_MAYBE_NONE = ("bucket", "exit_code", "parameter")


def open(path: Union[str, "os.PathLike[str]"]) -> "Run":
    """Opens a run file, of a run that goes on or has ended, to read it as frames of pandas.

        run = lockstep.open("runs/train.lockstep")
        run.figures()                        # overlap, exposed communication and step time by rank
        run.spans(kind="backward", rank=0)   # every backward of rank 0, in nanoseconds

    Each call reads what the file holds then, so that a live run can be asked again.

    Raises:
        RunFileError: it is no run file, or one of another major format.
        ImportError: pandas is not installed.
    """
    try:
        import pandas  # noqa: F401  said here, and not at the first table
    except ImportError:
        raise ImportError("lockstep.open needs pandas: pip install pandas") from None
    return Run(pathlib.Path(path))


class Run:
    """One run. Times are nanoseconds on the recording host's CLOCK_MONOTONIC, those of ranks on
    other hosts too (``hosts`` and ``clocks`` say how well they are known); ``step`` counts
    iterations from 0, ``rank`` is -1 where a row is of no rank."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path: pathlib.Path = path
        major, minor = _run_file.check(path)
        self.format: str = f"{major}.{minor}"
        """Of the run file: "1.4"."""

    def __repr__(self) -> str:
        facts = self.meta
        return f"<lockstep run {facts.get('name')} ({facts.get('state')}), {self.path}>"

    @property
    def meta(self) -> Dict[str, Any]:
        """Facts about the run: name, kind, state, world_size, command, started_at (UTC), failure,
        and the other keys of ``meta`` in FORMAT.md. Of a run whose recorder died ``state`` is what
        it last was; ``info()`` knows better."""
        return _run_file.meta(self.path)

    @property
    def tables(self) -> Tuple[str, ...]:
        """The names that ``table`` takes."""
        return _run_file.names(self.path)

    def table(self, name: str) -> "pandas.DataFrame":
        """A whole table or view of the run file, a row a row of it.

        ======================  ==================================================================
        spans                   an event: start_ns, duration_ns (0: an instant); kind is its name;
                                value and detail by kind, as FORMAT.md has them; phase is the
                                name of a phase that the job marked
        collectives             a rank's part in a collective: bytes, start_ns, duration_ns
        gradients_ready         a gradient that was ready: ready_ns
        metrics                 a number: at_ns; value in what its name says (_bytes, _percent,
                                _bytes_per_second; _time: ns)
        last_metrics            the latest of each
        ranks                   a rank: state, exit_code, wire_bytes, events_dropped
        parameters              a parameter: shape (a tuple), numel (elements), bytes
        layouts, buckets        a bucket assignment (0: at construction, 1: rebuilt) and the first
                                step that uses it; a bucket of it: bytes, limit_bytes (0: none)
        bucket_parameters       where a parameter lies in its bucket: byte_offset
        fingerprints, sketches  samples of the replicas; counters is an array of floats
        gradients               norm and largest of a rank's own gradients of a bucket, and
                                reduced_norm of what the hook made of it
        step_sums               of a run of which detail was left out, what a step of a rank comes
                                to: forward_ns, in_flight_ns, overlap_ns and others, and how much
                                of it was kept; like spans, it has the steps of packed_steps,
                                with ids below 0
        parameters_differ       how many variants of a parameter there were among the ranks
        logs, problems          a piece of output: at_ns; a sentence of the list of problems
        meta, environment       facts about the run, and about what a rank ran on
        hosts, tracks, clocks   machines; lanes of ranks; calibrations: origin_ticks are ticks of
                                that host, origin_ns and uncertainty_ns nanoseconds
        kinds, operations,      names of numbers
        startup_stages, fault_kinds
        ======================  ==================================================================

        What was not there yet in the version that wrote the file is missing (``tables``).
        """
        if name not in self.tables:
            raise RunFileError(f'{self.path}: this run file, of format {self.format}, has no table '
                               f'"{name}"; it has {", ".join(self.tables)}')
        return self._frame(_run_file.query(name), {})

    def spans(self, kind: Optional[str] = None, rank: Optional[int] = None,
              steps: Optional[Steps] = None) -> "pandas.DataFrame":
        """Events, in the order of their start.

        Args:
            kind: its name: "step", "forward", "backward", "bucket_ready", "collective", ...
            rank: of this rank alone.
            steps: one iteration, or the first and the last of several.

        Returns:
            id, rank, track, kind, start_ns, duration_ns (0: an instant), step, bucket (none: it is
            of no bucket), detail, value, phase (of a user_phase: its name).
        """
        return self._chosen(f"({_run_file.SPANS})", {"kind": kind, "rank": rank}, steps,
                            "start_ns, id")

    def collectives(self, operation: Optional[str] = None, rank: Optional[int] = None,
                    steps: Optional[Steps] = None) -> "pandas.DataFrame":
        """A rank's part in each collective, from its arrival until it was done.

        Returns:
            id, rank, group_number, sequence (the same on every rank), operation, step, bucket,
            bytes, start_ns, duration_ns.
        """
        return self._chosen("collectives", {"operation": operation, "rank": rank}, steps,
                            "group_number, sequence, rank")

    def metrics(self, name: Optional[str] = None, rank: Optional[int] = None,
                steps: Optional[Steps] = None) -> "pandas.DataFrame":
        """Losses and counters, and what the job logged.

        Args:
            name: "loss", "resident_bytes", "cpu_percent" (100 is one core), ...

        Returns:
            id, rank, name, step, at_ns, value (none: it was not a number).
        """
        return self._chosen("metrics_ns", {"name": name, "rank": rank}, steps, "at_ns, id")

    def info(self) -> Dict[str, Any]:
        """What ``lockstep info --json`` says of the run now: state, loss, causes of exposed
        communication, buckets, hosts, ranks, problems. Units stand at the end of a key.

        Raises:
            ProgramError: the program lockstep is neither on the PATH nor named by
                LOCKSTEP_PROGRAM.
        """
        return _program.info(self.path)

    def figures(self) -> "pandas.DataFrame":
        """The figures of ``lockstep info`` of each rank, which is the index.

        Returns:
            step_ms, exposed_ms (communication while the rank did not compute), overlap_percent (of
            the time in which communication was in flight, the share in which the rank computed as
            well), waiting_ms and transfer_ms: medians over measured_steps iterations, warm-up left
            out. Nothing is in the row of a rank that has none.
        """
        import pandas

        ranks: List[Dict[str, Any]] = self.info()["ranks"]
        rows = [{"rank": rank["rank"], **(rank["figures"] or {})} for rank in ranks]
        if not rows:
            return pandas.DataFrame(columns=["step_ms", "exposed_ms", "overlap_percent"],
                                    index=pandas.Index([], name="rank"))
        return pandas.DataFrame(rows).set_index("rank")

    def steps(self) -> "pandas.DataFrame":
        """Every iteration of every rank: step_ms, forward_ms, backward_ms, optimizer_ms,
        in_flight_ms, computing_ms, overlap_ms, exposed_ms, overlap_percent; ``measured`` is 0 for
        the warm-up, and for iterations in which events were lost."""
        return self.export("steps")

    def export(self, table: str) -> "pandas.DataFrame":
        """A table of ``lockstep export --csv``: what the studio's tables show, computed as there.

        Args:
            table: events, statistics, steps, ranks, overlap, tail, collectives, calls, hooks,
                buckets, parameters, divergence, fingerprints, gradients, loss, counters, log or
                problems; ``lockstep export --help`` says what a row of each is. Units stand at the
                end of a column's name; ``_ms`` of a moment counts from the run's start.
        """
        return _program.export(self.path, table)

    def _chosen(self, view: str, equal: Dict[str, Union[str, int, None]], steps: Optional[Steps],
                order: str) -> "pandas.DataFrame":
        asked = {key: value for key, value in equal.items() if value is not None}
        conditions = [f"{key} = :{key}" for key in asked]
        if steps is not None:
            first, last = (steps, steps) if isinstance(steps, int) else steps
            conditions.append("step BETWEEN :first AND :last")
            asked.update(first=first, last=last)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return self._frame(f"SELECT * FROM {view}{where} ORDER BY {order}", asked)

    def _frame(self, query: str, values: Dict[str, Any]) -> "pandas.DataFrame":
        import pandas

        with _run_file.reading(self.path, unpacked=True) as file:
            cursor = file.execute(query, values)
            frame = pandas.DataFrame(cursor.fetchall(),
                                     columns=[column[0] for column in cursor.description])
        for column in frame.columns.intersection(list(_MAYBE_NONE)):
            if pandas.api.types.is_numeric_dtype(frame[column]) or frame[column].isna().all():
                frame[column] = frame[column].astype("Int64")
        if "shape" in frame:
            frame["shape"] = [tuple(json.loads(shape)) for shape in frame["shape"]]
        if "counters" in frame:
            import numpy

            frame["counters"] = pandas.Series(
                [numpy.frombuffer(bytes_, "<f8") for bytes_ in frame["counters"]], dtype=object)
        return frame
