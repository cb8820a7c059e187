"""app/run while it builds: the studio opens first and the rest is built behind it. The steps of the
build and the studio are shell commands here that wait for each other through named pipes."""

import fcntl
import os
import re
import sys
import unittest

from scratch import Terminal, Tree

ROOT = sys.argv[1]
STUDIO = ("studio.o", "Building CXX object ui/shell/CMakeFiles/x.dir/studio.o", "true")
TARGETS = "build lockstep-studio: phony studio.o\nbuild app/all: phony studio.o rest\n" \
          "build plugins/all: phony\n"
LOCKED = 'flock -n build/bin/BUILDING true && echo unlocked >>called || echo locked >>called'


class AppRunBuilding(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(ROOT, "app/run", "app/set-up", "app/progress", "app/steps.awk")
        self.addCleanup(self.tree.close)
        names = re.findall(r"[a-z0-9.+-]+", " ".join(re.findall(
            r"packages(?:_of_some)?\+?=\(([^$)]+)\)", self.tree.read("app/set-up"))))
        self.tree.write("installed", "".join(f"ii  {name}\n" for name in names))
        self.tree.program("programs/dpkg-query", 'cat "$TREE/installed"')
        self.tree.write("experiments/first_steps/demo.toml", "")
        for name in ("opened", "close", "never"):
            self.tree.fifo(name)

    def build(self, rest):
        self.tree.build(STUDIO, ("rest", "Building CXX object engine/ddp/CMakeFiles/x.dir/r.o", rest),
                        more=TARGETS)

    def studio(self, text):
        self.tree.program("build/bin/lockstep-studio", f'cd "$TREE"\n{text}')

    def terminal(self):
        return Terminal(self.tree, "app/run", DISPLAY=":77")

    def note(self):
        return os.path.exists(self.tree.at("build/bin/BUILDING"))

    def give(self, pipe):
        with open(self.tree.at(pipe), "w", encoding="ascii") as file:
            file.write("now\n")

    def test_opens_the_studio_before_the_rest_is_built(self):
        self.build("read x <opened")
        self.studio(f"{LOCKED}\necho now >opened\nread x <close\n{LOCKED.replace('>>', '>>last-')}")
        terminal = self.terminal()
        terminal.read_until("The studio can start runs now")
        self.assertFalse(self.note(), "the programs are there")
        self.give("close")
        self.assertEqual(terminal.wait(), 0, terminal.text)
        self.assertIn("locked", self.tree.read("called").splitlines())
        shown = "\n".join(terminal.lines())
        self.assertRegex(shown, r"^Built the studio in \d+ s\nThe studio is open; it can start runs "
                                r"when the rest is built\nBuilt the rest in \d+ s\n"
                                r"The studio can start runs now\n$")
        self.assertIn("Building the rest: 0 of 1 (0 %)", terminal.states())

    def test_writes_how_far_it_is_for_the_studio(self):
        # The step ends when it reads that of itself.
        self.build("until grep -q '^0 of 1 (0 %)' build/bin/BUILDING; do :; done")
        self.studio("true")
        terminal = self.terminal()
        self.assertEqual(terminal.wait(), 0, terminal.text)

    def test_goes_on_building_when_the_studio_is_closed(self):
        self.build("read x <opened")
        self.studio("echo now >opened")
        terminal = self.terminal()
        self.assertEqual(terminal.wait(), 0, terminal.text)
        self.assertIn("Built the rest in ", terminal.text)
        self.assertTrue(os.path.exists(self.tree.at("build/rest")))
        self.assertFalse(self.note())

    def test_tells_of_a_build_that_fails_and_leaves_the_studio_open(self):
        self.build("read x <opened && echo r.cpp:1:1: error: no && false")
        self.studio("echo now >opened\nread x <close\necho closed >>called")
        terminal = self.terminal()
        terminal.read_until("without the rest")
        self.assertFalse(self.note())
        self.give("close")
        self.assertEqual(terminal.wait(), 1, terminal.text)
        self.assertIn("closed", self.tree.read("called").splitlines())
        self.assertIn("r.cpp:1:1: error: no", terminal.lines())

    def test_ctrl_c_ends_the_build_and_the_studio(self):
        self.build("read x <never")
        self.studio("trap 'echo closed >>called; exit 0' INT TERM\necho studio is up\n"
                    "read x <never & wait")
        terminal = self.terminal()
        terminal.read_until("studio is up")
        terminal.read_until("Building the rest: 0 of 1")
        terminal.type(b"\x03")
        self.assertEqual(terminal.wait(), 130, terminal.text)
        self.assertIn("closed", self.tree.read("called").splitlines())
        self.assertIn("set-up: interrupted", terminal.text)
        self.assertFalse(self.note())

    def test_ctrl_c_after_the_build_ends_the_studio(self):
        self.build("true")
        self.studio("trap 'echo closed >>called; exit 0' INT\nread x <close\necho studio is up\n"
                    "read x <never & wait")
        terminal = self.terminal()
        terminal.read_until("The studio can start runs now")
        self.give("close")
        terminal.read_until("studio is up")
        terminal.type(b"\x03")
        self.assertEqual(terminal.wait(), 130, terminal.text)
        self.assertIn("closed", self.tree.read("called").splitlines())

    def test_ends_with_the_exit_code_of_the_studio(self):
        self.build("true")
        self.studio("exit 7")
        self.assertEqual(self.tree.run("app/run", DISPLAY=":77").returncode, 7)

    def test_opens_nothing_when_the_studio_cannot_be_built(self):
        self.tree.build(("studio.o", "Building CXX object studio.o", "echo error; false"),
                        ("rest", "Building CXX object rest", "true"), more=TARGETS)
        self.studio("echo opened >>called")
        ended = self.tree.run("app/run", DISPLAY=":77")
        self.assertEqual(ended.returncode, 1, ended)
        self.assertIn("set-up: building the studio failed", ended.stdout)
        self.assertNotIn("opened", self.tree.read("called").splitlines())
        self.assertFalse(self.note())

    def test_opens_the_studio_at_once_when_everything_is_built(self):
        self.build("true")
        self.tree.run("app/run", "--build")
        self.studio(f"echo up; [ -e build/bin/BUILDING ] && echo building")
        ended = self.tree.run("app/run", DISPLAY=":77")
        self.assertEqual(ended.stdout, "up\n")

    def test_trains_without_a_display_when_everything_is_built(self):
        self.build("true")
        self.studio("echo studio $1")
        self.tree.program("build/bin/lockstep", f'cd "$TREE"; {LOCKED}; echo "lockstep $1"')
        ended = self.tree.run("app/run")
        self.assertRegex(ended.stdout, r"^Building Lockstep: 0 of 2 \(0 %\)\nBuilt Lockstep in \d+ s\n"
                                       r"lockstep run\nstudio --picture\ntimeline: .*\.png\n$")
        self.assertIn("unlocked", self.tree.read("called").splitlines())

    def test_is_not_disturbed_by_what_a_killed_one_left(self):
        self.build("true")
        self.tree.write("build/bin/BUILDING", "12 of 20 (60 %)\n")
        ended = self.tree.run("app/run", "--build")
        self.assertEqual(ended.returncode, 0, ended)
        self.assertFalse(self.note())

    def test_waits_for_no_other_one_that_builds_here(self):
        self.build("true")
        path = self.tree.write("build/bin/BUILDING", "12 of 20 (60 %)\n")
        with open(path, "a", encoding="ascii") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            ended = self.tree.run("app/run", DISPLAY=":77")
        self.assertEqual((ended.returncode, ended.stdout.count("\n")), (3, 1), ended)
        self.assertIn("another app/run builds", ended.stdout)
        self.assertTrue(self.note(), "it is the other one's")
        self.assertEqual(self.tree.read("build/bin/BUILDING"), "12 of 20 (60 %)\n")

    def test_hands_on_the_preset_and_verbose(self):
        self.build("true")
        os.makedirs(self.tree.at("other"))
        os.rename(self.tree.at("build"), self.tree.at("other/newer-libtorch"))
        os.rename(self.tree.at("other"), self.tree.at("build"))
        path = "build/newer-libtorch/build.ninja"
        self.tree.write(path, self.tree.read(path).replace("build/", "build/newer-libtorch/"))
        ended = self.tree.run("app/run", "--build", "--verbose", "--preset", "newer-libtorch")
        self.assertEqual(ended.returncode, 0, ended)
        self.assertIn("[2/2] Building CXX object engine/ddp/", ended.stdout)
        self.assertIn("cmake --build build/newer-libtorch --target app/all plugins/all",
                      self.tree.read("called"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
