#!/usr/bin/env python3
"""Runs a tlc command on FILE.. with --diagnostics=json and holds what it reports against the comments of its inputs.

    B = T.foo(A)   # EXPECT-ERROR: TL1103            this code on this line; several codes separated by commas
    # EXPECT-WARNING-BELOW: TL3001 text of it        on the next line that is no such comment; optional part of the message

The two sets must be equal: a diagnostic nobody expects and an expectation nobody meets both fail. Notes are not compared.
A diagnostic without a place is expected by `# EXPECT-ERROR-NOWHERE: TL5004`. Usage: verify_diagnostics.py tlc check ... file.tl
"""
import json
import os
import re
import subprocess
import sys

EXPECT = re.compile(r"(?:#|//) *EXPECT-(ERROR|WARNING)(-BELOW|-NOWHERE)?: *((?:TL\d{4})(?: *, *TL\d{4})*)(?: +(.+?))? *$")


def expectations(path):
    found = []
    pending = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = EXPECT.search(line)
            if match and match.group(2):
                nowhere = match.group(2) == "-NOWHERE"
                for code in re.split(r" *, *", match.group(3)):
                    entry = [match.group(1).lower(), code, None if nowhere else path, None, match.group(4)]
                    (found if nowhere else pending).append(entry)
                continue
            for entry in pending:
                entry[3] = number
            found += pending
            pending = []
            if match:
                for code in re.split(r" *, *", match.group(3)):
                    found.append([match.group(1).lower(), code, path, number, match.group(4)])
    return [tuple(e) for e in found]


def main(command):
    sources = [a for a in command[1:] if a.endswith((".tl", ".py", ".tlir")) and os.path.exists(a)]
    expected = [e for source in sources for e in expectations(source)]
    run = subprocess.run(command + ["--diagnostics=json"], capture_output=True, text=True)
    actual, problems = [], []
    for line in run.stderr.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            problems.append(f"not a diagnostic: {line}")
            continue
        if record.get("severity") in ("error", "warning"):
            actual.append(record)
    rest = list(actual)
    for severity, code, path, number, text in expected:
        for record in rest:
            place = (record.get("file") or None, record.get("line") or None)
            if (record["severity"] == severity and record["code"] == code
                    and (text is None or text in record["message"])
                    and (place[0] is None if path is None else place[0] and os.path.realpath(place[0]) == os.path.realpath(path))
                    and place[1] == number):
                rest.remove(record)
                break
        else:
            problems.append(f"{path}:{number}: expected {severity} {code}{' ' + text if text else ''}, which did not come")
    problems += [f"{r.get('file')}:{r.get('line')}: unexpected {r['severity']} {r['code']}: {r['message']}" for r in rest]
    failed = any(r["severity"] == "error" for r in actual)
    if run.returncode not in ((1, 2, 3) if failed else (0,)):
        problems.append(f"exit status {run.returncode} after {len(actual)} diagnostics")
    for text in problems:
        print(text, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
