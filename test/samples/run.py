#!/usr/bin/env python3
"""Builds one sample for one target with warnings as errors; runs it where the target is this machine. Exit 77: skipped."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout if done.returncode else done.stdout[-2000:])
    if done.returncode:
        print(f"exit status {done.returncode}: {' '.join(map(str, command))}")
        sys.exit(1)
    return done.stdout


def check_ptxas(report, target):
    """On Hopper nothing may leave the registers, and no products may be put into a row, of which ptxas tells in remarks that are
    not warnings (C7508 to C7519)."""
    if target != "sm90":
        return
    bad = [line for line in report.splitlines() if re.search(r"[1-9]\d* bytes spill|\bC75(08|1[014579])\b", line)]
    if bad:
        print(f"ptxas, {target}:", *bad, sep="\n")
        sys.exit(1)


def runs_here(target):
    if target == "cpu":
        return True
    if target.startswith("cpu-"):
        flags = pathlib.Path("/proc/cpuinfo").read_text()
        return {"cpu-avx2": " avx2 ", "cpu-avx512": " avx512bw "}.get(target, "no such CPU") in flags
    if target.startswith("sm") and shutil.which("nvidia-smi"):
        found = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], capture_output=True, text=True)
        return target[2:].split("-")[0] in found.stdout.replace(".", "").split()
    return False


def build_cuda(sample, target, tlc, work):
    """Without CMake, whose search for the CUDA compiler takes longer than the compilation (consumer_cuda has that)."""
    work.mkdir(parents=True)
    strict = ["-std=c++17", "-Xcompiler=-Wall,-Wextra,-Werror", "-Werror", "all-warnings"]
    gencode = subprocess.run([tlc, "targets", target, "--flags"], capture_output=True, text=True, check=True).stdout.split()
    objects = []
    for kernel in sorted((ROOT / "samples" / sample).glob("*.tl")):
        run(tlc, kernel, f"--target={target}", "-o", work / f"{kernel.stem}.cu")
        report = run("nvcc", *strict, *gencode, "-Xptxas=-v", "-c", work / f"{kernel.stem}.cu", "-o", work / f"{kernel.stem}.o")
        check_ptxas(report, target)
        objects.append(work / f"{kernel.stem}.o")
    includes = [f"-I{work}", f"-I{ROOT / 'samples/common'}", "-DSAMPLE_CUDA"]
    run("nvcc", *strict, *gencode, *includes, ROOT / "samples" / sample / "main.cpp", *objects, "-o", work / f"sample_{sample}")
    return work / f"sample_{sample}"


def build_cpu(sample, target, tlc, work):
    run("cmake", "-S", ROOT / "samples", "-B", work, "-G", "Ninja", f"-DTLC_SAMPLE_TARGET={target}",
        f"-DTLC_SAMPLES={sample}", f"-DTLC_EXECUTABLE={tlc}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
    run("cmake", "--build", work, "-j", os.environ.get("TLC_JOBS", "1"))
    return work / sample / f"sample_{sample}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sample")
    parser.add_argument("target")
    parser.add_argument("--tlc", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if arguments.target.startswith("sm") and not shutil.which("nvcc"):
        print("nvcc is missing")
        return SKIPPED
    shutil.rmtree(arguments.work, ignore_errors=True)
    build = build_cuda if arguments.target.startswith("sm") else build_cpu
    program = build(arguments.sample, arguments.target, arguments.tlc, arguments.work)
    if runs_here(arguments.target):
        run(program)
    else:
        print(f"built, not run: this machine is no {arguments.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
