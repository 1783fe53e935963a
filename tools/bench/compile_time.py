#!/usr/bin/env python3
"""How long tlc takes: every sample for every target, and how the time grows with the size of the source.

    tools/bench/compile_time.py [--tlc build/bin/tlc] [--targets sm80 sm90 cpu] [--growth sm80 sm90] [--json FILE] [--baseline FILE]
                                [--only TEXT]

Times are processor time, user and system, of the whole program, start included; the smallest of several runs. Each family of growing_kernels.py is compiled in three
sizes, 1, 2 and 4 times; the exponent is that of the last doubling, of what is beyond the time of an empty run: 1 is linear, 2 is
quadratic. An exponent of the time or of the emitted text above --steepest is reported as STEEP, exit status 5. With --baseline a row
that became 20 % slower (and 2 ms) is a regression: exit status 4."""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from growing_kernels import FAMILIES

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def measure(command, runs):
    """Smallest seconds of several runs and the bytes written, or the first error message."""
    best, size = None, 0
    for _ in range(runs):
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
            child = subprocess.Popen(command, stdout=output, stderr=errors)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            seconds = usage.ru_utime + usage.ru_stime
            if child.returncode:
                errors.seek(0)
                return None, None, (errors.read().decode(errors="replace").strip().splitlines() or ["no message"])[0]
            size = os.fstat(output.fileno()).st_size
        best = seconds if best is None else min(best, seconds)
    return best, size, None


class Report:
    """Prints rows as they come and counts what is wrong."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.baseline = json.loads(arguments.baseline.read_text()) if arguments.baseline else {}
        self.rows, self.regressions, self.failures, self.steep = {}, 0, 0, 0

    def measure(self, name, options, remark=lambda seconds, size: ""):
        if self.arguments.only not in name:
            return None
        seconds, size, error = measure([str(self.arguments.tlc), *map(str, options)], self.arguments.runs)
        if error:
            self.failures += 1
            print(f"{name:36} FAILED  {error}")
            return None
        self.rows[name] = {"ms": round(seconds * 1e3, 2)}
        line = f"{name:36} {seconds * 1e3:9.2f} ms" + remark(seconds, size)
        if name in self.baseline:
            before, now = self.baseline[name]["ms"], self.rows[name]["ms"]
            worse = now > 1.2 * before and now > before + 2
            self.regressions += worse
            line += f"  {now / before:5.2f} x baseline" + ("  SLOWER" if worse else "")
        print(line, flush=True)
        return seconds, size

    def growth(self, family, smallest, target, folder, empty):
        before = None
        for size in (smallest, 2 * smallest, 4 * smallest):
            path = folder / f"{family.__name__}_{size}.tl"
            path.write_text(family(size))

            def remark(seconds, text, before=before):
                if not before:
                    return ""
                time_exponent = math.log2(max(seconds - empty, 1e-4) / max(before[0] - empty, 1e-4))
                text_exponent = math.log2(text / before[1])
                steep = size == 4 * smallest and max(time_exponent, text_exponent) > self.arguments.steepest
                self.steep += steep
                return f"  time ^{time_exponent:.2f}, text ^{text_exponent:.2f}" + ("  STEEP" if steep else "")
            before = self.measure(f"{size} {family.__name__} {target}", [path, f"--target={target}", "-o", "-"], remark)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tlc", type=pathlib.Path, default=ROOT / "build/bin/tlc")
    parser.add_argument("--targets", nargs="+", default=["sm80", "sm90", "cpu"])
    parser.add_argument("--growth", nargs="*", default=["sm80", "sm90"], metavar="TARGET",
                        help="targets for which the growing kernels are compiled")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steepest", type=float, default=1.4)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--baseline", type=pathlib.Path)
    report = Report(parser.parse_args())
    arguments = report.arguments
    empty = measure([str(arguments.tlc), "--version"], 2 * arguments.runs)[0]
    print(f"{'--version':36} {empty * 1e3:9.2f} ms")
    for sample in sorted((ROOT / "samples").glob("*/kernel.tl")):
        for target in arguments.targets:
            report.measure(f"{sample.parent.name} {target}", [sample, f"--target={target}", "-o", "-"])
    with tempfile.TemporaryDirectory() as folder:
        for target in arguments.growth:
            for family, smallest in FAMILIES:
                report.growth(family, smallest, target, pathlib.Path(folder), empty)
    if arguments.json:
        arguments.json.write_text(json.dumps(report.rows, indent=1) + "\n")
    print(f"{len(report.rows)} measured, {report.failures} failed, {report.steep} steep, "
          f"{report.regressions} slower than the baseline")
    return 1 if report.failures else 4 if report.regressions else 5 if report.steep else 0


if __name__ == "__main__":
    sys.exit(main())
