#!/usr/bin/env python3
"""Compares the parser with Python 3.11's own, which is the definition of what it has to accept.

    oracle.py [--check PROGRAM] MODE...

    accept [N] [DIR...]           N files (0: all) below the directories: is the same accepted? default: the standard library
    trees [N] [DIR...]            the same for the syntax trees: kinds, fields, values, source ranges
    mutants N SEED [DIR...]       N files made wrong in one place each: is the same refused?
    snippets                      every snippet of test/parse/snippets.txt, accepted or not and its tree; and deep nesting
    snippet-mutants N SEED        the snippets made wrong in up to three places

PROGRAM is tlc_syntax_check (default: build/bin). Needs Python 3.11: newer ones accept other f-strings.
Differences on purpose are listed in `on_purpose`; any other one fails.
"""
import argparse
import ast
import os
import random
import re
import subprocess
import sys
import sysconfig
import tempfile
import warnings

from expected_tree import expected_tree
from mutate import mutate

warnings.simplefilter("ignore")
sys.setrecursionlimit(20000)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def python_says(source):
    """None if Python parses it, else the reason."""
    try:
        ast.parse(source)
    except SyntaxError as e:
        return f"{type(e).__name__}: {e.msg} (line {e.lineno})"
    except (ValueError, MemoryError, RecursionError) as e:
        return f"{type(e).__name__}: {e}"
    return None


def on_purpose(source, reason, accepted, message=""):
    """The differences that are meant: encodings (UTF-8, ASCII and Latin-1 only), bytes in comments that are not UTF-8, and
    expressions of more than 1000 nested operations, which here are a limit and there exhaust a stack only later."""
    if "TL0025" in message and "operations inside each other" in message:
        return True
    head = source[:3] == b"\xef\xbb\xbf" or re.search(rb"coding[:=]", b"\n".join(source.splitlines()[:2]))
    try:
        source.decode("utf-8")
        utf8 = True
    except UnicodeDecodeError:
        utf8 = False
    return bool(not accepted and (head or not utf8)) or bool(accepted and reason and "encoding" in reason)


