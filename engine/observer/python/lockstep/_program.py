"""The program ``lockstep``, which computes what a run's figures are: there is one definition of each."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List

if TYPE_CHECKING:
    import pandas

VARIABLE = "LOCKSTEP_PROGRAM"
_PATIENCE = 600.0  # seconds for one call: a run of 10 million spans takes some of them

# Columns that look like numbers and are none.
_TEXTS = {"hash": str, "parameter_hash": str, "ranks": str, "odd_ranks": str, "text": str}


class ProgramError(RuntimeError):
    """The program ``lockstep`` is not there, or could not do what it was asked for: one line."""


def find() -> str:
    """The program: what LOCKSTEP_PROGRAM names, or ``lockstep`` on the PATH where it names none."""
    named = os.environ.get(VARIABLE)
    found = shutil.which(named or "lockstep")
    if found is None:
        what = f'{VARIABLE} names "{named}", which is no program' if named else (
            f"there is no program lockstep on the PATH; put its folder there, or name it in {VARIABLE}")
        raise ProgramError(f"the figures of a run are computed by lockstep itself: {what}")
    return found


def info(path: pathlib.Path) -> Dict[str, Any]:
    """What ``lockstep info --json`` says of a run file."""
    told: Dict[str, Any] = json.loads(_run(["info", "--json", str(path)]))
    return told


def export(path: pathlib.Path, table: str) -> "pandas.DataFrame":
    """A table of ``lockstep export --csv``."""
    import pandas

    with tempfile.TemporaryDirectory(prefix="lockstep-") as folder:
        file = pathlib.Path(folder) / "table.csv"
        _run(["export", str(path), "--csv", table, str(file)])
        # An empty cell is what is not known; every text is what it says, "NA" too.
        return pandas.read_csv(file, dtype=_TEXTS, keep_default_na=False, na_values=[""])


def _run(arguments: List[str]) -> str:
    command = [find(), *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{' '.join(command)}: no answer in {_PATIENCE:.0f} s") from None
    except OSError as error:
        raise ProgramError(f"{command[0]} cannot be started: {error.strerror}") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise ProgramError(lines[-1] if lines else f"{' '.join(command)}: exit code {done.returncode}")
    return done.stdout
