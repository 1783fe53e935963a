#!/usr/bin/env python3
"""Kernels made wrong: whatever is done to a real kernel, tlc answers with code or with diagnostics.

  mutated.py --tlc PATH [--first 1] [--count 200 | --minutes 60] [--targets sm80,sm90,cpu] FILE...

Each case is one of the files with a few words changed: numbers, names, operators, arguments and lines. `tlc check`
takes it through parser, elaborator and passes. Wrong is an exit status that is none of a source (0, 1, 2), a failure without
a code, or no answer within the limits of time and memory. A failing case is shortened line by line and printed with what
repeats it.
"""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

SECONDS, BYTES = 60, 2 << 30
WORD = re.compile(r"\d+\.\d+|\d+|[A-Za-z_]\w*|\"[^\"\n]*\"|//|\*\*|<<|>>|[-+*/%&|^<>=!]=?|[()\[\]{},:.@~]|\s+|.")
NUMBERS = ["0", "1", "-1", "2", "3", "7", "17", "31", "48", "100", "129", "1000", "65536", "2147483648", "10**10", "2**63", "1.5", "None", "True", "()", "N"]
DTYPES = ["float16", "float32", "float64", "bfloat16", "int4", "uint4", "int8", "uint8", "int32", "int64", "bool", "float8_e4m3fn", "float4_e2m1fn", "handle"]
NAMES = ["T.copy", "T.gemm", "T.fill", "T.clear", "T.reduce_sum", "T.reduce_max", "T.Parallel", "T.serial", "T.unroll", "T.vectorized", "T.Pipelined",
         "T.alloc_shared", "T.alloc_fragment", "T.alloc_local", "T.alloc_var", "T.ceildiv", "T.exp2", "T.if_then_else", "T.atomic_add",
         "T.sync_threads", "T.view", "T.reshape", "T.cumsum", "T.Tensor", "T.annotate_layout", "range", "len", "max", "T.infinity"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "<", "==", "and", "or", "if", "else", "in", "not"]


def words(text):
    return WORD.findall(text)


def change(chance, text, others):
    """One change to the text."""
    tokens = words(text)
    solid = [i for i, w in enumerate(tokens) if not w.isspace()]
    if not solid:
        return text
    i = chance.choice(solid)
    word = tokens[i]
    kind = chance.randrange(10)
    if kind < 4:  # a word of the same kind, at the next place that has one
        kinds = [(str.isdigit, NUMBERS), (lambda w: w in DTYPES, DTYPES), (lambda w: w in OPERATORS, OPERATORS)]
        matches, choices = chance.choice(kinds)
        places = [k for k in solid if matches(tokens[k])]
        if places:
            tokens[chance.choice(places)] = chance.choice(choices)
    elif kind == 4:  # another name of the same file
        names = [w for w in tokens if w[0].isalpha()]
        places = [k for k in solid if tokens[k][0].isalpha()]
        if places:
            tokens[chance.choice(places)] = chance.choice(names)
    elif kind == 5:  # another function
        calls = list(re.finditer(r"\bT\.\w+", text))
        if calls:
            call = chance.choice(calls)
            return text[:call.start()] + chance.choice(NAMES) + text[call.end():]
    elif kind == 6:
        tokens[i] = ""
    elif kind == 7:
        tokens[i] = word + chance.choice([" ", ", "]) + word
    else:  # lines: one away, twice, elsewhere, or from another file
        lines = text.split("\n")
        at = chance.randrange(len(lines))
        what = chance.randrange(5)
        if what == 0:
            del lines[at]
        elif what == 1:
            lines.insert(at, lines[at])
        elif what == 2:
            lines.insert(chance.randrange(len(lines)), lines.pop(at))
        elif what == 3:
            lines[at] = chance.choice(["    ", "\t", ""]) + lines[at]
        else:
            lines.insert(at, chance.choice(chance.choice(others).split("\n")))
        return "\n".join(lines)
    return "".join(tokens)


def case(seed, texts):
    chance = random.Random(seed)
    text = chance.choice(texts)
    for _ in range(chance.choice([1, 1, 1, 2, 2, 3, 6])):
        text = change(chance, text, texts)
    return text


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fault(tlc, target, text):
    """What is wrong with tlc's answer, or ""."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "case.tl"
        path.write_text(text)
        try:
            done = subprocess.run([tlc, "check", path, f"--target={target}"], capture_output=True, preexec_fn=limit, timeout=10 * SECONDS)
        except subprocess.TimeoutExpired:
            return "no end"
    if done.returncode < 0:
        return signal.Signals(-done.returncode).name
    answer = done.stderr.decode(errors="replace")
    if done.returncode not in (0, 1, 2):
        first = re.search(r"error\[.*", answer)
        return f"exit status {done.returncode}: {first[0] if first else answer[:200]}"
    if (done.returncode != 0) != ("error[TL" in answer):
        return f"exit status {done.returncode}, but: {answer[:200]}"
    return ""


def kind(found):
    return re.sub(r"\d+|'.*?'", "#", found)


def shortened(tlc, target, text, found):
    """The text without lines that the fault does not need."""
    lines, step = text.split("\n"), 16
    while step:
        at = 0
        while at < len(lines):
            fewer = lines[:at] + lines[at + step:]
            if kind(fault(tlc, target, "\n".join(fewer))) == kind(found):
                lines = fewer
            else:
                at += step
        step //= 2
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tlc", required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--targets", default="sm80,sm90,cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most", type=int, default=5, help="kinds of faults after which to stop")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    texts = [f.read_text() for f in sorted(options.files)]
    targets = options.targets.split(",")
    end = time.monotonic() + options.minutes * 60
    seeds = iter(range(options.first, options.first + (10**9 if options.minutes else options.count)))
    done, faults = 0, {}

    def one(seed):
        return seed, fault(options.tlc, targets[seed % len(targets)], case(seed, texts))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while len(faults) < options.most and not (options.minutes and time.monotonic() > end):
            batch = list(itertools.islice(seeds, 8 * options.jobs))
            if not batch:
                break
            for seed, found in pool.map(one, batch):
                done += 1
                if found and kind(found) not in faults:
                    faults[kind(found)] = (seed, found)
    for seed, found in faults.values():
        target = targets[seed % len(targets)]
        print(f"seed {seed} for {target}: {found}")
        print(shortened(options.tlc, target, case(seed, texts), found))
        print("-" * 60)
    print(f"{done} kernels, {len(faults)} kinds of faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