class Checker:
    def __init__(self, program):
        self.program = program

    def accepts(self, paths):
        with tempfile.NamedTemporaryFile("w", suffix=".list") as listing:
            listing.write("\n".join(paths))
            listing.flush()
            run = subprocess.run([self.program, "--quiet", "@" + listing.name], capture_output=True, text=True)
        answers = run.stdout.split()
        if run.returncode not in (0, 1) or len(answers) != len(paths):
            sys.exit(f"{self.program} ended with {run.returncode} at {paths[len(answers)]}: "
                     f"{open(paths[len(answers)], 'rb').read()[:2000]!r}")
        return [a == "1" for a in answers]

    def message(self, path):
        run = subprocess.run([self.program, path], capture_output=True, text=True, errors="replace")
        return run.stdout.split("\n")[0]

    def tree(self, path):
        return subprocess.run([self.program, "--ast", path], capture_output=True, text=True, errors="replace").stdout

    def compare(self, items, title, trees=False):
        """items: (name, bytes, path or None). Returns the number of differences that are not on purpose."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, (name, source, path) in enumerate(items):
                if path is None:
                    path = os.path.join(folder, f"{i}.py")
                    with open(path, "wb") as f:
                        f.write(source)
                paths.append(path)
            differ, taken, meant, nodes = 0, 0, 0, 0
            for (name, source, _), path, accepted in zip(items, paths, self.accepts(paths)):
                reason = python_says(source)
                taken += reason is None
                if (reason is None) != accepted:
                    if on_purpose(source, reason, accepted, "" if accepted else self.message(path)):
                        meant += 1
                        continue
                    differ += 1
                    if differ <= 25:
                        print(f"- {name}\n    Python: {reason or 'accepts'}\n    ours:   {self.message(path) if not accepted else 'accepts'}")
                elif accepted and trees and not on_purpose(source, None, False):
                    theirs, mine = without_inner_ranges(expected_tree(source)), without_inner_ranges(self.tree(path))
                    nodes += theirs.count("\n")
                    if theirs != mine:
                        differ += 1
                        if differ <= 25:
                            show_difference(name, theirs, mine)
        print(f"{title}: {len(items)} files, {taken} accepted by Python, {differ} differences, {meant} on purpose"
              + (f", {nodes} lines of trees" if trees else ""))
        return differ


def without_inner_ranges(tree):
    """Inside f-strings Python 3.11 gives every part the range of the whole string; ours are true."""
    lines, inside = tree.split("\n"), None
    for i, line in enumerate(lines):
        depth = len(line) - len(line.lstrip(" "))
        if inside is not None and depth <= inside:
            inside = None
        if inside is not None:
            lines[i] = re.sub(r"^( *(?:\w+: )?\w+) \d+:\d+-\d+:\d+", r"\1", line)
        elif re.match(r" *(?:\w+: )?JoinedStr ", line):
            inside = depth
    return "\n".join(lines)


def show_difference(name, theirs, mine):
    a, b = theirs.split("\n"), mine.split("\n")
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    print(f"- {name}: trees differ at line {at + 1}\n    Python: {a[at:at + 2]}\n    ours:   {b[at:at + 2]}")


def files(roots):
    for root in roots:
        for folder, _, names in sorted(os.walk(root)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith((".py", ".tl")) and os.path.isfile(path):
                    yield path


def sample(roots, count):
    paths = list(files(roots or [sysconfig.get_path("stdlib")]))
    if count and count < len(paths):
        paths = random.Random(1).sample(paths, count)
    return paths


def snippets():
    with open(os.path.join(ROOT, "test", "parse", "snippets.txt"), "rb") as f:
        return f.read().split(b"\n---\n")


def deep():
    for n in (50, 199, 200, 201, 1000, 10000):
        for opening, closing in ("()", "[]", "{}"):
            yield f"{n} times {opening}", opening * n + "1" + closing * n
        yield f"{n} unclosed", "(" * n
        yield f"{n} calls", "f(" * n + ")" * n
    for n in (50, 90, 99, 100, 101, 1000):
        yield f"{n} blocks", "".join(" " * i + "if x:\n" for i in range(n)) + " " * n + "pass\n"
    for n in (50, 450):
        for what in ("not ", "-", "lambda: ", "x if y else ", "2 ** ", "await x.y + "):
            yield f"{n} times '{what}'", what * n + "1"
        for what in (".x", "[1]", "()", " + 1", " and x", " < 1", ", x", " if y else x"):
            yield f"{n} times '{what}'", "x" + what * n


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", default=os.path.join(ROOT, "build", "bin", "tlc_syntax_check"))
    parser.add_argument("mode", choices=["accept", "trees", "mutants", "snippets", "snippet-mutants"])
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    if sys.version_info[:2] != (3, 11):
        print(f"skipped: this is Python {sys.version_info[0]}.{sys.version_info[1]}, the grammar is that of 3.11")
        return 77
    checker, rest = Checker(options.check), options.arguments
    if options.mode in ("accept", "trees"):
        paths = sample(rest[1:], int(rest[0]) if rest else 0)
        return checker.compare([(p, open(p, "rb").read(), p) for p in paths], options.mode, options.mode == "trees") > 0
    if options.mode == "snippets":
        differ = checker.compare([(repr(t)[:100], t, None) for t in snippets()], "snippets", True)
        return differ + checker.compare([(name, text.encode(), None) for name, text in deep()], "deep nesting") > 0
    count, chance = int(rest[0]), random.Random(int(rest[1]))
    items = []
    pool = [] if options.mode == "snippet-mutants" else [p for p in files(rest[2:] or [sysconfig.get_path("stdlib")]) if os.path.getsize(p) < 200000]
    texts = snippets()
    for _ in range(count):
        if options.mode == "mutants":
            path = chance.choice(pool)
            text, kind = mutate(open(path, "rb").read(), chance)
            items.append((f"{kind}: {path}", text, None))
        else:
            text = chance.choice(texts)
            for _ in range(chance.choice([1, 1, 2, 3])):
                text, kind = mutate(text, chance)
            items.append((repr(text)[:150], text, None))
    return checker.compare(items, f"{options.mode}, seed {rest[1]}", options.mode == "snippet-mutants" and count <= 3000) > 0


sys.exit(main())
