#!/usr/bin/env python3
"""Compiles programs of tile kernels for GPUs and runs them on the emulator: tools/emulate.sh.

  run.py --tlc PATH [--target sm80] [--work FOLDER] [--cache FOLDER] [--jobs 2] [NAME...]

Every program checks its own numbers; a report of the emulator makes a launch fail. Each is run with
asynchronous work done early, late, and in an order by seed; a failing run is printed with what repeats it.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import time

import differ
from schedules import alternating, joined, persistent, stores

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "test" / "exec"
SAMPLES = ROOT / "samples"


class Program:
    """A host program with its kernels; `runs` are its argument lists. `target`: the only one that it is about. `schedule` gives
    the schedule's text another form. `settings`: of the emulator."""

    def __init__(self, name, kernels, host, runs=((),), flags=(), target=None, schedule=None, settings=None):
        self.name, self.kernels, self.host, self.runs = name, kernels, host, runs
        self.flags, self.target, self.schedule, self.settings = flags, target, schedule, settings or {}


def sample(name, *files, runs=((),), suffix="", **more):
    folder = SAMPLES / name
    return Program(name + suffix, [folder / f for f in ("kernel.tl", *files)], folder / "main.cpp", runs, **more)


def own(name, target=None):
    return Program(name, [HERE / "kernels" / f"{name}.tl"], HERE / f"{name}.cpp", target=target)


# Sizes of gemm: no round of the loop, one, two, as many as the pipeline has stages (4 of 32 on sm80, 6 of 64 on sm90), one more
# and one less; edges that no vector divides.
GEMMS = [(8, 16, 0), (16, 8, 32), (129, 64, 64), (64, 136, 96), (1, 1, 1), (33, 70, 45), (130, 131, 130), (130, 70, 46),
         (64, 64, 128), (40, 64, 160), (64, 72, 320), (72, 64, 384), (136, 8, 448)]


