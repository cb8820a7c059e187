"""A run file as SQLite has it, read only: engine/trace/FORMAT.md."""

from __future__ import annotations

import contextlib
import os
import pathlib
import urllib.parse
from typing import TYPE_CHECKING, Any, Dict, Iterator, Sequence, Tuple

if TYPE_CHECKING:
    import sqlite3

_APPLICATION_ID = 0x4C4B5354
_MAJOR = 1
_PATIENCE = 10.0  # seconds until a recorder that writes lets us read

# Of every version; what later minors brought may be missing.
_TABLES = ("meta", "environment", "ranks", "tracks", "kinds", "operations", "clocks", "spans",
           "metrics", "last_metrics", "parameters", "layouts", "buckets", "bucket_parameters",
           "logs", "problems")

# Tables with ticks of a host are read in nanoseconds, as the views have them. What a recorder
# stamped has its own host's ticks, which is host 0.
SPANS = ("SELECT spans_ns.*, environment.value AS phase FROM spans_ns LEFT JOIN environment "
         "ON spans_ns.kind = 'user_phase' AND environment.rank = spans_ns.rank "
         "AND environment.key = 'phase.' || spans_ns.value")
_SUMS = ("forward", "backward", "optimizer", "in_flight", "computing", "overlap", "off_core",
         "overlap_less", "overlap_more", "core_wait")
_IN_NANOSECONDS = {
    "step_sums": "SELECT id, step_sums.rank AS rank, step, kept, " + ", ".join(
        f"CAST(round({name} * ns_per_tick) AS INTEGER) AS {name}_ns" for name in _SUMS) +
        " FROM step_sums LEFT JOIN ranks ON ranks.rank = step_sums.rank "
        "JOIN host_clocks ON host_clocks.host = coalesce(ranks.host, 0)",
    "spans": SPANS,
    "metrics": "SELECT * FROM metrics_ns",
    "logs": "SELECT logs.id AS id, rank, origin_ns + CAST(round((ticks - origin_ticks) * "
            "ns_per_tick) AS INTEGER) AS at_ns, text FROM logs LEFT JOIN clock",
}
# What the database's own views bring along for that, and what only readers of it need.
_NOT_SHOWN = ("clock", "host_clocks", "spans_ns", "metrics_ns", "changes")

_NETWORK = ("nfs", "nfs4", "smbfs", "smb3", "cifs", "afs", "coda", "ceph", "lustre", "gpfs",
            "beegfs", "9p", "fuse.sshfs")


class RunFileError(ValueError):
    """A file is no run file, or cannot be read: one line that says which and why."""


def check(path: pathlib.Path) -> Tuple[int, int]:
    """The format of a run file, major and minor; a RunFileError where it is none."""
    with reading(path) as file:
        if _pragma(file, "application_id") != _APPLICATION_ID:
            raise RunFileError(f"{path}: this is no run file of lockstep")
        major, minor = divmod(_pragma(file, "user_version"), 1000)
        if major != _MAJOR:
            raise RunFileError(f"{path}: run file of format {major}.{minor}, but this lockstep "
                               f"reads format {_MAJOR}.x; open it with the lockstep that wrote it")
        there = _names(file)
        for name in _TABLES:
            if name not in there:
                raise RunFileError(f"{path}: the run file is not as expected: it has no table {name}")
    return major, minor


def names(path: pathlib.Path) -> Tuple[str, ...]:
    """The tables and views that can be asked for."""
    with reading(path) as file:
        return tuple(sorted(name for name in _names(file) if name not in _NOT_SHOWN))


def query(name: str) -> str:
    """What reads a whole table or view, ticks as nanoseconds."""
    return _IN_NANOSECONDS.get(name, f'SELECT * FROM "{name}"')


@contextlib.contextmanager
def reading(path: pathlib.Path, unpacked: bool = False) -> Iterator["sqlite3.Connection"]:
    """A connection for one look: between two, nothing holds up the recorder of a live run. With
    ``unpacked`` its spans and step_sums have the packed steps, too."""
    import sqlite3

    connection = None
    try:
        connection = sqlite3.connect(_address(path), uri=True, timeout=_PATIENCE)
        if unpacked and "packed_steps" in _names(connection):
            _unpack(connection)
        yield connection
    except sqlite3.Error as error:
        text = str(error)
        raise RunFileError(f"{path}: this is no run file of lockstep" if "not a database" in text
                           else f"{path}: the run file cannot be read: {text}") from None
    finally:
        if connection is not None:
            connection.close()


