#!/usr/bin/env python3
"""Holds what a GPU computed against what the emulator did: compare.py [--brief] GPU.txt EMULATED.txt

Both files come from compare_mma.cu, from compare_sparse.cu or from compare_wgmma.cu; the second may have the bits of the results only.
Products: the difference of the two is measured in units of the sum's
rounding (2^-24 of a float32) times the sum of all magnitudes that went into it, and must stay within the
tolerance of the atom; not-a-number and infinities must be the same. Integer products and conversions must
agree in every bit (of not-a-number: in being one); so must products of all widths. --brief: a line for all kinds of numbers. Exit status 1 if something does not.
"""
import math
import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Of the sum: struct code, bits of a rounding, smallest number. An integer has no rounding.
SUMS = {"f32": ("<I", "<f", 24, 2.0**-149), "f16": ("<H", "<e", 11, 2.0**-24), "f64": ("<Q", "<d", 53, 2.0**-1074),
        "s32": ("<I", "<i", None, None)}

# How far the two may be apart, in units. Tensor cores align the products of a step to the largest one and drop
# what lies below; the emulator rounds after every product. Products of 8-bit floats keep fewer bits on Hopper,
# those of warpgroups fewer still: 14.
TOLERANCES = {"f16_f16_f32": 16, "bf16_bf16_f32": 16, "tf32_tf32_f32": 16, "f16_f16_f16": 4, "f64_f64_f64": 4,
              "e4m3_e4m3_f32": 4096, "e5m2_e5m2_f32": 4096, "e4m3_e5m2_f32": 4096, "e5m2_e4m3_f32": 4096,
              "e4m3_e4m3_f16": 4, "e5m2_e5m2_f16": 4, "e4m3_e5m2_f16": 4, "e5m2_e4m3_f16": 4}


WARPGROUP_FLOAT8 = 2**14


def tolerance_of(atom):
    if re.match(r"wgmma.*_e\dm\d_e\dm\d_f32$", atom):
        return WARPGROUP_FLOAT8
    return TOLERANCES.get("_".join(atom.rsplit("_", 3)[1:]), 0)


def value(bits, kind):
    packed, unpacked, _, _ = SUMS[kind]
    return struct.unpack(unpacked, struct.pack(packed, bits))[0]


def read(path):
    """{(section, name, kind of numbers): [rows]}, in the order of the file."""
    out, rows = {}, None
    for line in open(path):
        words = line.split()
        if words[0] in ("product", "conversion"):
            rows = out.setdefault(tuple(words[:3]), [])
        elif words[0] == "width": # elements that differ from the widest product's
            out.setdefault((words[0], words[1]), []).append(words[2:])
        else:
            rows.append(words)
    return out


def distance(x, y, unit):
    """In units; infinite if one of them is no number and the other is something else."""
    if math.isfinite(x) and math.isfinite(y):
        return abs(x - y) / unit
    same = x == y or (math.isnan(x) and math.isnan(y))
    return 0.0 if same else math.inf


def compare_product(atom, gpu, emulated):
    """The largest distances: GPU to exact, emulator to exact, GPU to emulator."""
    kind = atom.rsplit("_", 1)[1]
    _, _, digits, smallest = SUMS[kind]
    largest = [0.0, 0.0, 0.0]
    for (ours, exact, magnitude), (theirs, *_) in zip(gpu, emulated):
        a, b = int(ours, 16), int(theirs, 16)
        if digits is None:
            largest[2] = max(largest[2], abs(a - b))
            continue
        unit = max(float.fromhex(magnitude) * 2.0**-digits if math.isfinite(float.fromhex(magnitude)) else 0, smallest)
        x, y, e = value(a, kind), value(b, kind), float.fromhex(exact)
        largest[2] = max(largest[2], distance(x, y, unit))
        if math.isfinite(e) and math.isfinite(x) and math.isfinite(y):
            largest[0] = max(largest[0], distance(x, e, unit))
            largest[1] = max(largest[1], distance(y, e, unit))
    return largest


