#!/usr/bin/env python3
"""Names every skipped test in a JUnit file written by ctest, the cases that lit skipped inside its suites included,
then prints one closing line: 'N passed, N failed, N skipped'. Exit 1 if a test failed or none ran."""
import re
import sys
import xml.etree.ElementTree as ElementTree

UNSUPPORTED = re.compile(r"^\s*UNSUPPORTED: (.+?)(?: \(\d+ of \d+\))?$", re.M)
LIT_PASSED = re.compile(r"^\s*(?:Passed|Expectedly Failed)\s*: *(\d+)", re.M)


def main(path):
    passed, failed, skipped, lit_passed = 0, 0, [], 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        output = case.findtext("system-out") or ""
        skipped += sorted(set(f"{name}: {m.group(1)}" for m in UNSUPPORTED.finditer(output)))
        lit_passed += sum(int(m.group(1)) for m in LIT_PASSED.finditer(output))
        if status == "run":
            passed += 1
        elif status in ("notrun", "disabled"):
            skipped.append(name)
        else:
            failed += 1
    if skipped:
        print(f"\nSkipped ({len(skipped)}), because a tool, a device or TLC_TEST_FULL=1 is missing:")
        for name in skipped:
            print(f"  {name}")
    if lit_passed:
        print(f"\nThe lit suites ran {lit_passed} cases that passed.")
    print(f"\n{passed} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
