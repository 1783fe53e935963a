#!/usr/bin/env python3
"""Every device function of the runtime, and every product of the compiler's tables, has a twin in the emulator.

  twins.py [--work FOLDER]

The functions are taken from the runtime's text with their parameters, and called in a file that is compiled for the
emulator: a missing one, or one that takes something else, does not compile.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEFINITION = re.compile(r"(?:template <([^<>]*)>\s*)?TLC_DEVICE ([^;{}()=]+?[\s*&])(\w+)\(([^{};]*?)\)(?: const)? \{", re.S)
# What stands for parameters of templates.
VALUES = {"int": "16", "order": "tlc::order::relaxed", "scope": "tlc::scope::device", "tma_operation": "tlc::tma_operation::min"}
SPECIAL = {"Pending": "0", "Selector": "0", "Count": "32", "Width": "32", "Rows": "15", "Banks": "15", "Control": "0"}
# Parts of other functions, which the emulator does not need.
INNER = {"word_of", "read_now", "read_bits", "fence_after", "half2_of_e4m3x2", "swap_if_equal", "same_bits", "fence_before", "add_once", "min_once", "max_once", "and_once", "or_once",
         "xor_once", "exchange_once", "atomic_update", "atomic_add_vec", "native_integer", "is_float"}
SHORT = {"Float16": "f16", "BFloat16": "bf16", "TFloat32": "tf32", "Float32": "f32", "Float64": "f64", "Int4": "s4", "UInt4": "u4",
         "Int8": "s8", "UInt8": "u8", "Int32": "s32", "Float8E4M3FN": "e4m3", "Float8E5M2": "e5m2"}


def split(text):
    """At the commas that stand in no brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "<([") - (c in ">)]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [" ".join(p.split()) for p in parts if p.strip()]


def functions(folder):
    """(file, template's parameters, name, parameters) of what emitted text may call."""
    for path in sorted((ROOT / "runtime" / folder).iterdir()):
        if path.suffix not in (".cuh", ".h") or path.stem in ("launch", "tensor_map"):
            continue
        text = re.sub(r"//[^\n]*", "", path.read_text())
        text = re.sub(r"^#define(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
        for template, _, name, parameters in DEFINITION.findall(text):
            if name not in INNER and name != "operator":
                yield path.name, split(template), name, split(parameters.replace("TLC_AT", ""))


def call(number, template, name, parameters):
    """A function that calls it; nothing where a parameter is a function."""
    arguments, types = [], {}
    for p in template:
        kind, what = p.split("=")[0].split()[:2]
        types[what] = "int" if kind in ("class", "typename") else SPECIAL.get(what) or VALUES.get(kind)
        if "int" not in types.values(): # what follows a type is deduced
            arguments.append(types[what])
    if any(t in ("Exchange", "F", "Reduce") for t in types) or None in arguments:
        return ""
    declared = []
    for p in parameters:
        p = p.split("=")[0].strip()
        for t, v in types.items():
            p = re.sub(rf"\b{t}\b", v, p)
        declared.append(p)
    names = [re.search(r"(\w+)(?:\[\w*\])?$", p)[1] for p in declared]
    chosen = f"<{', '.join(arguments)}>" if arguments else ""
    return (f"__attribute__((unused)) static void call_{number}({', '.join(declared)}) {{ "
            f"(void)tlc::{name}{chosen}({', '.join(names)}); }}\n")


def products():
    """Names of the products of the compiler's tables."""
    text = (ROOT / "compiler/target/CudaAtoms.cpp").read_text()
    for m, n, k, a, b, c in re.findall(r"\{(\d+), (\d+), (\d+), Scalar::(\w+), Scalar::(\w+), Scalar::(\w+), \d+,", text):
        types = "_".join(SHORT[t] for t in (a, b, c))
        if m != "64":
            yield f"mma_m{m}n{n}k{k}_{types}"
            continue
        for width in range(8, 257, 8):
            if c != "Int32" or width <= 24 or width % 16 == 0:
                yield from (f"wgmma_m64n{width}k{k}_{types}_{form}" for form in ("ss", "rs"))


def compile_calls(text, path, cache):
    path.write_text(text)
    command = [ROOT / "tools/emulate.sh", "-O0", "-c", path, "-o", path.with_suffix(".o")]
    return subprocess.run([str(c) for c in command], env=os.environ | {"TLC_EMULATE_CACHE": str(cache)}, text=True, capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "test-emulate")
    parser.add_argument("--cache", type=pathlib.Path, help="where the emulator's library is kept")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    cache = (options.cache or work / "cache").resolve()
    failed = 0
    for folder, suffix in (("cuda", ".cu"), ("hip", ".hip")):
        found = list(functions(folder))
        calls = [call(i, t, n, p) for i, (_, t, n, p) in enumerate(found)]
        names = list(products()) if suffix == ".cu" else []
        text = "using namespace tlc;\n" + "".join(calls) + "namespace table {\n" + "".join(f"using tlc::{n};\n" for n in names) + "}\n"
        done = compile_calls(text, work / f"twins{suffix}", cache)
        if done.returncode or len(found) < 30 or (suffix == ".cu" and len(names) < 500):
            failed += 1
            print(f"runtime/{folder}: {len(found)} functions, {len(names)} products\n{done.stderr[:4000]}")
        else:
            print(f"runtime/{folder}: {len(found)} functions, {sum(map(bool, calls))} of them called; {len(names)} products of the compiler's tables")
    # The check itself: what is not there is found.
    missing = call(0, [], "no_such_function", ["int a"])
    if compile_calls(missing, work / "twins-missing.cu", cache).returncode == 0:
        print("a function that is not there was not missed")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
