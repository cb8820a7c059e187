"""The command line of Lockstep as this room needs it: run a sweep, ask a run file."""

import csv
import io
import json
import pathlib
import subprocess

# The source tree, or an installation's share/lockstep.
_ROOT = pathlib.Path(__file__).resolve().parents[3]
_IN_TREE = (_ROOT / "CMakeLists.txt").is_file()
BIN = _ROOT / "build/bin" if _IN_TREE else _ROOT.parents[1] / "bin"
# An installation is not the user's to write in: results go below the folder that one stands in.
RUNS = (_ROOT if _IN_TREE else pathlib.Path()) / "runs"


# A learning rate at which training diverges is one of the points of a figure, not its end.
DIVERGED = 8


class Failure(Exception):
    """Something that keeps a figure from being made; its text is one line for the user."""


class Lockstep:
    def __init__(self, folder):
        self.program = pathlib.Path(folder) / "lockstep"

    def check(self):
        if not self.program.exists():
            raise Failure(f"{self.program} is not there: build Lockstep with ./app/run --build, "
                          "or name its folder with --bin")

    def _output(self, *words, limit=600, well=(0,)):
        try:
            ended = subprocess.run([self.program, *words], capture_output=True, text=True,
                                   timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"lockstep {words[0]} {words[1]} took more than {limit} s") from None
        except OSError as error:
            raise Failure(f"{self.program} cannot be started: {error.strerror}") from None
        if ended.returncode not in well:
            said = ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"]
            raise Failure(f"lockstep {words[0]} {words[1]}: {said[0]}")
        return ended.stdout

    def run(self, file, stem, sets=()):
        """Runs an experiment or all of a sweep; the run files begin with `stem`."""
        options = [word for value in sets for word in ("--set", value)]
        self._output("run", str(file), "--quiet", "--out", f"{stem}.lockstep", *options, limit=900,
                     well=(0, DIVERGED))

    def info(self, run):
        return json.loads(self._output("info", str(run), "--json"))

    def tuned(self, run, rule):
        """The bucket caps, in MiB, that a rule makes of a run."""
        cuts = json.loads(self._output("tune", str(run), "--json"))["cuts"]
        return next(cut["bucket_cap_mb_list"] for cut in cuts if cut["rule"] == rule)

    def table(self, run, name):
        return list(csv.DictReader(io.StringIO(
            self._output("export", str(run), "--csv", name, "-"))))
