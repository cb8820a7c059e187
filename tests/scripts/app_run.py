"""app/run with programs that are built: what it starts, with a display and without one."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, BIN = sys.argv[1:3]
SET_UP = "set-up --preset release app/all plugins/all\n"
EXPERIMENT = """name = "small"
[model]
kind = "mlp"
layers = [784, 32, 10]
[data]
kind = "synthetic"
samples = 512
batch_size = 16
[processes]
world_size = 2
[train]
steps = {steps}
"""


class AppRun(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name
        for name in ("app", "build/bin", "experiments/first_steps"):
            os.makedirs(os.path.join(self.root, name))
        shutil.copy(os.path.join(ROOT, "app/run"), os.path.join(self.root, "app/run"))
        # Building is not this test's matter, and would call ctest's own build.
        self.program("app/set-up", 'case "$*" in *--steps-left*) echo 0 ;; *) echo "set-up $*" ;; esac')
        for name in ("lockstep", "lockstep-studio"):
            os.symlink(os.path.join(BIN, name), os.path.join(self.root, "build/bin", name))
        self.write("experiments/first_steps/demo.toml", EXPERIMENT.format(steps=8))

    def write(self, name, text):
        path = os.path.join(self.root, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def program(self, name, text):
        os.chmod(self.write(name, "#!/bin/sh\n" + text + "\n"), 0o755)

    def run_app(self, *arguments, display=None):
        environment = dict(os.environ, XDG_RUNTIME_DIR=self.root)
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "LOCKSTEP_RANK"):
            environment.pop(name, None)
        if display:
            environment["DISPLAY"] = display
        return subprocess.run([os.path.join(self.root, "app/run"), *arguments], env=environment,
                              cwd=self.root, capture_output=True, text=True, timeout=90,
                              check=False)

    def test_trains_and_draws_the_timeline_without_a_display(self):
        ended = self.run_app()
        self.assertEqual(ended.returncode, 0, ended)
        self.assertTrue(ended.stdout.startswith(SET_UP), ended)
        self.assertIn("finished: 8 steps", ended.stdout)
        self.assertIn("starting: ", ended.stderr)
        run = re.search(r"(?m)^run file +(.*\.lockstep)$", ended.stdout)
        picture = re.search(r"(?m)^timeline: (.*\.png)$", ended.stdout)
        self.assertTrue(run and picture, ended)
        self.assertTrue(run[1].startswith(os.path.join(self.root, "runs/demo-")), run[1])
        with open(picture[1], "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        self.assertTrue(os.path.exists(run[1]))

    def test_ends_with_the_exit_code_of_a_run_that_failed(self):
        bad = self.write("bad.toml", EXPERIMENT.format(steps='"many"'))
        ended = self.run_app(bad)
        self.assertEqual(ended.returncode, 2, ended)
        self.assertRegex(ended.stderr, r"^lockstep: .*bad\.toml:\d+:\d+: train\.steps.*\n$")
        self.assertNotIn("timeline:", ended.stdout)

    def test_names_an_experiment_that_is_not_there_and_an_unknown_option(self):
        for argument in ("nowhere.toml", "--fast"):
            ended = self.run_app(argument)
            self.assertEqual(ended.returncode, 2, ended)
            self.assertEqual(ended.stderr.count("\n"), 1, ended)
            self.assertIn(argument, ended.stderr)
            self.assertNotIn("set-up", ended.stdout, "nothing is built for it")

    def test_stops_after_building_with_build(self):
        ended = self.run_app("--build")
        self.assertEqual((ended.returncode, ended.stdout), (0, SET_UP), ended)

    def test_opens_the_studio_with_the_experiment_where_there_is_a_display(self):
        os.remove(os.path.join(self.root, "build/bin/lockstep-studio"))
        self.program("build/bin/lockstep-studio", 'printf "%s\\n" "$@"')
        other = self.write("other.toml", EXPERIMENT.format(steps=3))
        usual = ["--experiments", os.path.join(self.root, "experiments"),
                 "--runs", os.path.join(self.root, "runs")]
        for arguments, more in ((["other.toml"], ["--experiment", other]),
                                ([], [])):  # then it opens what was open last
            ended = self.run_app(*arguments, display=":77")
            self.assertEqual(ended.returncode, 0, ended)
            self.assertEqual(ended.stdout.splitlines()[1:], usual + more)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
