"""app/set-up: what it installs, configures and builds, with programs in place of apt-get, CMake and
the compiler."""

import os
import re
import shutil
import sys
import unittest

from scratch import Terminal, Tree

ROOT = sys.argv[1]
ROOM = "engine/trace/CMakeFiles/lockstep_engine_trace.dir/"
TOOLS = ("awk bash basename cat comm dirname env grep head mkdir mktemp ninja readlink rm sed sh sort "
         "stty tail touch tr true wc").split()
NOTHING_LEFT = ["cmake --build build --target build.ninja", "cmake --build build -- -n"]


class SetUp(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(ROOT, "app/set-up", "app/progress", "app/steps.awk")
        self.addCleanup(self.tree.close)

    def installed(self, *but):
        """dpkg-query, with all packages of the list but some; returns their names."""
        text = self.tree.read("app/set-up")
        names = re.findall(r"[a-z0-9.+-]+",
                           " ".join(re.findall(r"packages(?:_of_some)?\+?=\(([^$)]+)\)", text)))
        names = [name for name in names if name not in but]
        self.tree.write("installed", "".join(f"ii  {name}\n" for name in names))
        self.tree.program("programs/dpkg-query", 'cat "$TREE/installed"')
        return names

    def apt(self, known, install="true", user=0):
        """apt-get and apt-cache of a system that knows these packages."""
        self.tree.program("programs/id", f"echo {user}")
        self.tree.program("programs/sudo", 'echo "sudo" >>"$TREE/called"\nexec "$@"')
        self.tree.program("programs/apt-get", 'shift 2\necho "apt-get $*" >>"$TREE/called"\n'
                                              f'[ "$1" = update ] || {{ {install}; }}')
        self.tree.program("programs/apt-cache",
                          'shift\nfor name; do\n  candidate="(none)"\n'
                          f'  case " {" ".join(known)} " in *" $name "*) candidate=1.0 ;; esac\n'
                          '  printf "%s:\\n  Installed: (none)\\n  Candidate: %s\\n" "$name" "$candidate"\n'
                          'done')

    def called(self):
        return self.tree.read("called").splitlines()

    # ---- Installing ----

    def test_installs_and_configures_nothing_when_nothing_is_missing(self):
        # A name in its list that is no package of its own would be missing for ever: here the
        # packages are those of this machine.
        self.tree.build(("a", "Generating a", "true"))
        self.tree.run("app/set-up")
        for name in ("apt-get", "sudo"):
            self.tree.program(f"programs/{name}", f'echo {name} "$@"')
        os.remove(self.tree.at("called"))
        ended = self.tree.run("app/set-up", "--with-tests")
        self.assertEqual((ended.returncode, ended.stdout), (0, ""), ended)
        self.assertEqual(self.called(), NOTHING_LEFT)

    def test_installs_what_is_missing_and_says_how_long_that_took(self):
        self.tree.build()
        self.installed("cmake", "libfmt-dev", "libqt6opengl6-dev")
        self.apt(["cmake", "libfmt-dev", "libqt6opengl6-dev"],
                 'echo "pmstatus:cmake:40.0:Unpacking cmake (all)" >&3; echo "Unpacking cmake ..."')
        ended = self.tree.run("app/set-up")
        self.assertEqual(ended.returncode, 0, ended)
        self.assertRegex(ended.stdout, r"^Installing: cmake libfmt-dev libqt6opengl6-dev\n"
                                       r"Installing 3 packages: unpacking cmake, 1 \(40 %\)\n"
                                       r"Installed them in \d+ s\n$")
        self.assertEqual(self.called()[:2],
                         ["apt-get update", "apt-get install -y --no-install-recommends cmake "
                                            "libfmt-dev libqt6opengl6-dev"])

    def test_asks_sudo_when_it_is_not_root(self):
        self.tree.build()
        self.installed("cmake")
        self.apt(["cmake"], user=1000)
        self.assertEqual(self.tree.run("app/set-up").returncode, 0)
        self.assertEqual(self.called()[:2], ["sudo", "apt-get update"])

    def test_leaves_out_a_package_that_is_part_of_another_one_here(self):
        self.tree.build()
        self.installed("cmake", "libqt6opengl6-dev")
        self.apt(["cmake"])
        ended = self.tree.run("app/set-up")
        self.assertIn("Installing: cmake\n", ended.stdout)
        self.assertIn("apt-get install -y --no-install-recommends cmake", self.called())
        # ... and does not look for it in the lists at every call.
        self.installed("libqt6opengl6-dev")
        os.remove(self.tree.at("called"))
        self.assertEqual(self.tree.run("app/set-up").stdout, "")
        self.assertEqual(self.called(), NOTHING_LEFT)

    def test_says_what_to_do_where_libtorch_is_no_package(self):
        self.installed("libtorch-dev", "cmake")
        self.apt(["cmake"])
        ended = self.tree.run("app/set-up")
        self.assertEqual((ended.returncode, ended.stdout.count("\n")), (3, 1), ended)
        self.assertIn("app/get-libtorch", ended.stdout)
        self.assertIn("--preset newer-libtorch", ended.stdout)

    def test_the_preset_with_libtorch_of_a_wheel_needs_none_of_the_system(self):
        self.tree.build()
        os.rename(self.tree.at("build"), self.tree.at("other"))
        os.mkdir(self.tree.at("build"))
        os.rename(self.tree.at("other"), self.tree.at("build/newer-libtorch"))
        self.installed("libtorch-dev", "python3-torch")
        self.apt([])
        ended = self.tree.run("app/set-up", "--preset", "newer-libtorch", "--with-tests")
        self.assertEqual((ended.returncode, ended.stdout), (0, ""), ended)

    def test_names_packages_that_this_system_does_not_know(self):
        self.installed("libimgui-dev", "cmake")
        self.apt(["cmake"])
        ended = self.tree.run("app/set-up")
        self.assertEqual((ended.returncode, ended.stdout.count("\n")), (3, 1), ended)
        self.assertTrue(ended.stdout.endswith(" libimgui-dev\n"), ended)

    def test_shows_the_end_of_what_apt_get_said_when_it_fails(self):
        self.installed("cmake")
        self.apt(["cmake"], "echo early; seq 30 >&2; exit 100")
        ended = self.tree.run("app/set-up")
        lines = ended.stdout.splitlines()
        self.assertEqual(ended.returncode, 3, ended)
        self.assertEqual(lines[1:-1], [str(i) for i in range(11, 31)])
        log = lines[-1].rpartition(": ")[2]
        self.assertTrue(self.tree.read(log).startswith("early\n"), ended)

    def test_verbose_shows_what_apt_get_says(self):
        self.tree.build()
        self.installed("cmake")
        self.apt(["cmake"])
        self.tree.program("programs/apt-get", 'echo "apt-get $*"')
        ended = self.tree.run("app/set-up", "--verbose")
        self.assertIn("apt-get update\n", ended.stdout)
        self.assertIn("apt-get install -y --no-install-recommends cmake\n", ended.stdout)

    def test_names_what_is_needed_on_a_system_without_apt_get(self):
        # Only these programs, so that this machine's apt-get is not found.
        for name in TOOLS:
            os.symlink(shutil.which(name), self.tree.at(f"programs/{name}"))
        ended = self.tree.run("app/set-up", PATH=self.tree.at("programs"))
        self.assertEqual((ended.returncode, ended.stdout.count("\n")), (3, 1), ended)
        for name in ("no apt-get", "cmake", "ninja-build", "libtorch-dev", "qt6-base-dev"):
            self.assertIn(name, ended.stdout)
        # With CMake and ninja there it goes on, and CMake says what else is missing.
        self.tree.build(("a", "Generating a", "true"))
        ended = self.tree.run("app/set-up", PATH=self.tree.at("programs"))
        self.assertEqual(ended.returncode, 0, ended)
        self.assertIn("Built Lockstep in ", ended.stdout)

    # ---- Configuring ----

    def test_configures_a_new_tree_without_tests_unless_told(self):
        self.installed()
        for options, told in (((), "OFF"), (("--with-tests",), "ON")):
            self.tree.build()
            for name in ("build/build.ninja", "build/CMakeCache.txt"):
                os.remove(self.tree.at(name))
            self.tree.program("programs/configure",
                              "echo 'build build.ninja all: phony' >build/build.ninja; echo talk")
            ended = self.tree.run("app/set-up", *options)
            self.assertIn(f"cmake --preset release -DLOCKSTEP_WITH_TESTS={told}", self.called())
            self.assertTrue(ended.stdout.startswith("Configuring (release)\n"), ended)
            self.assertEqual(self.tree.read("build/configure.log"), "talk\n")

    def test_shows_the_end_of_what_cmake_said_when_it_cannot_configure(self):
        self.installed()
        self.tree.build()
        os.remove(self.tree.at("build/build.ninja"))
        self.tree.program("programs/configure", "seq 40; exit 1")
        ended = self.tree.run("app/set-up")
        self.assertEqual(ended.returncode, 3, ended)
        self.assertEqual(ended.stdout.splitlines()[1:-1], [str(i) for i in range(11, 41)])
        self.assertTrue(ended.stdout.endswith(" build/configure.log\n"), ended)

    def test_a_list_of_sources_that_cannot_be_configured_again_is_a_failure_to_configure(self):
        self.installed()
        self.tree.build(("a", "Generating a", "true"))
        ninja = self.tree.read("build/build.ninja")
        self.tree.write("build/build.ninja", ninja.replace(
            "build build.ninja: again\n  run = true",
            "build build.ninja: again ../CMakeLists.txt\n  run = echo CMake Error; false"))
        self.tree.write("CMakeLists.txt", "")
        os.utime(self.tree.at("build/build.ninja"), (1, 1))
        ended = self.tree.run("app/set-up")
        self.assertEqual(ended.returncode, 3, ended)
        self.assertIn("CMake Error\n", ended.stdout)
        self.assertTrue(ended.stdout.endswith(" build/configure.log\n"), ended)

    # ---- Building ----

    def test_builds_in_one_line_on_a_terminal(self):
        self.installed()
        self.tree.build((f"{ROOM}a.cpp.o", f"Building CXX object {ROOM}a.cpp.o", "true"),
                        ("ui/x.a", "Linking CXX static library ui/x.a", "true"))
        terminal = Terminal(self.tree, "app/set-up", "--named", "the studio", "all")
        self.assertEqual(terminal.wait(), 0, terminal.text)
        self.assertRegex("\n".join(terminal.lines()), r"^Built the studio in \d+ s\n$")
        self.assertIn("Building the studio: engine/trace, 1 of 2 (50 %)", terminal.states())
        self.assertEqual(self.called()[-1], "cmake --build build --target all")

    def test_says_nothing_when_there_is_nothing_to_build(self):
        self.installed()
        self.tree.build(("a", "Generating a", "true"))
        self.assertIn("Built Lockstep in", self.tree.run("app/set-up").stdout)
        ended = self.tree.run("app/set-up")
        self.assertEqual((ended.returncode, ended.stdout), (0, ""))

    def test_shows_a_failed_step_whole_and_fails(self):
        self.installed()
        self.tree.build(("a.o", "Building CXX object a.o", "true"),
                        ("b.o", "Building CXX object b.o",
                         "echo b.cpp:1:1: error: no >&2; echo '   1 | x' >&2; false"))
        for terminal in (False, True):
            if terminal:
                shown = Terminal(self.tree, "app/set-up")
                code, lines = shown.wait(), shown.lines()[:-1]
            else:
                ended = self.tree.run("app/set-up")
                code, lines = ended.returncode, ended.stdout.splitlines()[1:]
            self.assertEqual(code, 1, lines)
            self.assertEqual(lines[0], "Building CXX object b.o")
            self.assertEqual(lines[1].strip(), "FAILED: b.o")
            self.assertEqual(lines[3:6], ["b.cpp:1:1: error: no", "   1 | x",
                                          "ninja: build stopped: subcommand failed."])
            self.assertRegex(lines[-1], "^set-up: building Lockstep failed after ")

    def test_shows_a_warning_and_goes_on(self):
        self.installed()
        self.tree.build(("a.o", "Building CXX object a.o", "echo a.cpp:1:1: warning: odd >&2"))
        ended = self.tree.run("app/set-up")
        self.assertEqual(ended.returncode, 0, ended)
        self.assertIn("Building CXX object a.o\na.cpp:1:1: warning: odd\nBuilt Lockstep", ended.stdout)

    def test_verbose_shows_the_lines_of_ninja(self):
        self.installed()
        self.tree.build(("a", "Generating a", "true"), ("b", "Generating b", "true"))
        ended = self.tree.run("app/set-up", "--verbose")
        self.assertEqual((ended.returncode, ended.stdout),
                         (0, "[1/2] Generating a\n[2/2] Generating b\n"))

    def test_counts_the_steps_that_are_left_and_builds_nothing(self):
        self.installed()
        self.tree.build(("a", "Generating a", "true"), ("b", "Generating b", "true"))
        for targets, left in (((), "2\n"), (("a",), "1\n")):
            ended = self.tree.run("app/set-up", "--steps-left", *targets)
            self.assertEqual((ended.returncode, ended.stdout), (0, left))
        self.tree.run("app/set-up")
        self.assertEqual(self.tree.run("app/set-up", "--steps-left").stdout, "0\n")

    def test_ctrl_c_ends_the_build_and_leaves_the_line_clean(self):
        self.installed()
        self.tree.fifo("never")
        self.tree.build(("a", "Generating a", "echo a is built"),
                        ("b", "Generating b", "read x <never"))
        terminal = Terminal(self.tree, "app/set-up")
        terminal.read_until("a is built")
        terminal.read_until("1 of 2")
        terminal.type(b"\x03")
        self.assertEqual(terminal.wait(), 130, terminal.text)
        self.assertRegex(terminal.lines()[-2], r"^(\^C)?set-up: interrupted; what is built is kept")
        self.assertNotIn("1 of 2", "\n".join(terminal.lines()))
        self.assertFalse(os.path.exists(self.tree.at("build/b")))

    def test_names_an_unknown_option(self):
        ended = self.tree.run("app/set-up", "--fast")
        self.assertEqual((ended.returncode, ended.stdout.count("\n")), (2, 1), ended)
        self.assertIn("--fast", ended.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
