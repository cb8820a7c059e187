""".ci/run over ctest itself, with tests in place of ours that pass, fail and are skipped."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, CTEST = sys.argv[1:3]
PASSED = ("conformance.mlp", "true", "")
UNIT = ("ReducerTest.Passes", "true", "")


class Ci(unittest.TestCase):
    def ci(self, *tests):
        """Runs .ci/run where tests/run is ctest over `tests`: (name, shell text, property)."""
        with tempfile.TemporaryDirectory() as folder:
            for name in (".ci", "tests"):
                os.mkdir(os.path.join(folder, name))
            shutil.copy(os.path.join(ROOT, ".ci/run"), os.path.join(folder, ".ci/run"))
            with open(os.path.join(folder, "CTestTestfile.cmake"), "w", encoding="ascii") as file:
                for name, text, more in tests:
                    file.write(f'add_test({name} sh -c "{text}")\n')
                    if more:
                        file.write(f"set_tests_properties({name} PROPERTIES {more})\n")
            run = os.path.join(folder, "tests/run")
            with open(run, "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\nexec '{CTEST}' --no-tests=ignore\n")
            os.chmod(run, 0o755)
            ended = subprocess.run([os.path.join(folder, ".ci/run")], capture_output=True,
                                   text=True, check=False)
            return ended.returncode, ended.stdout.splitlines()

    def test_ends_with_the_closing_line_of_ctest(self):
        code, lines = self.ci(PASSED, UNIT)
        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[-1], "100% tests passed, 0 tests failed out of 2")

    def test_fails_with_the_tests(self):
        code, lines = self.ci(PASSED, ("ReducerTest.Fails", "false", ""))
        self.assertNotEqual(code, 0)
        self.assertEqual(lines[-1], "50% tests passed, 1 tests failed out of 2")

    def test_refuses_a_skipped_conformance_test(self):
        code, lines = self.ci(PASSED, ("conformance.cnn", "exit 77", "SKIP_RETURN_CODE 77"))
        self.assertEqual(code, 1, lines)
        self.assertIn("ci: a conformance test was skipped; it must run", lines)

    def test_refuses_a_disabled_conformance_test(self):
        code, lines = self.ci(PASSED, ("conformance.cnn", "true", "DISABLED TRUE"))
        self.assertEqual(code, 1, lines)
        self.assertIn("ci: a conformance test was skipped; it must run", lines)

    def test_lets_another_test_be_skipped(self):
        code, lines = self.ci(PASSED, ("gpu.nccl", "exit 77", "SKIP_RETURN_CODE 77"))
        self.assertEqual(code, 0, lines)

    def test_refuses_a_suite_without_conformance_tests(self):
        code, lines = self.ci(UNIT)
        self.assertEqual(code, 1, lines)
        self.assertIn("ci: no conformance test ran", lines)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
