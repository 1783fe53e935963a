#!/usr/bin/env python3
"""Holds the tests against the tables: every diagnostic is provoked by some test, and every T.* name occurs in one.

A diagnostic counts by its code (TL2103) or its name in C++ (diag::InnerDimsDiffer) anywhere under test/; a builtin by T.name in
a test's kernel or in a sample, or, if it is not supported yet, by being refused there. Exit 1 lists what is missing."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIAGNOSTIC = re.compile(r"TLC_(?:ERROR|WARNING|REMARK)\(\s*(TL\d{4}),\s*(\w+)")
BUILTIN = re.compile(r'TLC_BUILTIN\(\s*(\w+),\s*"(\w+)",\s*"[^"]*"(?:\s*"[^"]*")*,\s*\w+,\s*\w+,\s*(\w+)')


def texts(*folders):
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in (".tl", ".py", ".tlir", ".test", ".cpp", ".h", ".txt", ".inc") and path.name != "coverage.py":
                yield path.read_text(errors="replace")


def main():
    everything = "\n".join(texts("test", "samples")).replace("\\n", "\n")
    words = set(re.findall(r"\bTL\d{4}\b", everything)) | set(re.findall(r"\bdiag::(\w+)", everything))
    names = set(re.findall(r"\bT\.(\w+)", everything))
    missing = []
    for path in sorted((ROOT / "compiler/support/diagnostics").glob("*.def")):
        for code, name in DIAGNOSTIC.findall(path.read_text()):
            if code not in words and name not in words:
                missing.append(f"diagnostic {code} {name}")
    table = re.sub(r"^//.*", "", (ROOT / "compiler/sema/Builtins.def").read_text(), flags=re.M)
    for _, name, support in BUILTIN.findall(table):
        if name not in names and support not in ("NotYet", "NotYetHip", "Blackwell", "Metal"):
            missing.append(f"builtin T.{name}")
    for text in missing:
        print(f"no test for {text}")
    print(f"{len(missing)} without a test")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
