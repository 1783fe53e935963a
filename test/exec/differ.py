"""Host programs made from a kernel's metadata: the same inputs for every target, outputs written to a file.

What a CPU and an emulated GPU write must agree, so a kernel needs no host code of its own; a line
`# sizes: n=1 m=1; n=64 m=64` in its source says with which sizes it is called; `workspace=1` among them gives it
the workspace that it can do without, too.
"""
import json
import math
import re
import struct

TYPES = {"float8_e4m3fn": "exec::E4M3", "float8_e5m2": "exec::E5M2", "float16": "exec::Half", "bfloat16": "exec::BFloat", "float32": "float", "float64": "double",
         "int8": "std::int8_t", "int16": "std::int16_t", "int32": "std::int32_t", "int64": "std::int64_t",
         "uint8": "std::uint8_t", "uint16": "std::uint16_t", "uint32": "std::uint32_t", "uint64": "std::uint64_t"}


def sizes_of(source):
    """The dictionaries of sizes that a source asks for; one without sizes if it says nothing."""
    line = re.search(r"^# sizes: (.*)$", source, re.M)
    if not line:
        return [{}]
    return [{k: int(v) for k, v in (pair.split("=") for pair in one.split())} for one in line[1].split(";")]


def host_of(header, metadata, sizes):
    """The text of a program that writes every output of every kernel, as doubles, to the file it is given."""
    out = [f'#include "{header}"\n#include "hosts.h"\n', "static std::FILE *file;",
           "template <class T> void keep(const std::vector<T> &values) {",
           "  for (const T &value : values) {", "    double wide = double(value);",
           "    std::fwrite(&wide, sizeof wide, 1, file);", "  }", "}", "int main(int, char **argv) {",
           '  file = std::fopen(argv[1], "wb");']
    counts = []
    for kernel in json.loads(metadata)["kernels"]:
        symbol = kernel["symbol"]
        for values in sizes:
            out.append("  {")
            arguments, outputs = [], []
            for p in kernel["params"]:
                if p["kind"] == "size":
                    arguments.append(str(values[p["name"]]))
                    continue
                if p["kind"] != "tensor":
                    arguments.append("1")
                    continue
                shape = eval(p["shape"], {}, dict(values))  # sizes and arithmetic, from our own compiler
                count, ctype, name = math.prod(shape), TYPES[p["dtype"]], "t_" + p["name"]
                filled = f"exec::{'unset' if p['direction'] == 'out' else 'numbers'}<{ctype}>({count})"
                out.append(f"    sample::Buffer<{ctype}> {name}({filled});")
                arguments.append(f"{name}.data()")
                if p["direction"] != "in":
                    outputs.append(name)
                    counts.append((f"{symbol} {values} {p['name']}", count, p["dtype"]))
            if kernel["workspace"]["parts"]:
                raise ValueError(f"{symbol} needs a workspace")
            room = ["nullptr", "0"]
            if values.get("workspace"):
                extents = [str(values[p["name"]]) for p in kernel["params"] if p["kind"] == "size"]
                out.append(f"    const std::size_t bytes = {symbol}_workspace_bytes({', '.join([*extents, '0'])});")
                out.append("    sample::Buffer<unsigned char> workspace(std::vector<unsigned char>(bytes, 0xff));")
                room = ["bytes ? workspace.data() : nullptr", "bytes"]
            out.append(f"    SAMPLE_CALL({symbol}, {', '.join([*arguments, *room, 'nullptr'])});")
            out.append("    sample::synchronize();")
            out += [f"    keep({name}.download());" for name in outputs]
            out.append("  }")
    out.append("  return std::fclose(file);\n}\n")
    return "\n".join(out), counts


def disagreement(ours, theirs, counts):
    """Where two files of outputs differ by more than their types' rounding; "" if nowhere."""
    if len(ours) != len(theirs) or len(ours) != 8 * sum(count for _, count, _ in counts):
        return f"{len(ours)} and {len(theirs)} bytes written"
    at = 0
    for what, count, dtype in counts:
        a = struct.unpack_from(f"{count}d", ours, at)
        b = struct.unpack_from(f"{count}d", theirs, at)
        at += 8 * count
        largest = max((abs(x) for x in b if x == x), default=0)
        bound = 0 if "int" in dtype else (1e-2 if dtype in ("float16", "bfloat16") else 2e-3) * (1 + largest)
        for i, (x, y) in enumerate(zip(a, b)):
            if not abs(x - y) <= bound and x != y and not (x != x and y != y):
                return f"{what}[{i}] is {x}, on the CPU {y}"
    return ""
