#!/usr/bin/env python3
"""Runs the kernels with planted faults: each must be reported, each clean one must not.

  run.py [--work FOLDER] [NAME...]

A fault is found when a report of a fitting kind names a fitting line (its `// mark:`), whatever the order in
which asynchronous work is done.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = ["pipelines.cu", "blocks.cu", "devices.cu", "grids.cu", "hip_products.hip", "hip_waves.hip", "hopper_attention.cu", "hopper_copies.cu", "hopper_gemm.cu", "hopper_mixed.cu", "hopper_products.cu",
           "hopper_sparse.cu", "hopper_tensors.cu", "misuse.cu", "overlaps.cu", "sparse.cu", "tiles.cu", "tiles.hip"]
SCHEDULES = [("early", 0), ("late", 0), ("random", 1), ("random", 2)]


def call(command, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EMU_")} | settings
    try:
        return subprocess.run([str(c) for c in command], env=environment, text=True, errors="replace", timeout=300,
                              capture_output=True)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "does not end")


def marks_of(report):
    """Marks on the lines that a report names."""
    found = set()
    for name, line in re.findall(r"(\w+\.(?:cu|hip)):(\d+)", report):
        if (HERE / name).exists():
            text = (HERE / name).read_text().split("\n")[int(line) - 1]
            found.update(re.findall(r"// mark: (\w+)", text))
    return found


def judge(done, kinds, marks):
    reports = [r for r in re.split(r"(?m)^emu: ", done.stderr) if r.startswith(("error: ", "warning: "))]
    if not kinds:
        if reports:
            return "reported, though clean: " + reports[0].strip()
        return "" if done.returncode == 0 else f"wrong numbers, exit status {done.returncode}: {done.stderr[-500:]}"
    for report in reports:
        if report.split(":")[1].strip() in kinds and marks_of(report) & set(marks):
            return ""
    return "MISSED" if not reports else "reported otherwise: " + reports[0].strip()


def check(program, case):
    name, kinds, marks, device = case
    architecture = {"EMU_ARCH": device} if device else {}
    for mode, seed in SCHEDULES:
        done = call([program, name], EMU_MODE=mode, EMU_SEED=str(seed), **architecture)
        trouble = judge(done, kinds and kinds.split(","), marks.split(","))
        if trouble:
            return f"{name} (EMU_MODE={mode} EMU_SEED={seed}): {trouble}"
    return ""


def check_findings(program, work):
    """The file for tools lists 30 findings of a launch, and says of how many it does not."""
    findings = work / "findings"
    findings.unlink(missing_ok=True)
    call([program, "often"], EMU_REPORT=str(findings))
    text = findings.read_text()
    if len(re.findall("(?m)^error race$", text)) != 30 or "error more\ntext 10 findings of this launch are not listed\n" not in text:
        return f"{findings} does not list 30 findings and 10 more"
    return ""


def check_prototype(cases):
    """Each fault of prototype.txt has a case that must be reported."""
    lines = [l for l in (HERE / "prototype.txt").read_text().splitlines() if not l.startswith("#")]
    missing = {l.split(" = ")[1] for l in lines} - {c[0] for c in cases if c[1]}
    return f"no cases: {', '.join(sorted(missing))}" if missing or len(lines) != 84 else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "test-emulate")
    parser.add_argument("--cache", type=pathlib.Path, help="where the emulator's library is kept")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    cache = (options.cache or work / "cache").resolve()
    program = work / "faults"
    done = call([ROOT / "tools" / "emulate.sh", HERE / "main.cpp", *(HERE / s for s in SOURCES), "-o", program],
                TLC_EMULATE_CACHE=str(cache))
    if done.returncode:
        sys.exit(done.stderr)
    cases = [line.split("|") for line in call([program, "--list"]).stdout.splitlines()]
    cases = [c for c in cases if not options.names or c[0] in options.names]
    if not cases:
        sys.exit("no such case")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda c: check(program, c), cases))
    if any(c[0] == "often" for c in cases):
        results.append(check_findings(program, work))
    if not options.names:
        results.append(check_prototype(cases))
    faults = sum(bool(c[1]) for c in cases)
    for trouble in filter(None, results):
        print(trouble)
    missed = sum(bool(r) for r, c in zip(results, cases) if c[1]) + sum(map(bool, results[len(cases):]))
    wrong = sum(bool(r) for r, c in zip(results, cases) if not c[1])
    print(f"{faults - missed} of {faults} faults found, {len(cases) - faults - wrong} of {len(cases) - faults} clean kernels silent")
    return 1 if missed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
