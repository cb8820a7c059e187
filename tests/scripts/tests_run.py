"""tests/run over ctest itself, with tests in place of ours: what it says at its end."""

import os
import sys
import unittest

from scratch import Tree

ROOT, CTEST = sys.argv[1:3]
GTEST_SKIP = "printf '/x/GpuTest.cpp:232: Skipped\\nno GPU here\\n\\n[  SKIPPED ] Gpu.X (0 ms)\\n'"
SKIPS_BY_TEXT = 'SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]"'
SKIPS_BY_CODE = "SKIP_RETURN_CODE 77"


def suite(name, *cases):
    """Shell text of a test that writes what GoogleTest does of these cases."""
    text = f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"
    return f"mkdir -p suites/test_x; printf '%s' '{text}' >suites/test_x/{name}.xml; "


class TestsRun(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(ROOT, "tests/run", "tests/summary.py", "CMakePresets.json")
        self.addCleanup(self.tree.close)
        self.tree.program("app/set-up", 'echo "set-up $*"')
        self.tree.program("programs/Xvfb", "exec bash -c 'echo 77 >&$1' Xvfb \"$2\"")
        self.tree.program("programs/ctest", f"exec '{CTEST}' \"$@\"")

    def run_tests(self, *tests, arguments=(), left_out=""):
        """tests/run over these tests: (name, shell text, property); its exit code and lines."""
        text = ""
        for number, (name, command, more) in enumerate(tests):
            script = self.tree.write(f"build/test{number}.sh", command + "\n")
            text += f'add_test({name} sh "{script}")\n'
            if more:
                text += f"set_tests_properties({name} PROPERTIES {more})\n"
        self.tree.write("build/CTestTestfile.cmake", text)
        self.tree.write("build/left_out.txt", left_out)
        ended = self.tree.run("tests/run", *arguments)
        return ended.returncode, ended.stdout.splitlines()

    def test_says_at_its_end_what_ran_and_what_was_left_out_and_why(self):
        code, lines = self.run_tests(
            ("mlp", "true", ""), ("Gpu.A", GTEST_SKIP, SKIPS_BY_TEXT),
            ("Gpu.B", GTEST_SKIP, SKIPS_BY_TEXT),
            ("slurm", "echo 'skipped: no slurmd here'; exit 77", SKIPS_BY_CODE),
            left_out="\n * mpi backend, no MPI is installed\n * nccl backend, this libtorch has no CUDA\n")
        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[0], "set-up --preset release --with-tests --named Lockstep and its tests")
        self.assertIn("100% tests passed, 0 tests failed out of 4", lines)
        self.assertRegex(lines[-3], r"^Ran 1 test in \d+ s: all passed$")
        self.assertEqual(lines[-2:],
                         ["Skipped 3: 2 × no GPU here; 1 × no slurmd here",
                          "Not built: mpi backend: no MPI is installed; "
                          "nccl backend: this libtorch has no CUDA"])

    def test_names_what_failed_and_fails(self):
        code, lines = self.run_tests(("good", "true", ""), ("bad", "false", ""))
        self.assertNotEqual(code, 0)
        self.assertRegex(lines[-3], r"^Ran 2 tests in \d+ s: 1 passed, 1 failed \(bad\)$")
        self.assertEqual(lines[-2:], ["Skipped none", "Not built: nothing, every part is in"])

    def test_puts_delays_before_the_libraries_of_the_tests(self):
        held_up = ("held_up", 'case "$LD_PRELOAD" in */build/bin/liblockstep_delays.so) ;; *) false ;; esac', "")
        self.assertEqual(self.run_tests(held_up, arguments=["--delays"])[0], 0)
        self.assertNotEqual(self.run_tests(held_up)[0], 0)

    def test_refuses_delays_under_a_sanitizer(self):
        ended = self.tree.run("tests/run", "--delays", "--preset", "tsan")
        self.assertEqual(ended.returncode, 2)
        self.assertRegex(ended.stdout, r"\Atests/run: --delays and the preset tsan .*\n\Z")

    def test_counts_each_case_of_a_suite_that_ran_as_one(self):
        # Of an earlier call.
        self.tree.write("build/suites/test_old/Old.xml", "<testsuites/>")
        code, lines = self.run_tests(
            ("Ranks/Ring", suite("Ranks.Ring", '<testcase name="A/1"/>',
                                 '<testcase name="B/1"><failure message="x"/></testcase>') +
             "exit 1", ""),
            ("Gpu", suite("Gpu", '<testcase name="A"><skipped message="G.cpp:1&#x0A;no GPU here"/>'
                          "</testcase>"), ""),
            ("Leaks", suite("Leaks", '<testcase name="A"/>') + "exit 23", ""),
            ("Crashes", "exit 134", ""))
        self.assertNotEqual(code, 0)
        self.assertRegex(lines[-3], r"^Ran 5 tests in \d+ s: 2 passed, 3 failed "
                                    r"\(Ranks/Ring.B/1, Leaks, Crashes\)$")
        self.assertEqual(lines[-2], "Skipped 1: 1 × no GPU here")

    def test_a_program_that_is_not_there_is_no_skipped_test(self):
        self.tree.write("build/CTestTestfile.cmake", "add_test(gone /nonexistent)\n")
        ended = self.tree.run("tests/run")
        self.assertNotEqual(ended.returncode, 0)
        self.assertRegex(ended.stdout, r"Ran 1 test in \d+ s: 0 passed, 1 failed \(gone\)\nSkipped none")

    def test_says_that_only_some_were_asked_for(self):
        code, lines = self.run_tests(("one", "true", ""), ("two", "true", ""),
                                     arguments=("-R", "one", "--verbose"))
        self.assertEqual(code, 0, lines)
        self.assertTrue(lines[0].endswith("--verbose"), lines[0])
        self.assertRegex(lines[-3], r"^Ran 1 test in \d+ s: all passed$")
        self.assertEqual(lines[-1], "Not built: nothing, every part is in. "
                                    "Not asked for: what -R one leaves out")

    def test_a_mere_list_has_no_such_lines(self):
        # What an earlier call left is not told again.
        self.tree.write("build/tests.xml", "<testsuite/>")
        code, lines = self.run_tests(("one", "true", ""), arguments=("-N",))
        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[-1], "Total Tests: 1")

    def test_stops_after_building_with_build(self):
        code, lines = self.run_tests(("one", "true", ""), arguments=("--build",))
        self.assertEqual((code, len(lines)), (0, 1), lines)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
