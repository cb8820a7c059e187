#!/usr/bin/env python3
"""What waits is called by one word, wherever the product shows it: engine/glossary/README.md has them.

Usage: words.py SOURCE_FOLDER

Looks at the literals of what speaks to users, and at what the experiments say that they show. The
glossary itself may say what else a thing is called.
"""

import glob
import os
import re
import sys

import cpp_text

SPEAKERS = ("app/**/*.cpp ui/**/*.cpp engine/analysis/*.cpp engine/cost/*.cpp "
            "engine/diagnosis/**/*.cpp engine/experiment/**/*.cpp engine/export/*.cpp "
            "engine/report/**/*.cpp engine/simulate/*.cpp experiments/**/*.toml").split()
OTHER_WORDS = {
    r"\bpeers?\b": "ranks: a rank waits for ranks",
    r"\b(?:held|holds?|holding) up\b": "delayed by a fault, stalled behind a bucket, or longer",
    r"\bwait(?:s|ed|ing)? [^.]*\bfor (?:a core|cores)\b|\bkept from (?:its|a) core\b":
        "no core, had no core",
    r"\bwithout a core\b": "no core, had no core",
    r"\bwaits for a late rank\b": "waiting: who is late is a verdict on a run",
    r"\bwaiting,? (?:with )?nothing in flight\b": "idle",
}


def texts(path):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if path.endswith(".cpp"):
        return [(literal.line, literal.text) for literal in cpp_text.literals(source)]
    return [(number, line) for number, line in enumerate(source.splitlines(), 1)
            if line.startswith("shows")]


def found(root):
    for pattern in SPEAKERS:
        for path in sorted(glob.glob(os.path.join(root, pattern), recursive=True)):
            for line, text in texts(path):
                for other, word in OTHER_WORDS.items():
                    if re.search(other, text):
                        yield f"{os.path.relpath(path, root)}:{line}: \"{text}\"; say {word}"


def main():
    wrong = list(found(sys.argv[1]))
    print("\n".join(wrong) if wrong else "each kind of wait is called by its word")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
