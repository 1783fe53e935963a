#!/usr/bin/env python3
"""Holds the rooms of compiler/ to the order in which they may include each other.

Two sources are checked against the table below: every #include, and every link line of a CMakeLists.txt. A breach is an
error (exit 1). Files and functions that outgrew their budget are warnings, since the cure is a better idea, not a
mechanical split. `--strict` turns warnings into errors.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# room -> rooms it names itself; what those may include, it may include too.
BASE = {
    "support": [],
    "syntax": ["support"],
    "parse": ["syntax"],
    "sema": ["syntax"],
    "layout": ["support"],
    "target": ["layout"],
    "ir": ["target"],
    "elaborate": ["sema", "target", "ir"],
    "interpret": ["ir"],
    "analysis": ["ir"],
    "passes": ["analysis"],
    "emit": ["ir"],
    "driver": ["parse", "sema", "elaborate", "interpret", "passes", "emit"],
}
FILE_BUDGET = 600
FUNCTION_BUDGET = 80
# A third-party header that only one room may see, because that room is the door to it.
DOORS = {"antlr4-runtime": "parse", "utf8proc": "parse", "CLI/": "driver"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def closure(room):
    seen, todo = set(), [room]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += BASE[name]
    return seen


ALLOWED = {room: closure(room) for room in BASE}


def relative(path):
    return path.relative_to(ROOT)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_includes(errors):
    for path in sorted((ROOT / "compiler").glob("*/**/*")):
        if path.suffix not in (".h", ".cpp", ".def", ".inc"):
            continue
        room = relative(path).parts[1]
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            where = f"{relative(path)}:{line_of(text, match.start())}"
            header = match.group(2)
            for prefix, door in DOORS.items():
                if header.startswith(prefix) and room != door:
                    errors.append(f"{where}: only '{door}' may include <{header}>")
            target = header.split("/")[0]
            if match.group(1) == '"' and target in BASE and target not in ALLOWED.get(room, ()):
                errors.append(f"{where}: '{room}' may not include '{target}' ({header})")
    for path in sorted((ROOT / "runtime").glob("**/*")):
        if path.suffix not in (".h", ".cuh", ".cpp", ".cu", ".hip", ".inc"):
            continue
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            header = match.group(2)
            if header.startswith("compiler/") or (header.split("/")[0] in BASE and match.group(1) == '"'):
                errors.append(f"{relative(path)}:{line_of(text, match.start())}: runtime never includes the compiler ({header})")


def check_links(errors):
    for path in [ROOT / "compiler/CMakeLists.txt", *sorted((ROOT / "compiler").glob("*/CMakeLists.txt"))]:
        text = path.read_text()
        links = []
        for match in re.finditer(r"tlc_room\(\s*(\w+)([^)]*)\)", text):
            depends = match.group(2).partition("DEPENDS")[2].split()
            links += [(match.group(1), room, match.start()) for room in depends]
        for match in re.finditer(r"target_link_libraries\(\s*tlc_(\w+)([^)]*)\)", text):
            names = [n[len("tlc_"):] for n in match.group(2).split() if n.startswith("tlc_")]
            links += [(match.group(1), room, match.start()) for room in names if room in BASE]
        for room, other, position in links:
            if room in BASE and other not in ALLOWED[room]:
                errors.append(f"{relative(path)}:{line_of(text, position)}: 'tlc_{room}' may not link 'tlc_{other}'")


FUNCTION_HEAD = re.compile(r"^( {0,2})(?!//|namespace|struct|class|enum|union|extern|if|for|while|switch|do|else|case)\S.*\)[^;]*\{$")


def check_budgets(warnings):
    for folder in ("compiler", "runtime"):
        for path in sorted((ROOT / folder).glob("**/*")):
            if path.suffix not in (".h", ".cpp", ".cuh", ".cu", ".hip"):
                continue
            lines = path.read_text().splitlines()
            if len(lines) > FILE_BUDGET:
                warnings.append(f"{relative(path)}: {len(lines)} lines (budget {FILE_BUDGET})")
            start = indent = None
            for number, line in enumerate(lines, 1):
                if start is None:
                    head = FUNCTION_HEAD.match(line)
                    if head:
                        start, indent = number, head.group(1)
                elif line.startswith(indent + "}") and not line.startswith(indent + "} else"):
                    if number - start + 1 > FUNCTION_BUDGET:
                        warnings.append(f"{relative(path)}:{start}: function of {number - start + 1} lines (budget {FUNCTION_BUDGET})")
                    start = None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    arguments = parser.parse_args()
    errors, warnings = [], []
    check_includes(errors)
    check_links(errors)
    check_budgets(warnings)
    for text in warnings:
        print(f"warning: {text}")
    for text in errors:
        print(f"error: {text}")
    print(f"check_layers: {len(errors)} errors, {len(warnings)} warnings")
    return 1 if errors or (arguments.strict and warnings) else 0


if __name__ == "__main__":
    sys.exit(main())
