"""What ccache keeps, with the settings of the build: a file that is edited while it is compiled is
compiled again."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv[1])

# A compiler that, once it is done and before ccache hears of it, lets somebody edit.
SLOW = """#!/bin/sh
g++ "$@" || exit
case " $* " in *" -c "*) echo compiled >{done}; read edited <{go};; esac
"""


class Ccache(unittest.TestCase):
    def setUp(self):
        rules = (BUILD / "CMakeFiles/rules.ninja").read_text()
        launcher = re.search(r"-E env (CCACHE_DEPEND=\S+(?: CCACHE_\S+=\S+)*) (\S*ccache)", rules)
        if launcher is None:
            self.skipTest("this tree was configured without ccache")
        self.ccache = launcher[2]
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = dict(os.environ, CCACHE_DIR=str(self.folder / "cache"),
                                **dict(word.split("=", 1) for word in launcher[1].split()))
        self.environment.pop("CCACHE_DISABLE", None)
        self.environment["CCACHE_BASEDIR"] = str(self.folder)
        for pipe in ("done", "go"):
            os.mkfifo(self.folder / pipe)
        slow = self.folder / "g++"
        slow.write_text(SLOW.format(done=self.folder / "done", go=self.folder / "go"))
        slow.chmod(0o755)
        (self.folder / "a.cpp").write_text('#include "a.h"\nint a() { return VALUE; }\n')

    def compile(self, meanwhile=lambda: None):
        """Compiles a.cpp, and returns the number that its function returns."""
        words = [self.ccache, self.folder / "g++", "-MD", "-MF", "a.d", "-O2", "-c", "a.cpp",
                 "-o", "a.o"]
        running = subprocess.Popen(words, cwd=self.folder, env=self.environment)
        done = os.open(self.folder / "done", os.O_RDONLY | os.O_NONBLOCK)
        go = os.open(self.folder / "go", os.O_RDWR | os.O_NONBLOCK)
        try:
            while running.poll() is None:
                try:
                    if os.read(done, 100):
                        meanwhile()
                        os.write(go, b"edited\n")
                except BlockingIOError:
                    pass
        finally:
            os.close(done)
            os.close(go)
        self.assertEqual(running.returncode, 0)
        code = subprocess.run(["objdump", "-d", "a.o"], cwd=self.folder, check=True,
                              capture_output=True, text=True).stdout
        return int(re.search(r"mov +\$0x([0-9a-f]+),%eax", code)[1], 16)

    def test_what_was_edited_while_it_was_compiled_is_compiled_again(self):
        header = self.folder / "a.h"
        header.write_text("#define VALUE 17\n")
        self.assertEqual(self.compile(lambda: header.write_text("#define VALUE 34\n")), 17)
        self.assertEqual(self.compile(), 34)


unittest.main(argv=sys.argv[:1])