def is_nan(name, bits):
    """Whether the result of a conversion is not a number, whose other bits are free."""
    if name.startswith(("to_float_", "to_tfloat32")):
        return bits & 0x7fffffff > 0x7f800000
    if name.startswith("to_half"):
        return bits & 0x7fff > 0x7c00
    return name.startswith("to_bfloat16") and bits & 0x7fff > 0x7f80


def compare_conversion(name, gpu, emulated):
    """The inputs whose results differ."""
    wrong = []
    for (given, ours), (_, theirs) in zip(gpu, emulated):
        a, b = int(ours, 16), int(theirs, 16)
        if a != b and not (is_nan(name, a) and is_nan(name, b)):
            wrong.append(f"{given}: {ours} on the GPU, {theirs} on the emulator")
    return wrong


def compare_widths(results):
    """How many widths differ from the widest, on the GPU or the emulator."""
    return sum(differ != "0" for rows in results for _, differ in rows)


def missing_atoms(names):
    """Products of the runtime that the files do not have, if they are about those."""
    if not any(n.startswith("mma_") for n in names):
        return []
    text = (ROOT / "runtime" / "cuda" / "matrix.cuh").read_text()
    return sorted(set(re.findall(r"^//@ (mma_m\w+)$", text, re.M)) - names)


def report_products(gpu, emulated, is_brief):
    """A line for each product and kind of numbers, or for each product; how many failed."""
    print(f"{'product':35} {'numbers':12} {'GPU-exact':>10} {'emu-exact':>10} {'GPU-emu':>10} {'tolerance':>10}")
    lines = {}
    for (section, name, *kind), rows in gpu.items():
        if section != "product":
            continue
        largest = lines.setdefault((name, "all" if is_brief else kind[0]), [0.0, 0.0, 0.0])
        for i, far in enumerate(compare_product(name, rows, emulated[(section, name, *kind)])):
            largest[i] = max(largest[i], far)
    failed = 0
    for (name, kind), largest in lines.items():
        tolerance = tolerance_of(name)
        bad = max(largest[1:]) > tolerance  # the emulator must also be near what exact arithmetic gives
        failed += bad
        print(f"{name:35} {kind:12} {largest[0]:10.3g} {largest[1]:10.3g} {largest[2]:10.3g} {tolerance:10}{'  FAILED' if bad else ''}")
    return failed


def main():
    arguments = [a for a in sys.argv[1:] if a != "--brief"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    gpu, emulated = (read(path) for path in arguments)
    if gpu.keys() != emulated.keys():
        sys.exit(f"the files are of different programs: {sorted(gpu.keys() ^ emulated.keys())[:4]} ...")
    for key, rows in gpu.items():
        if len(rows) != len(emulated[key]):
            sys.exit(f"{key[1]}: {len(rows)} and {len(emulated[key])} results")
    failed = report_products(gpu, emulated, len(arguments) < len(sys.argv) - 1)
    widths = 0
    for (section, name, *_), rows in gpu.items():
        if section == "conversion":
            wrong = compare_conversion(name, rows, emulated[(section, name)])
            print(f"{name:32} {len(rows)} inputs, {len(wrong)} differ" + "".join(f"\n    {w}" for w in wrong[:4]))
            failed += bool(wrong)
        if section == "width":
            wrong = compare_widths([rows, emulated[(section, name)]])
            widths += len(rows)
            failed += bool(wrong)
            if wrong:
                print(f"{name}: of {len(rows)} narrower products {wrong} differ from the widest")
    if widths:
        print(f"{widths} narrower products")
    lost = missing_atoms({name for section, name, *_ in gpu if section == "product"})
    if lost:
        print("not compared: " + ", ".join(lost))
    print(f"{failed} failed" if failed or lost else "all within their tolerance")
    return 1 if failed or lost else 0


if __name__ == "__main__":
    sys.exit(main())
