#!/usr/bin/env python3
"""Random kernels, compiled and executed: on the CPU, and as emitted GPU text on the emulator, in several forms of their schedule.

  emulated.py --tlc PATH --fuzz PATH [--first 1] [--count 8 | --minutes 60] [--forms 2] [--targets sm80,sm90] [--reduce] [SEED...]

Two of three come from fuzz_kernels (tile IR), the others from programs.py and products.py (the language). `tlc run --compare` holds
each result against the interpreter's; the emulator reports races, missing waits and the like. The program
is run again with asynchronous work done at other times, which must change no bit. A failure prints its kernel and the command that
repeats it; --reduce makes the kernel as small as it gets while it fails in the same way.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "test" / "exec"))
import products
import programs
import schedules

FORMS = {
    "planned": None,
    "as-written": "as-written",
    "persistent": schedules.persistent,
    "share-0": schedules.replaced("persistent yes share 0", only_first=True),
    "share-1": schedules.replaced("persistent yes share 1", only_first=True),
    "fold": schedules.replaced("persistent yes fold 1 grows"),
    "tile-stages": schedules.replaced("persistent yes stages 2"),
    "joined": schedules.replaced("persistent yes stages 2 join"),
    "clusters-2-1": schedules.clusters(2, 1),
    "clusters-1-2": schedules.clusters(1, 2),
    "split": schedules.replaced("specialize yes split", only_first=True),
    "raster": schedules.replaced("raster column 3"),
    "one-role": schedules.specialized("no"),
    "producers": schedules.specialized("yes"),
    "staged": schedules.stores("staged"),
    "direct": schedules.stores("direct"),
    "two-stages": schedules.stages(2),
    "four-stages": schedules.stages(4),
}
TARGETS = ["sm75", "sm80", "sm86", "sm89", "sm90", "sm90", "sm90-generic", "sm100", "sm120", "cpu"]
# What asks for what a target or a kernel cannot do is refused with a diagnostic, which is right.
SAME, REFUSED = "same", "refused"


def call(command, settings=None, limit=900, errors=subprocess.STDOUT):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EMU_")} | (settings or {})
    try:
        done = subprocess.run([str(c) for c in command], env=environment, text=True, errors="replace", timeout=limit,
                              stdout=subprocess.PIPE, stderr=errors)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return 124, "does not end"


def is_program(kernel):
    return "import tilelang" in kernel


def sizes_of(kernel):
    return re.search(r"^# sizes: (.*)$", kernel, re.M)[1].split()


def signature(text):
    """What a failure is, without where: two kernels that fail alike are one fault."""
    errors = re.findall(r"^(?:error\[?|emu: error|.*(?:differs|internal error)).*", text, re.M)
    return re.sub(r"0x[0-9a-f]+|\d+|[\w./-]+\.tl(ir)?\b\S*", "#", errors[0] if errors else text[:200])


class Trial:
    """One kernel in one form for one target."""

    def __init__(self, options, folder, target, form, multiprocessors):
        self.options, self.folder, self.target, self.form = options, folder, target, form
        self.settings = {"TLC_EMULATE_CACHE": str(options.cache)}
        if multiprocessors:
            self.settings["EMU_SMS"] = multiprocessors
        self.source = folder / "kernel.tlir"

    def schedule(self):
        form = FORMS[self.form]
        if form is None or isinstance(form, str):
            return [f"--schedule={form}"] if form else []
        code, text = call([self.options.tlc, "report", self.source, f"--target={self.target}"],
                          errors=subprocess.DEVNULL)
        if code:
            return None
        (self.folder / "kernel.schedule").write_text(form(text))
        return [f"--schedule={self.folder / 'kernel.schedule'}"]

    def command(self, flags):
        emulate = [] if self.target == "cpu" else ["--emulate"]
        return [self.options.tlc, "run", self.source, f"--target={self.target}", *emulate, *self.sizes, *flags,
                "-Wno-all", "--compare", "--tolerance=0.02", f"--keep={self.folder / 'run'}"]

    def run(self, kernel):
        """SAME, REFUSED, or what went wrong."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.source = self.folder / ("kernel.tl" if is_program(kernel) else "kernel.tlir")
        self.source.write_text(kernel)
        self.sizes = sizes_of(kernel)
        flags = self.schedule()
        if flags is None:
            return REFUSED
        code, text = call(self.command(flags), self.settings)
        asked = self.form.startswith("clusters") and "is cut into clusters of" in text
        if (code == 1 and not re.search(r"TL62\d\d", text)) or asked:
            return REFUSED
        if code or "differs" in text:
            return f"exit status {code}\n{text}"
        return SAME if self.target == "cpu" else self.again()

    def again(self):
        """With asynchronous work done at other times: the same bits, and no report."""
        run = self.folder / "run"
        outputs = {p: p.read_bytes() for p in run.glob("*.out")}
        for mode in ("late", "random"):
            settings = self.settings | {"EMU_MODE": mode, "EMU_SEED": str(self.options.first)}
            code, text = call([run / "run", run], settings)
            if code or "emu: " in text:
                return f"EMU_MODE={mode}: exit status {code}\n{text}"
            for path, before in outputs.items():
                if path.read_bytes() != before:
                    return f"EMU_MODE={mode}: other bits in {path.name}\n"
        return SAME