# Packed steps as rows, in views of this connection that stand before those of the file. Their ids
# are below 0, so that they are nobody else's.
_UNPACKED = """
CREATE TEMP VIEW step_sums AS SELECT * FROM main.step_sums UNION ALL
  SELECT id, rank, step, 0, forward, backward, optimizer, in_flight, computing, overlap, off_core,
    overlap_less, overlap_more, core_wait FROM unpacked;
CREATE TEMP VIEW spans_ns AS SELECT * FROM main.spans_ns UNION ALL
  SELECT unpacked.id, unpacked.rank, tracks.name, 'step',
    zero_ns + CAST(round((start - origin_ticks) * ns_per_tick) AS INTEGER),
    CAST(round(duration * ns_per_tick) AS INTEGER), step, NULL, 0, 0
  FROM unpacked JOIN tracks ON tracks.id = track LEFT JOIN ranks ON ranks.rank = unpacked.rank
    JOIN host_clocks ON host_clocks.host = coalesce(ranks.host, 0);
"""


def _unpack(file: "sqlite3.Connection") -> None:
    file.execute("CREATE TEMP TABLE unpacked(id, rank, track, step, start, duration, " +
                 ", ".join(_SUMS) + ")")
    marks = ", ".join("?" * (6 + len(_SUMS)))
    rows = file.execute("SELECT rank, track, step, unit, steps FROM packed_steps ORDER BY id")
    file.executemany(f"INSERT INTO unpacked VALUES ({marks})",
                     ((-1 - number, *row) for number, row in enumerate(_steps_of(rows.fetchall()))))
    file.executescript(_UNPACKED)


def _steps_of(rows: Sequence[Tuple[int, int, int, int, bytes]]) -> Iterator[Tuple[int, ...]]:
    """Each step of rows of packed_steps (FORMAT.md): rank, track, step, start, duration, sums."""
    for rank, track, first, unit, data in rows:
        numbers = [0] * 12
        differences = list(_numbers_in(data))
        for at in range(0, len(differences) - 11, 12):
            numbers[0] += numbers[1]  # a start is told from the end before
            numbers = [number + difference
                       for number, difference in zip(numbers, differences[at:at + 12])]
            (start, duration, forward, backward, optimizer, exposed, alone, overlap,
             *rest) = [number * unit for number in numbers]
            yield (rank, track, first + at // 12, start, duration, forward, backward, optimizer,
                   exposed + overlap, alone + overlap, overlap, *rest)


def _numbers_in(data: bytes) -> Iterator[int]:
    folded = shift = 0
    for byte in data:
        folded |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield folded >> 1 ^ -(folded & 1)
            folded = shift = 0


def _address(path: pathlib.Path) -> str:
    if not path.exists():
        raise RunFileError(f"{path}: cannot open the run file: No such file or directory")
    if not path.is_file():
        raise RunFileError(f"{path}: this is no file, so no run file either")
    options = {"mode": "ro"}
    if pathlib.Path(f"{path}-wal").exists():
        network = _network_file_system(path)
        if network:
            raise RunFileError(f"{path}: the run is still being recorded, and a live run cannot be "
                               f"followed across a network file system ({network}); wait for its "
                               "end, or record to a local disk")
    elif not (os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)):
        options["immutable"] = "1"
    return f"file:{urllib.parse.quote(str(path.resolve()))}?{urllib.parse.urlencode(options)}"


def _network_file_system(path: pathlib.Path) -> str:
    """The kind of network file system that a file is on; empty: none that is known."""
    here, kind = -1, ""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                _, folder, its_kind = line.split(" ")[:3]
                folder = folder.encode().decode("unicode_escape")  # a blank is \040
                inside = pathlib.Path(folder) in (path.resolve(), *path.resolve().parents)
                if inside and len(folder) >= here:
                    here, kind = len(folder), its_kind
    except OSError:
        return ""
    return kind if kind in _NETWORK else ""


def _pragma(file: "sqlite3.Connection", name: str) -> int:
    return int(file.execute(f"PRAGMA {name}").fetchone()[0])


def _names(file: "sqlite3.Connection") -> Sequence[str]:
    rows = file.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                        "AND name NOT LIKE 'sqlite_%'")
    return [str(name) for name, in rows]


def meta(path: pathlib.Path) -> Dict[str, Any]:
    """The facts about the run itself, by their keys."""
    with reading(path) as file:
        return dict(file.execute("SELECT key, value FROM meta").fetchall())
