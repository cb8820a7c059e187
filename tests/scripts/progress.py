"""app/progress: what it makes of ninja's and apt-get's lines, with and without a terminal."""

import os
import subprocess
import sys
import unittest

from scratch import Terminal, Tree

ROOT = sys.argv[1]
ROOM = "engine/trace/CMakeFiles/lockstep_engine_trace.dir/"


def step(finished, total, seconds, output, says=f"Building CXX object {ROOM}"):
    return f"\x01{finished} {total} {seconds:.3f}\x01{says}{output}\n"


class Progress(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(ROOT, "app/progress", "app/steps.awk")
        self.addCleanup(self.tree.close)

    def build(self, weights, text, *more):
        """The lines for a build of steps of these weights, without a terminal."""
        self.tree.write("steps", "".join(f"{weight}\tBuilding CXX object {ROOM}{i + 1}\n"
                                         for i, weight in enumerate(weights)))
        ended = subprocess.run([self.tree.at("app/progress"), "build", "Building it",
                                self.tree.at("steps"), *more], input=text, text=True,
                               capture_output=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout.splitlines()

    def test_says_at_most_every_30_s_how_far_it_is_without_a_terminal(self):
        text = "".join(step(i, 100, i, str(i)) for i in range(1, 101))
        self.assertEqual(self.build([10] * 100, text),
                         ["Building it: 0 of 100 (0 %)",
                          "Building it: engine/trace, 30 of 100 (30 %), about 70 s left",
                          "Building it: engine/trace, 60 of 100 (60 %), about 40 s left",
                          "Building it: engine/trace, 90 of 100 (90 %), about 10 s left"])

    def test_measures_the_time_left_by_the_weight_of_the_steps_to_come(self):
        # Half of the steps, a tenth of the work, in one minute.
        text = "".join(step(i, 20, 6 * i, str(i)) for i in range(1, 11))
        self.assertEqual(self.build([10] * 10 + [90] * 10, text)[-1],
                         "Building it: engine/trace, 10 of 20 (50 %), about 9 min left")

    def test_says_nothing_of_the_time_before_there_is_evidence(self):
        text = step(1, 100, 40, "1") + step(2, 100, 80, "2") + step(3, 100, 120, "3")
        self.assertEqual(self.build([10] * 100, text),
                         ["Building it: 0 of 100 (0 %)",
                          "Building it: engine/trace, 1 of 100 (1 %)",
                          "Building it: engine/trace, 2 of 100 (2 %)",
                          "Building it: engine/trace, 3 of 100 (3 %), about 1 h 5 min left"])

    def test_takes_fewer_steps_than_were_planned_into_account(self):
        text = step(1, 100, 1, "1") + step(10, 20, 60, "2")
        line = self.build([10] * 100, text)[-1]
        self.assertTrue(line.startswith("Building it: engine/trace, 10 of 20 (50 %), about "), line)

    def test_a_plan_of_other_steps_is_no_reason_to_fail(self):
        self.assertEqual(self.build([], step(1, 2, 40, "1") + step(2, 2, 80, "2")),
                         ["Building it: 0 of 0 (0 %)",
                          "Building it: engine/trace, 1 of 2 (50 %), about 40 s left",
                          "Building it: engine/trace, 2 of 2 (100 %), a few seconds left"])

    def test_lets_through_what_a_step_printed_under_its_name(self):
        text = (step(1, 3, 1, "a.cpp.o") + "a.cpp:7:3: warning: odd\n  7 | x\n"
                + step(2, 3, 2, "b.cpp.o") + "FAILED: b.cpp.o\ng++ b.cpp\n\nb.cpp:1:1: error: no\n"
                + "ninja: build stopped: subcommand failed.\n")
        self.assertEqual(self.build([10] * 3, text)[1:],
                         [f"Building CXX object {ROOM}a.cpp.o", "a.cpp:7:3: warning: odd",
                          "  7 | x", f"Building CXX object {ROOM}b.cpp.o", "FAILED: b.cpp.o",
                          "g++ b.cpp", "", "b.cpp:1:1: error: no",
                          "ninja: build stopped: subcommand failed."])

    def test_lets_through_a_last_line_without_an_end(self):
        self.assertEqual(self.build([10], "ninja: error: no such target")[1:],
                         ["ninja: error: no such target"])

    def test_keeps_a_note_of_how_far_it_is_as_long_as_that_is_there(self):
        note = self.tree.write("note", "")
        text = "".join(step(i, 20, 6 * i, str(i)) for i in range(1, 11))
        self.build([10] * 20, text, note)
        self.assertEqual(self.tree.read("note"), "10 of 20 (50 %), about 60 s left\n")
        os.remove(note)
        self.build([10] * 20, text, note)
        self.assertFalse(os.path.exists(note))

    def on_terminal(self, columns, text):
        self.tree.write("input", text)
        self.tree.write("steps", "".join(f"10\tBuilding CXX object {ROOM}{i}\n"
                                         for i in range(1, 10)))
        self.tree.program("feed", 'app/progress build "Building it" steps <input; echo done')
        terminal = Terminal(self.tree, "feed", columns=columns)
        self.assertEqual(terminal.wait(), 0, terminal.text)
        return terminal

    def test_rewrites_one_line_on_a_terminal_and_leaves_it_clean(self):
        terminal = self.on_terminal(80, "".join(step(i, 9, i, str(i)) for i in range(1, 10)))
        self.assertEqual(terminal.lines(), ["done", ""])
        self.assertIn("Building it: engine/trace, 9 of 9 (100 %), a few seconds left",
                      terminal.states())

    def test_fits_the_width_of_the_terminal(self):
        text = "".join(step(i, 9, 20 * i, str(i)) for i in range(1, 10))
        for columns, last in ((80, "Building it: engine/trace, 8 of 9 (88 %), about 20 s left"),
                              (57, "Building it: 8 of 9 (88 %), about 20 s left"),
                              (30, "Building it: 8 of 9 (88 %), a")):
            states = self.on_terminal(columns, text).states()
            self.assertIn(last, states)
            self.assertLess(max(len(state) for state in states), columns)

    def test_prints_a_warning_above_the_line_on_a_terminal(self):
        terminal = self.on_terminal(80, step(1, 9, 1, "a.o") + "warning: odd\n" + step(2, 9, 2, "b.o"))
        self.assertEqual(terminal.lines(),
                         [f"Building CXX object {ROOM}a.o", "warning: odd", "done", ""])

    def test_follows_the_packages_that_apt_get_fetches_and_unpacks(self):
        self.tree.write("log", "0 upgraded, 80 newly installed, 0 to remove and 3 not upgraded.\n")
        self.tree.write("input", "dlstatus:3:20.5000:Retrieving file 3 of 80 (9s remaining)\n"
                                 "pmstatus:libtorch-dev:14.2000:Preparing libtorch-dev (amd64)\n"
                                 "pmstatus:cmake:15.0000:Unpacking cmake (amd64)\n"
                                 "pmstatus:libtorch-dev:16.2000:Unpacking libtorch-dev (amd64)\n"
                                 "pmstatus:libfmt:amd64:61.9:Configuring libfmt (amd64)\n"
                                 "pmstatus:dpkg-exec:62.0:Running dpkg\n")
        self.tree.program("feed", 'app/progress install "Installing 23 packages" log <input')
        terminal = Terminal(self.tree, "feed")
        self.assertEqual(terminal.wait(), 0, terminal.text)
        self.assertEqual([state for state in terminal.states() if state],
                         ["Installing 23 packages: downloading, 3 of 80 (20 %)",
                          "Installing 23 packages: unpacking cmake, 1 of 80 (15 %)",
                          "Installing 23 packages: unpacking libtorch-dev, 2 of 80 (16 %)",
                          "Installing 23 packages: configuring libfmt, 1 of 80 (61 %)"])
        self.assertEqual(terminal.lines(), [""])


class Steps(unittest.TestCase):
    def test_weighs_what_is_to_be_built_by_its_kind(self):
        tree = Tree(ROOT, "app/steps.awk")
        self.addCleanup(tree.close)
        batch = tree.write("build/batch.cpp", '#include "/s/a.cpp"\n#include "/s/b.cpp"\n')
        ninja = ""
        for name, source, flags in (("plain", "/s/p.cpp", "INCLUDES = -I/s"),
                                    ("qt", "/s/q.cpp", "DEFINES = -DQT_CORE_LIB"),
                                    ("torch", "/s/t.cpp", "INCLUDES = -isystem /usr/include/torch"),
                                    ("both", batch, "INCLUDES = -isystem /usr/include/torch")):
            ninja += f"build {name}.o: CXX {source} | head.gch || order\n  {flags}\n  A = b\n\n"
        ninja += "build head.gch: CXX head.hxx\n  INCLUDES = -isystem /usr/include/torch\n"
        tree.write("build/build.ninja", ninja)
        names = [f"Building CXX object {name}" for name in
                 ("plain.o", "qt.o", "torch.o", "both.o", "head.gch", "unknown.o")]
        names += ["Linking CXX static library x.a", "Linking CXX executable bin/x", "Generating x"]
        tree.write("plan", "".join(f"\x01{name}\n" for name in names) + "ninja: warning: odd\n")
        ended = subprocess.run(["awk", "-v", f"top={tree.path}/build/", "-f", "app/steps.awk",
                                "build/build.ninja", "plan"], cwd=tree.path, text=True,
                               capture_output=True, check=True)
        lines = [line.split("\t") for line in ended.stdout.splitlines()]
        self.assertEqual([line[1] for line in lines], names)
        weight = {name: int(text) for text, name in lines}
        order = ["Linking CXX static library x.a", "Linking CXX executable bin/x", names[0],
                 names[1], names[2], names[3], names[4]]
        self.assertEqual(sorted(order, key=weight.get), order, weight)
        self.assertEqual(len({weight[name] for name in order}), len(order), weight)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
