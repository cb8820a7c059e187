"""lockstep.open: what a run file holds as frames of pandas, and its figures as `lockstep info` has them.

Usage: frames.py --bin FOLDER --golden FOLDER
"""

import argparse
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None


def lockstep(*arguments):
    return subprocess.run([OPTIONS.bin / "lockstep", *map(str, arguments)], capture_output=True,
                          text=True, timeout=60, check=True).stdout


def python(program, **environment):
    """What another Python prints and complains of."""
    package = {"PYTHONPATH": str(OPTIONS.bin.parent / "python")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **package, **environment})
    return done.stdout.strip(), done.stderr.strip()


class Frames(unittest.TestCase):
    def setUp(self):
        import lockstep as package

        self.package = package
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.golden = OPTIONS.golden / "run-1.4.lockstep"
        self.run_ = package.open(self.golden)

    if not hasattr(unittest.TestCase, "enterContext"):  # before Python 3.11
        def enterContext(self, context):
            self.addCleanup(context.__exit__, None, None, None)
            return context.__enter__()

    def test_every_version_opens_and_all_its_tables_are_read(self):
        files = sorted(OPTIONS.golden.glob("run-*.lockstep"))
        self.assertGreaterEqual(len(files), 5)
        for file in files:
            run = self.package.open(file)
            self.assertEqual(run.format, file.stem[len("run-"):])
            connection = sqlite3.connect(file)
            for name in run.tables:
                view = {"spans": "spans", "metrics": "metrics"}.get(name, name)
                (count,), = connection.execute(f"SELECT count(*) FROM {view}")
                if name in ("spans", "step_sums") and "packed_steps" in run.tables:
                    count += 2  # steps that share a row
                self.assertEqual(len(run.table(name)), count, f"{file.name}: {name}")
            tables = {name for name, in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'")} - {"changes"}
            self.assertLessEqual(tables, set(run.tables))
            connection.close()

    def test_ticks_of_every_host_are_nanoseconds_of_the_recording_one(self):
        file = sqlite3.connect(self.golden)
        clocks = {host: (ticks, ns, rate, offset) for host, ticks, ns, rate, offset in file.execute(
            "SELECT host, origin_ticks, origin_ns, ns_per_tick, offset_ns FROM clocks ORDER BY id")}
        self.assertNotEqual(clocks[1][3], 0)
        expected = {}
        for row, rank_host, start, duration in file.execute(
                "SELECT spans.id, ranks.host, start, duration FROM spans JOIN tracks ON tracks.id = "
                "track JOIN ranks USING(rank)"):
            ticks, ns, rate, offset = clocks[rank_host]
            expected[row] = (ns + round((start - ticks) * rate) - offset, round(duration * rate))
        spans = self.run_.table("spans")
        self.assertEqual({row.id: (row.start_ns, row.duration_ns) for row in spans.itertuples()},
                         expected)
        logged, = file.execute("SELECT ticks FROM logs").fetchall()
        ticks, ns, rate, _ = clocks[0]
        self.assertEqual(list(self.run_.table("logs").at_ns), [ns + round((logged[0] - ticks) * rate)])
        file.close()

    def test_spans_are_chosen_by_kind_rank_and_iterations(self):
        everything = self.run_.table("spans")
        chosen = self.run_.spans(kind="backward", rank=1, steps=(1, 2))
        self.assertGreater(len(chosen), 0)
        self.assertEqual(set(chosen.id), set(everything[
            (everything["kind"] == "backward") & (everything["rank"] == 1)
            & everything["step"].between(1, 2)].id))
        self.assertTrue(chosen.start_ns.is_monotonic_increasing)
        self.assertEqual(set(self.run_.collectives(steps=0).step), {0})
        self.assertEqual(set(self.run_.metrics(name="loss").name), {"loss"})

    def test_a_phase_of_the_job_has_its_name(self):
        path = self.folder / "phases.lockstep"
        shutil.copy(self.golden, path)
        file = sqlite3.connect(path)
        file.execute("INSERT OR REPLACE INTO kinds VALUES(250, 'user_phase')")
        for rank in (0, 1):
            file.execute("INSERT INTO environment VALUES(?, 'phase.77', 'tokenise')", (rank,))
        file.execute("INSERT INTO spans VALUES(NULL, (SELECT id FROM tracks WHERE rank = 1), 250, "
                     "7000000, 10, 1, NULL, 0, 77)")
        file.commit()
        file.close()
        run = self.package.open(path)
        self.assertEqual(list(run.spans(kind="user_phase").phase), ["tokenise"])
        everything = run.table("spans")
        self.assertEqual(len(everything), len(self.run_.table("spans")) + 1)
        self.assertEqual(everything.phase.notna().sum(), 1)

    def test_what_is_not_known_is_none_and_numbers_stay_whole(self):
        spans = self.run_.table("spans")
        self.assertEqual(str(spans["bucket"].dtype), "Int64")
        self.assertTrue(spans[spans["kind"] == "backward"]["bucket"].isna().all())
        self.assertEqual(list(self.run_.table("parameters")["shape"]), [(10, 20), (10,)])
        self.assertEqual(list(self.run_.table("sketches")["counters"][0]), [0.25, -4.0])

    def test_figures_are_those_of_the_command_line(self):
        import json

        told = json.loads(lockstep("info", "--json", self.golden))
        self.assertEqual(self.run_.info(), told)
        figures = self.run_.figures()
        self.assertEqual(list(figures.index), [0, 1])
        for name in ("step_ms", "exposed_ms", "overlap_percent"):
            self.assertEqual(figures.loc[0, name], told["ranks"][0]["figures"][name])
        self.assertTrue(figures.loc[1].isna().all())  # events were lost in each of its iterations
        steps = self.run_.steps()
        lines = lockstep("export", self.golden, "--csv", "steps", "-").splitlines()
        self.assertEqual(list(steps.columns), lines[0].split(","))
        self.assertEqual(len(steps), len(lines) - 1)
        self.assertIn("0000000000000001", set(self.run_.export("fingerprints")["hash"]))

    def test_a_live_run_is_read_as_it_grows_and_holds_up_no_one(self):
        path = self.folder / "live.lockstep"
        shutil.copy(self.golden, path)
        recorder = sqlite3.connect(path)
        recorder.execute("PRAGMA journal_mode=WAL")
        run = self.package.open(path)
        before = len(run.table("problems"))
        for more in (1, 2):
            recorder.execute("INSERT INTO problems VALUES(NULL, 'warning', -1, 0, 'one more')")
            recorder.commit()
            self.assertEqual(len(run.table("problems")), before + more)
        busy, _, _ = recorder.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self.assertEqual(busy, 0)
        recorder.close()

    def test_what_is_no_run_file_is_refused_in_one_line(self):
        def changed(name, *statements):
            path = self.folder / name
            shutil.copy(self.golden, path)
            file = sqlite3.connect(path)
            for statement in statements:
                file.execute(statement)
            file.commit()
            file.close()
            return path

        text = self.folder / "text"
        text.write_text("no database " * 100)
        (self.folder / "empty").touch()
        half = self.folder / "half"
        half.write_bytes(self.golden.read_bytes()[:9000])
        cases = {
            text: "this is no run file of lockstep",
            self.folder / "empty": "this is no run file of lockstep",
            self.folder: "this is no file, so no run file either",
            self.folder / "none": "cannot open the run file: No such file or directory",
            changed("other", "PRAGMA application_id=7"): "this is no run file of lockstep",
            changed("later", "PRAGMA user_version=2000"): "run file of format 2.0, but this lockstep "
            "reads format 1.x; open it with the lockstep that wrote it",
            changed("less", "DROP TABLE spans"):
            "the run file is not as expected: it has no table spans",
            half: "the run file cannot be read: database disk image is malformed",
        }
        for path, complaint in cases.items():
            with self.subTest(path.name), self.assertRaises(self.package.RunFileError) as raised:
                self.package.open(path)
            self.assertEqual(str(raised.exception), f"{path}: {complaint}")
        with self.assertRaisesRegex(self.package.RunFileError, 'format 1.4, has no table "spam"'):
            self.run_.table("spam")

    def test_a_file_that_nobody_may_write_is_read(self):
        path = self.folder / "kept.lockstep"
        shutil.copy(self.golden, path)
        file = sqlite3.connect(path)
        file.execute("PRAGMA journal_mode=WAL")  # its header says so also when it is one file
        file.close()
        path.chmod(0o444)
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        self.assertEqual(len(self.package.open(path).table("ranks")), 2)

    def test_the_program_is_named_where_it_is_missing(self):
        program = f"""
import lockstep
run = lockstep.open({str(self.golden)!r})
try:
    run.figures()
except lockstep.ProgramError as error:
    print(error)
"""
        begin = "the figures of a run are computed by lockstep itself: "
        self.assertEqual(python(program, PATH="", LOCKSTEP_PROGRAM=""), (
            begin + "there is no program lockstep on the PATH; put its folder there, or name it in "
            "LOCKSTEP_PROGRAM", ""))
        self.assertEqual(python(program, LOCKSTEP_PROGRAM="/none"), (
            begin + 'LOCKSTEP_PROGRAM names "/none", which is no program', ""))

    def test_importing_it_brings_neither_pandas_nor_torch(self):
        self.assertEqual(python("import lockstep, sys\n"
                                "print([name for name in ('pandas', 'numpy', 'torch', 'sqlite3') "
                                "if name in sys.modules])"), ("[]", ""))

    def test_pandas_is_named_where_it_is_missing(self):
        self.assertEqual(python(f"""
import sys
sys.modules["pandas"] = None
import lockstep
try:
    lockstep.open({str(self.golden)!r})
except ImportError as error:
    print(error)
"""), ("lockstep.open needs pandas: pip install pandas", ""))


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--golden", type=pathlib.Path, required=True)
    OPTIONS, rest = parser.parse_known_args()
    try:
        import pandas  # noqa: F401
    except ImportError:
        print(f"skipped: {sys.executable} has no pandas")
        sys.exit(77)
    sys.path.insert(0, str(OPTIONS.bin.parent / "python"))
    os.environ["LOCKSTEP_PROGRAM"] = str(OPTIONS.bin / "lockstep")
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
