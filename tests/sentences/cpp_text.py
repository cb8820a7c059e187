"""Literals of C++ sources, adjacent ones joined, and the tests that a test program declares."""

import re
from typing import NamedTuple

TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*"
    r'|R"([^( ]*)\((?P<raw>.*?)\)\1"'
    r'|(?:u8|u|L)?"(?P<literal>(?:[^"\\\n]|\\.)*)"'
    r"|'(?:[^'\\\n]|\\.)+'|\w+|\S", re.S | re.M)
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)\s*\{", re.M)

INSTANTIATION = re.compile(r"^\s*INSTANTIATE_TEST_SUITE_P\(\s*\w+,\s*(\w+),", re.M)


class Literal(NamedTuple):
    line: int
    text: str
    before: str  # the code of its statement before it, without blanks


def literals(source):
    """What stands in quotes in a C++ source: includes, comments and single characters do not."""
    found, text, line, before = [], None, 0, ""
    for token in TOKEN.finditer(source):
        word = token.group(0)
        if word.startswith(("//", "/*")) or word.lstrip().startswith("#"):
            continue
        part = token.group("literal") if token.group("raw") is None else token.group("raw")
        if part is not None:
            if text is None:
                text, line = "", source.count("\n", 0, token.start()) + 1
            text += part
            continue
        if text is not None:
            found.append(Literal(line, text.replace("\n", "\\n"), before))
            text = None
        before = "" if word in ";{}" else before + word
    if text is not None:
        found.append(Literal(line, text.replace("\n", "\\n"), before))
    return found


def tests(source):
    """By name, Suite.Name, the text of each test of a GoogleTest program, with what it calls.

    A test's text is its body, and those functions of the file that it names, one call deep: an
    expectation that several tests share stands in a function of theirs. The tests with parameters
    have those of their suite, too.
    """
    bodies, rest, end = {}, "", 0
    for start in TEST.finditer(source):
        if start.start() < end:
            continue
        rest += source[end:start.start()]
        end = _after_block(source, start.end())
        bodies[f"{start.group(1)}.{start.group(2)}"] = source[start.end():end]
    rest += source[end:]
    helpers = {}
    for name in re.finditer(r"^[\w:<>,&*\[\] ]+?\b(\w+)\([^;{}]*\)\s*(?:const\s*)?(?:override\s*)?\{",
                            rest, re.M):
        helpers[name.group(1)] = rest[name.end():_after_block(rest, name.end())]
    tables = {}
    for name in re.finditer(r"\b(k[A-Z]\w*)(?:\[\])?\s*(?:=|\{)([^;]*);", rest):
        tables[name.group(1)] = name.group(2)
    parameters = {}
    for name in INSTANTIATION.finditer(rest):
        values = rest[name.end():rest.find("\n\n", name.end())]
        parameters[name.group(1)] = parameters.get(name.group(1), "") + values
    for test, body in bodies.items():
        body += parameters.get(test.split(".")[0], "")
        words = set(re.findall(r"\w+", body))
        bodies[test] = "\n".join([body] + [text for name, text in (helpers | tables).items()
                                           if name in words])
    return bodies


def _after_block(source, position):
    depth = 1
    for token in TOKEN.finditer(source, position):
        if token.group(0) == "{":
            depth += 1
        elif token.group(0) == "}":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(source)