def call(command, where, settings=None, limit=300):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("EMU_")}
    environment.update(settings or {})
    done = subprocess.run(command, cwd=where, env=environment, text=True, errors="replace", timeout=limit,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def rescheduled(command, schedule, stem, folder):
    """The command with another form of the schedule that it takes by itself. (What it cannot compile it will say again.)"""
    # Its notes go to the other stream.
    report = subprocess.run([command[0], "report", *command[1:]], cwd=folder, text=True, capture_output=True)
    (folder / f"{stem}.schedule").write_text(schedule(report.stdout))
    command.append(f"--schedule={stem}.schedule")


class Difference:
    """Kernels without a host of their own: their results are held against those of the CPU."""

    def __init__(self, name, target=None, settings=None, suffix="", schedule=None, sizes=None):
        self.name, self.target, self.kernels, self.settings = name + suffix, target, [HERE / "kernels" / f"{name}.tl"], settings or {}
        self.schedule, self.sizes = schedule, sizes

    def check(self, options, folder):
        folder.mkdir(parents=True, exist_ok=True)
        source = self.kernels[0]
        sizes = differ.sizes_of(self.sizes or source.read_text())
        for target, emitted in ((options.target, "kernel.cu"), ("cpu", "kernel.cpp")):
            command = [options.tlc, source, f"--target={target}"]
            if self.schedule and target != "cpu":
                rescheduled(command, self.schedule, source.stem, folder)
            code, text = call([*command, "-o", emitted, "--header", "kernel.h", "--metadata", "kernel.json"], folder)
            if code:
                return text
            host, counts = differ.host_of("kernel.h", (folder / "kernel.json").read_text(), sizes)
            (folder / "host.cpp").write_text(host)
            paths = [f"-I{SAMPLES / 'common'}", f"-I{HERE}", "-I."]
            if target == "cpu":
                command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", *paths, "host.cpp", emitted, "-pthread"]
            else:
                command = [ROOT / "tools" / "emulate.sh", "-DSAMPLE_CUDA", *paths, "host.cpp", emitted]
            code, text = call([*command, "-o", f"run-{target}"], folder, {"TLC_EMULATE_CACHE": str(options.cache)})
            if code:
                return text
        seed = {"TLC_SAMPLE_SEED": str(random.randrange(1, 1 << 30))}
        code, text = call(["./run-cpu", "cpu.out"], folder, seed)
        if code:
            return f"exit status {code} on the CPU\n{text}"
        for mode in ("early", "late", "random"):
            settings = self.settings | seed | {"EMU_MODE": mode, "EMU_SEED": seed["TLC_SAMPLE_SEED"]}
            code, text = call([f"./run-{options.target}", "gpu.out"], folder, settings)
            again = f"{' '.join(f'{k}={v}' for k, v in settings.items())} {folder}/run-{options.target} out\n"
            if code or "emu: " in text:
                return f"exit status {code} of {again}{text[-6000:]}"
            wrong = differ.disagreement((folder / "gpu.out").read_bytes(), (folder / "cpu.out").read_bytes(), counts)
            if wrong:
                return f"{wrong}: {again}"
        return ""


PROGRAMS = [
    sample("vector_add"),
    sample("softmax", "long.tl"),
    sample("rmsnorm"),
    sample("layernorm"),
    sample("transpose"),
    sample("quantize"),
    sample("fp8_gemm"),
    Program("gemm_family", sorted((SAMPLES / "gemm_family").glob("*.tl")), SAMPLES / "gemm_family/main.cpp"),
    sample("gemv"),
    sample("conv2d"),
    sample("gemm", "eager.tl", runs=[(), *(tuple(map(str, s)) for s in GEMMS)]),
    sample("splitk_gemm"),
    sample("dequant_gemm"),
    sample("flash_attention", "variable.tl"),
    sample("mla_decode"),
    sample("mla_decode", suffix="-walks", target="sm90", settings={"EMU_SMS": "1"}),
    sample("gemm", "eager.tl", suffix="-persistent", schedule=persistent, runs=[tuple(map(str, s)) for s in (*GEMMS, (700, 260, 40))]),
    sample("gemm", "eager.tl", suffix="-direct", schedule=stores("direct"), runs=[tuple(map(str, GEMMS[2]))]),
    sample("splitk_gemm", suffix="-persistent", schedule=persistent),
    sample("flash_attention", "variable.tl", suffix="-persistent", schedule=persistent),
    # Two and three consumers that take turns; each block has several tiles, of unequal length under the mask.
    *(sample("flash_attention", "variable.tl", suffix=f"-{groups}-consumers", target="sm90", settings={"EMU_SMS": sms},
             flags=("-D", f"block_M={64 * groups}", "-D", f"threads={128 * groups}")) for groups, sms in ((2, "3"), (3, "2"))),
    # The same with tiles that are joined.
    *(sample("flash_attention", "variable.tl", suffix=f"-{groups}-joined", target="sm90", schedule=joined, settings={"EMU_SMS": sms},
             flags=("-D", f"block_M={64 * groups}", "-D", f"threads={128 * groups}")) for groups, sms in ((2, "3"), (4, "2"))),
    own("pipelines"),
    own("products"),
    own("tiles"),
    own("threads"),
    own("messages"),
    # The same runtime by its headers instead of pasted.
    Program("threads_included", [HERE / "kernels/threads.tl"], HERE / "threads.cpp", flags=("--runtime=include",)),
    Program("softmax_included", sorted((SAMPLES / "softmax").glob("*.tl")), SAMPLES / "softmax/main.cpp",
            flags=("--runtime=include",)),
    own("warpgroups", target="sm90"),
    own("boxes", target="sm90"),
    own("stores", target="sm90"),
    Difference("sharing"),
    Difference("by_element", settings={"EMU_SMS": "3"}),
    Difference("adds", target="sm90", settings={"EMU_SMS": "3"}),
    Difference("backward", target="sm90", settings={"EMU_SMS": "3"}),
    Difference("majors", target="sm90"),
    Difference("packed_rows", target="sm90", settings={"EMU_SMS": "3"}),
    Difference("few_tiles", target="sm90", settings={"EMU_SMS": "20"}),
    Difference("wide_tiles", target="sm90", settings={"EMU_SMS": "3"}),
    Difference("turns", target="sm90", settings={"EMU_SMS": "3"}),
    Difference("turns", suffix="-always", target="sm90", settings={"EMU_SMS": "3"}, schedule=alternating,
               sizes="# sizes: M=300 N=520 K=192; M=256 N=384 K=72; M=128 N=128 K=648; M=136 N=264 K=0\n"),
    Difference("pairs", target="sm90", settings={"EMU_SMS": "5"}),
    Difference("spread", target="sm90", settings={"EMU_SMS": "3"}),
    Difference("producers", target="sm90", settings={"EMU_SMS": "3"}),
    Difference("panels", settings={"EMU_SMS": "3"}),
    Difference("loops"),
    Difference("narrow"),
    Difference("quotients"),
    Difference("halves"),
    Difference("reducers"),
    Difference("views"),
]


def build(program, options, folder):
    folder.mkdir(parents=True, exist_ok=True)
    emitted = []
    for kernel in program.kernels:
        command = [options.tlc, kernel, f"--target={options.target}", *program.flags]
        if program.schedule:
            rescheduled(command, program.schedule, kernel.stem, folder)
        code, text = call([*command, "-o", f"{kernel.stem}.cu"], folder)
        if code:
            return text
        emitted.append(f"{kernel.stem}.cu")
    code, text = call([ROOT / "tools" / "emulate.sh", "-DSAMPLE_CUDA", f"-I{SAMPLES / 'common'}", "-I.",
                       program.host, *emitted, "-o", "run"], folder,
                      {"TLC_EMULATE_CACHE": str(options.cache)})
    return text if code else ""


def check(program, options):
    started = time.monotonic()
    folder = options.work / options.target / program.name
    if isinstance(program, Difference):
        failure = program.check(options, folder)
        return program.name, failure, f"{time.monotonic() - started:.1f} s"
    failure = build(program, options, folder)
    if failure:
        return program.name, failure, 0
    built = time.monotonic()
    seed = random.randrange(1, 1 << 30)
    for arguments in program.runs:
        for mode in ("early", "late", "random"):
            settings = program.settings | {"EMU_MODE": mode, "EMU_SEED": str(seed), "TLC_SAMPLE_SEED": str(seed)}
            code, text = call(["./run", *arguments], folder, settings)
            # A report may be a warning, which does not fail the launch; these programs have none.
            if code or "emu: " in text:
                again = " ".join([*(f"{k}={v}" for k, v in settings.items()), f"{folder}/run", *arguments])
                return program.name, f"exit status {code} of {again}\n{text[-6000:]}", 0
            if mode == "late" and program.name.startswith("gemm") and not arguments:
                break  # the largest one: two schedules will do
    ended = time.monotonic()
    return program.name, "", f"{built - started:.1f} s to compile, {ended - built:.1f} s to run"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tlc", type=pathlib.Path, default=ROOT / "build" / "bin" / "tlc")
    parser.add_argument("--target", default="sm80")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "test-exec")
    parser.add_argument("--cache", type=pathlib.Path, help="where the emulator's library is kept")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.tlc, options.work = options.tlc.resolve(), options.work.resolve()
    options.cache = (options.cache or options.work / "cache").resolve()
    chosen = [p for p in PROGRAMS
              if (p.name in options.names if options.names else p.target in (None, options.target))]
    unknown = set(options.names) - {p.name for p in chosen}
    if unknown:
        sys.exit(f"no program {', '.join(sorted(unknown))}")
    # The first one builds the emulator's library, for which the others would wait anyway.
    results = [check(chosen[0], options)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results += pool.map(lambda p: check(p, options), chosen[1:])
    failed = 0
    for name, failure, times in results:
        print(f"{name:16} {'FAILED' if failure else 'ok'}  {failure or times}")
        failed += bool(failure)
    print(f"{len(results) - failed} of {len(results)} programs for {options.target}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
