#!/usr/bin/env python3
"""Builds one sample for one target with warnings as errors; runs it where the target is this machine. Exit 77: skipped."""
import argparse
import os
import pathlib
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
    flags = ["-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"]
    if arguments.target.startswith("sm"):
        flags += ["-DCMAKE_CUDA_FLAGS=-Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror"]
    run("cmake", "-S", ROOT / "samples", "-B", arguments.work, "-G", "Ninja", f"-DTLC_SAMPLE_TARGET={arguments.target}",
        f"-DTLC_SAMPLES={arguments.sample}", f"-DTLC_EXECUTABLE={arguments.tlc}", *flags)
    run("cmake", "--build", arguments.work, "-j", os.environ.get("TLC_JOBS", "1"))
    if runs_here(arguments.target):
        run(arguments.work / arguments.sample / f"sample_{arguments.sample}")
    else:
        print(f"built, not run: this machine is no {arguments.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