def block_end(lines, at):
    """The line behind the statement at `at`, with what stands in its braces."""
    depth, end = 0, at
    while True:
        depth += lines[end].count("{") - lines[end].count("}")
        end += 1
        if depth <= 0 or end == len(lines):
            return end


def smaller_program(kernel):
    """The same of the language, whose blocks are indented."""
    lines = kernel.split("\n")
    indents = [len(l) - len(l.lstrip()) for l in lines]
    first = next(i for i, l in enumerate(lines) if "T.Kernel" in l) + 1
    for at in range(first, len(lines)):
        if not lines[at].strip():
            continue
        end = at + 1
        while end < len(lines) and lines[end].strip() and indents[end] > indents[at]:
            end += 1
        yield "\n".join(lines[:at] + lines[end:])
        if end > at + 1:
            yield "\n".join(lines[:at] + [l[4:] for l in lines[at + 1:end]] + lines[end:])
    yield from smaller_sizes(kernel)


def smaller_sizes(kernel):
    head = kernel.split("\n")[0]
    for name, value in re.findall(r"(\w)=(\d+)", head):
        for less in {int(value) // 2, int(value) // 16 * 16} - {int(value), 0}:
            yield re.sub(rf"\b{name}={value}\b", f"{name}={less}", head) + kernel[len(head):]


def smaller(kernel):
    """Kernels with a statement less, a block opened, fewer rounds, or a smaller size."""
    if is_program(kernel):
        yield from smaller_program(kernel)
        return
    lines = kernel.split("\n")
    for at in range(3, len(lines)):
        if lines[at].strip() in ("", "}") or lines[at].strip().startswith("} else"):
            continue
        end = block_end(lines, at)
        yield "\n".join(lines[:at] + lines[end:])
        if end > at + 1 and not any(l.strip().startswith("} else") for l in lines[at:end]):
            yield "\n".join(lines[:at] + lines[at + 1:end - 1] + lines[end:])
        if lines[at].strip().startswith("let ") or " if(" in lines[at]:
            yield "\n".join(lines[:at] + [re.sub(r" if\(.*", "", lines[at])] + lines[at + 1:])
    yield from smaller_sizes(kernel)
    yield re.sub(r" (unroll|policy\(\w+\)|pipelined)( stages\(\d+\))?", "", kernel)


def is_meant(options, folder, kernel):
    """The kernel itself is defined: the interpreter finds nothing wrong with it."""
    path = folder / ("smaller.tl" if is_program(kernel) else "smaller.tlir")
    path.write_text(kernel)
    return call([options.tlc, "run", path, "--target=interpret", *sizes_of(kernel)])[0] == 0


def reduce(trial, kernel, failure, seconds=300):
    wanted, ends = signature(failure), time.monotonic() + seconds
    changed = True
    while changed and time.monotonic() < ends:
        changed = False
        for candidate in smaller(kernel):
            if candidate == kernel or time.monotonic() > ends or not is_meant(trial.options, trial.folder, candidate):
                continue
            found = trial.run(candidate)
            if found not in (SAME, REFUSED) and signature(found) == wanted:
                kernel, failure, changed = candidate, found, True
                break
    return kernel, failure


def try_seed(options, seed):
    makers = {2: programs.generate, 5: products.generate}
    kernel = makers[seed % 6](seed) if seed % 6 in makers else call([options.fuzz, "--print", seed])[1]
    results, choice = [], random.Random(seed)
    pairs = [(t, f) for t in options.targets for f in (FORMS if t != "cpu" else ["planned"])]
    for target, form in choice.sample(pairs, min(options.forms, len(pairs))):
        folder = options.work / f"{seed}-{target}-{form}"
        # Few multiprocessors: blocks of a persistent launch have several tiles.
        trial = Trial(options, folder, target, form, choice.choice(["1", "2", "3", None]))
        found = trial.run(kernel)
        if found in (SAME, REFUSED):
            call(["rm", "-rf", folder])
        results.append((seed, target, form, trial, kernel, found))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tlc", type=pathlib.Path, default=ROOT / "build" / "bin" / "tlc")
    parser.add_argument("--fuzz", type=pathlib.Path, default=ROOT / "build" / "bin" / "fuzz_kernels")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "test-fuzz")
    parser.add_argument("--cache", type=pathlib.Path, help="where the emulator's library is kept")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--minutes", type=float, help="goes on for so long, instead of --count")
    parser.add_argument("--forms", type=int, default=3, help="pairs of target and form for each kernel")
    parser.add_argument("--targets", type=lambda s: s.split(","), default=TARGETS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--reduce", action="store_true")
    parser.add_argument("seeds", type=int, nargs="*")
    options = parser.parse_args()
    options.tlc, options.fuzz, options.work = (p.resolve() for p in (options.tlc, options.fuzz, options.work))
    options.cache = (options.cache or options.work / "cache").resolve()
    ends = time.monotonic() + 60 * options.minutes if options.minutes else None
    seeds = iter(options.seeds or (range(options.first, 1 << 40) if ends else range(options.first, options.first + options.count)))
    counts, known = {SAME: 0, REFUSED: 0, "wrong": 0}, set()
    accepted = dict.fromkeys([*FORMS, *options.targets], 0)
    kernels, started, told = 0, time.monotonic(), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = set()
        while True:
            while len(waiting) < options.jobs and (ends is None or time.monotonic() < ends):
                seed = next(seeds, None)
                if seed is None:
                    break
                waiting.add(pool.submit(try_seed, options, seed))
                kernels += 1
            if not waiting:
                break
            if time.monotonic() > told + 600:
                told = time.monotonic()
                print(f"after {(told - started) / 60:.0f} minutes: {kernels} kernels, {counts}", flush=True)
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for seed, target, form, trial, kernel, found in (r for d in done for r in d.result()):
                counts[found if found in counts else "wrong"] += 1
                for what in (form, target):
                    accepted[what] += found != REFUSED
                if found in (SAME, REFUSED):
                    continue
                what = (target, signature(found))
                print(f"seed {seed}, {target}, {form}: {found[-3000:]}")
                if options.reduce and what not in known:
                    kernel, found = reduce(trial, kernel, found)
                    print(f"reduced, {found[-1500:]}")
                if what not in known:
                    print(kernel)
                known.add(what)
                trial.source.write_text(kernel)
                trial.sizes = sizes_of(kernel)
                settings = [f"{k}={v}" for k, v in trial.settings.items() if k.startswith("EMU_")]
                print("again:", *settings, *trial.command(trial.schedule() or []), flush=True)
    print(f"{kernels} kernels: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    print("accepted: " + ", ".join(f"{form} {n}" for form, n in accepted.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
