"""experiments/papers: its table, its experiments, its command, and one small figure.

Usage: papers.py SOURCE_FOLDER [BIN_FOLDER]
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(sys.argv[1])
BIN = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
PAPERS = ROOT / "experiments/papers"
sys.path.insert(0, str(PAPERS))

from reproduction import table  # noqa: E402  (its folder is known only now)
from reproduction.catalogue import FIGURES  # noqa: E402


class Table(unittest.TestCase):
    def test_the_readme_names_every_figure_and_keeps_its_text(self):
        with tempfile.TemporaryDirectory() as folder:
            readme = pathlib.Path(folder, "README.md")
            readme.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
            results = {"overlap": {"word": "not reproduced", "seen": "little", "machine": "here"}}
            for _ in range(2):
                table.write(FIGURES.values(), results, readme)
            text = readme.read_text()
            self.assertTrue(text.startswith(f"before\n{table.BEGIN}\nMeasured on here."), text)
            self.assertTrue(text.endswith(f"{table.END}\nafter\n"))
            self.assertIn("| **not reproduced**: little |", text)
            self.assertEqual(text.count("| not run |"), len(FIGURES) - 1)
            readme.write_text(table.BEGIN)
            self.assertRaises(table.TableError, table.write, [], {}, readme)

    def test_the_shipped_readme_has_a_row_for_every_figure(self):
        text = (PAPERS / "README.md").read_text()
        for name, figure in FIGURES.items():
            self.assertIn(f"\n| {name} | {figure.paper} | ", text)


class Command(unittest.TestCase):
    def reproduce(self, *words):
        ended = subprocess.run([PAPERS / "reproduce", *words], capture_output=True, text=True,
                               timeout=110, check=False)
        return ended.returncode, ended.stdout, ended.stderr.splitlines()

    def refused(self, *words):
        code, out, lines = self.reproduce(*words)
        self.assertNotEqual(code, 0)
        self.assertEqual((out, len(lines)), ("", 1), lines)
        return lines[0]

    def test_wrong_words_are_refused_in_one_line(self):
        self.assertIn("no figure named overlaps; there are overlap, ", self.refused("overlaps"))
        self.assertIn("--fast", self.refused("--fast"))
        self.assertIn("build Lockstep", self.refused("overlap", "--bin", "/nowhere"))

    def test_every_experiment_belongs_to_a_figure_and_opens_with_what_it_shows(self):
        used = {PAPERS / f"{file}.toml" for figure in FIGURES.values() for file in figure.files}
        here = set(PAPERS.glob("*.toml"))
        self.assertEqual(here - used, set())
        for file in used:
            self.assertTrue(file.resolve().exists(), file)
        for file in here:
            text = file.read_text()
            self.assertTrue(text.startswith("# "), file)
            self.assertTrue(2 <= tomllib.loads(text)["processes"]["world_size"] <= 8, file)
            self.assertIn("sweep", tomllib.loads(text) | {"sweep": 0})


@unittest.skipUnless(BIN, "no programs were built")
class Programs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = pathlib.Path(scratch.name)

    def test_every_experiment_is_without_mistake(self):
        files = sorted(PAPERS.glob("*.toml"))
        ended = subprocess.run([BIN / "lockstep", "validate", *files], capture_output=True,
                               text=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def reproduce(self, *words):
        return subprocess.run([PAPERS / "reproduce", "--bin", BIN, "--out", self.out, *words],
                              capture_output=True, text=True, timeout=110, check=False)

    def test_a_small_figure_is_run_written_and_judged_and_its_runs_can_be_taken_again(self):
        small = [word for value in ("train.steps=20", "processes.world_size=2",
                                    "link.bandwidth_gbps=0.2", "link.simulate_anyway=true")
                 for word in ("--set", value)]
        ended = self.reproduce("skip_sync", *small)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stdout,
                         r"\Askip_sync: (not )?reproduced( in part)?: published: .*\n\Z")
        first = (self.out / "skip_sync.csv").read_text()
        rows = list(csv.DictReader(first.splitlines()))
        self.assertEqual([row["x"] for row in rows], ["1", "2", "4", "8"])
        self.assertEqual({row["link"] for row in rows}, {"0.2 Gbit/s, simulated"})
        for row in rows:
            self.assertLessEqual(float(row["low"]), float(row["value"]))
            self.assertLessEqual(float(row["value"]), float(row["high"]))
        # 6.3 MB at 0.2 Gbit/s are 253 ms, of which one step in eight is left.
        self.assertGreater(float(rows[0]["value"]), 250)
        self.assertLess(float(rows[-1]["value"]), 0.6 * float(rows[0]["value"]))
        verdicts = json.loads((self.out / "verdicts.json").read_text())
        self.assertIn("off the average step", verdicts["skip_sync"]["seen"])

        (self.out / "skip_sync.csv").unlink()
        again = self.reproduce("skip_sync", "--runs", self.out)
        self.assertEqual((again.returncode, again.stdout), (0, ended.stdout), again.stderr)
        self.assertEqual((self.out / "skip_sync.csv").read_text(), first)

        lacking = self.reproduce("overlap", "--runs", self.out)
        self.assertEqual(lacking.returncode, 1)
        self.assertIn("has no finished run of overlap.toml", lacking.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
