#!/usr/bin/env python3
"""Compiles runtime/hip with the compiler it is meant for, and looks for the instructions in what comes out.

  compile_hip.py [--work FOLDER]

Without clang++ for AMD's devices or HIP's headers it says so and gives 77.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEVICES = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
EVERYWHERE = (r"ds_bpermute_b32", r"quad_perm:\[1,0,3,2\]", r"row_half_mirror", r"v_readlane_b32", r"v_readfirstlane_b32",
              r"buffer_load_(dwordx4|b128)", r"buffer_store_(dwordx4|b128)", r"buffer_load_(ushort|u16|d16)", r"s_barrier")
ALSO = {"gfx942": (r"global_load_lds_dword", r"s_waitcnt vmcnt\(0\)")}


def products(device):
    """(function, types of a, b, c) of the products that a device has."""
    number = int(device[3:], 16)
    for line in (ROOT / "runtime/emulate/device/hip/products.def").read_text().split("\n"):
        found = re.match(r"EMU_PRODUCT\((.*)\)", line)
        if not found or line.startswith("//"):
            continue
        form, m, n, k, a, b, c, _, _, ta, tb, tc, low, high = (w.strip() for w in found[1].split(","))
        if int(low, 16) <= number <= int(high, 16):
            yield f"{form}_m{m}n{n}k{k}_{a}_{b}_{c}", ta, tb, tc


def source(device):
    text = (HERE / "text.hip").read_text()
    for name, a, b, c in products(device):
        text += (f"\n__global__ void run_{name}({c} *c, const {a} *a, const {b} *b) {{\n"
                 f"  tlc::{name}(c + threadIdx.x * 16, a + threadIdx.x * 16, b + threadIdx.x * 16);\n}}\n")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "test-emulate")
    work = parser.parse_args().work
    work.mkdir(parents=True, exist_ok=True)
    compiler = next((c for n in (19, 20, 21, 18) if (c := shutil.which(f"clang++-{n}"))), None)
    if not compiler or not pathlib.Path("/usr/include/hip/hip_runtime.h").exists():
        print("skipped: no clang++ or no hip/hip_runtime.h (libamdhip64-dev)")
        return 77
    failed = 0
    for device in DEVICES:
        text, assembly = work / f"text-{device}.hip", work / f"text-{device}.s"
        text.write_text(source(device))
        flags = ["-x", "hip", f"--offload-arch={device}", "-nogpulib", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror",
                 f"-I{ROOT / 'runtime'}"]
        steps = ([compiler, *flags, "--cuda-device-only", "-S", text, "-o", assembly],
                 [compiler, *flags, "--cuda-host-only", "-fsyntax-only", text],
                 [compiler.replace("++", ""), "-target", "amdgcn-amd-amdhsa", f"-mcpu={device}", "-c", assembly, "-o", "/dev/null"])
        for step in steps:
            done = subprocess.run([str(s) for s in step], text=True, capture_output=True)
            if done.returncode or done.stderr:
                print(f"{device}: {done.stderr[:3000]}")
                failed += 1
                break
        else:
            found = assembly.read_text()
            count = sum(1 for _ in products(device))
            instructions = set(re.findall(r"v_s?w?mf?mac?_\w+", found))
            lost = [p for p in EVERYWHERE + ALSO.get(device, ()) if not re.search(p, found)]
            if len(re.findall(r"^\s+v_(?:mfma|wmma)_", found, re.M)) < count or lost:
                print(f"{device}: {count} products gave {sorted(instructions)}; missing: {lost}")
                failed += 1
            else:
                print(f"{device}: {count} products and every function")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
