#!/usr/bin/env python3
"""How long tlc takes, and how much memory: every sample for every target, and how both grow with the size of the source.

    tools/bench/compile_time.py [--tlc build/bin/tlc] [--targets sm80 sm90 cpu] [--json FILE] [--baseline FILE]

Times are the smallest of several runs of the whole program, start included; memory is the peak resident set. With --baseline a
row that became 20 % slower (and 2 ms) is a regression: exit status 4."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def measure(command, runs):
    """Smallest seconds and peak kilobytes, or the first error message."""
    best, peak = None, 0
    for _ in range(runs):
        with tempfile.TemporaryFile() as errors:
            start = time.perf_counter()
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.perf_counter() - start
            if child.returncode:
                errors.seek(0)
                return None, None, (errors.read().decode(errors="replace").strip().splitlines() or ["no message"])[0]
        best = seconds if best is None else min(best, seconds)
        peak = max(peak, usage.ru_maxrss)
    return best, peak, None


def many_kernels(count):
    """A file of `count` kernels, none equal to another."""
    text = ["import tilelang.language as T", "n = T.dynamic('n')"]
    for i in range(count):
        text.append(f"""
@T.prim_func
def kernel_{i}(A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32)):
    with T.Kernel(T.ceildiv(n, {256 + 4 * i}), threads=128) as bx:
        for i in T.Parallel({256 + 4 * i}):
            B[bx * {256 + 4 * i} + i] = A[bx * {256 + 4 * i} + i] * {i}.5 + {i}
""")
    return "\n".join(text)


def long_kernel(count):
    """One kernel of `count` statements."""
    body = "\n".join(f"            B[bx * 256 + i] = B[bx * 256 + i] * {i % 7}.5 + A[bx * 256 + i]" for i in range(count))
    return f"""import tilelang.language as T
n = T.dynamic('n')

@T.prim_func
def kernel(A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32)):
    with T.Kernel(T.ceildiv(n, 256), threads=128) as bx:
        for i in T.Parallel(256):
{body}
"""


def jobs(arguments, folder):
    for sample in sorted((ROOT / "samples").glob("*/kernel.tl")):
        for target in arguments.targets:
            yield f"{sample.parent.name} {target}", [sample, f"--target={target}", "-o", "-"]
    for name, make, sizes in (("kernels", many_kernels, (1, 10, 100)), ("statements", long_kernel, (10, 100, 1000))):
        for size in sizes:
            path = folder / f"{name}_{size}.tl"
            path.write_text(make(size))
            yield f"parse {size} {name}", ["check", "--syntax-only", path]
            yield f"{size} {name} {arguments.targets[0]}", [path, f"--target={arguments.targets[0]}", "-o", "-"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tlc", type=pathlib.Path, default=ROOT / "build/bin/tlc")
    parser.add_argument("--targets", nargs="+", default=["sm80", "sm90", "cpu"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--baseline", type=pathlib.Path)
    arguments = parser.parse_args()
    baseline = json.loads(arguments.baseline.read_text()) if arguments.baseline else {}
    rows, regressions, failures = {}, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, options in jobs(arguments, pathlib.Path(folder)):
            seconds, kilobytes, error = measure([str(arguments.tlc), *map(str, options)], arguments.runs)
            if error:
                failures += 1
                print(f"{name:36} FAILED  {error}")
                continue
            rows[name] = {"ms": round(seconds * 1e3, 2), "mib": round(kilobytes / 1024, 1)}
            line = f"{name:36} {seconds * 1e3:9.2f} ms {kilobytes / 1024:8.1f} MiB"
            if name in baseline:
                before = baseline[name]["ms"]
                worse = rows[name]["ms"] > 1.2 * before and rows[name]["ms"] > before + 2
                regressions += worse
                line += f"  {rows[name]['ms'] / before:5.2f} x baseline" + ("  SLOWER" if worse else "")
            print(line, flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"{len(rows)} measured, {failures} failed, {regressions} slower than the baseline")
    return 1 if failures else 4 if regressions else 0


if __name__ == "__main__":
    sys.exit(main())
