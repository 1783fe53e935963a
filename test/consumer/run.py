#!/usr/bin/env python3
"""Builds the projects beside this file the way users do, and looks at what is rebuilt when. One case a run; exit 77: skipped."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


class Failure(Exception):
    pass


def run(*command, cwd=None, expect=0):
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "TLC_PATH", "CMAKE_GENERATOR")}
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if (done.returncode == 0) != (expect == 0):
        raise Failure(f"{' '.join(map(str, command))}\nexit status {done.returncode}\n{done.stdout}")
    return done.stdout


def require(condition, text, output=""):
    if not condition:
        raise Failure(f"{text}\n{output}")


class Project:
    """A private copy of project/, so that its files can be edited."""

    def __init__(self, work, generator, tlc, *options):
        self.source, self.build = work / "source", work / "build"
        shutil.copytree(HERE / "project", self.source)
        run("cmake", "-S", self.source, "-B", self.build, "-G", generator, "-DCMAKE_BUILD_TYPE=Release",
            f"-DTLC_EXECUTABLE={tlc}", f"-DTlc_DIR={HERE.parent.parent / 'tools/cmake'}", *options)

    def make(self):
        return run("cmake", "--build", self.build, "-j2", "--verbose")

    def edit(self, name, old, new):
        time.sleep(1.1)  # Make compares time stamps of whole seconds on some file systems
        path = self.source / name
        text = path.read_text()
        require(old in text, f"{name} has no {old}")
        path.write_text(text.replace(old, new))

    def factor(self):
        out = run(self.build / "c_caller") + run(self.build / "cxx_caller")
        return out


def compiled(output, name):
    """Whether the object of a caller was compiled, by the verbose output of Ninja or Make."""
    return any(f"{name}.o" in line and " -c " in line for line in output.splitlines())


def rebuilds(work, generator, tlc):
    project = Project(work, generator, tlc)
    first = project.make()
    require(compiled(first, "main.c") and compiled(first, "main.cpp"), "the callers were not compiled", first)
    require("factor 2" in project.factor(), "wrong result")

    again = project.make()
    require("scale.tl" not in again, "tlc ran again for nothing", again)
    require(not compiled(again, "main.c") and not compiled(again, "scale.cpp"), "something was compiled again", again)

    project.edit("shared code/constants.tl", "2.0", "3.0")
    imported = project.make()
    require(compiled(imported, "scale.cpp"), "an imported file changed, but the kernel was not rebuilt", imported)
    require(not compiled(imported, "main.c") and not compiled(imported, "main.cpp"),
            "the header did not change, but callers were recompiled", imported)
    require("factor 3" in project.factor(), "the new factor did not arrive")
    require("scale.tl" not in project.make(), "tlc runs at every build")

    project.edit("scale.tl", "B: T.Tensor((n,), T.float32)):", "B: T.Tensor((n,), T.float32), unused: T.int32):")
    out = run("cmake", "--build", project.build, "-j2", expect=1)
    require("scale" in out and "argument" in out, "the signature changed, but callers were not recompiled", out)

    project.edit("scale.tl", "T.Parallel(256)", "T.Paralel(256)")
    out = run("cmake", "--build", project.build, expect=1)
    require("Parallel" in out and "scale.tl:" in out, "an error in the kernel is not shown", out)


def case_ninja(work, tlc, build):
    rebuilds(work, "Ninja", tlc)


def case_makefiles(work, tlc, build):
    rebuilds(work, "Unix Makefiles", tlc)


def case_shared_library(work, tlc, build):
    project = Project(work, "Ninja", tlc, "-DKERNEL_KIND=SHARED")
    project.make()
    require("factor 2" in project.factor(), "wrong result")
    require(list(project.build.glob("libkernels.so")), "no shared library")


def case_wrong_calls(work, tlc, build):
    calls = {
        "a misspelt keyword": ("add_tile_kernel(k SOURCES a.tl TARGETS cpu KERNEL a)", "add_tile_kernel(kernels SOURCES"),
        "no TARGETS": ("add_tile_kernel(k SOURCES a.tl)", "TARGETS is missing"),
        "no SOURCES": ("add_tile_kernel(k TARGETS cpu)", "SOURCES is missing"),
        "a keyword without value": ("add_tile_kernel(k SOURCES a.tl TARGETS cpu PREFIX)", "no value after PREFIX"),
        "two families": ("add_tile_kernel(k SOURCES a.tl TARGETS cpu sm80)", "families"),
        "an unknown target": ("add_tile_kernel(k SOURCES a.tl TARGETS sm_80)", "`sm_80` is no target"),
        "a language that is not enabled": ("add_tile_kernel(k SOURCES a.tl TARGETS sm80)", "LANGUAGES CXX CUDA"),
        "two sources of one name": ("add_tile_kernel(k SOURCES a.tl b/a.tl TARGETS cpu)", "two sources"),
    }
    for number, (what, (call, text)) in enumerate(calls.items()):
        folder = work / str(number)
        folder.mkdir(parents=True)
        (folder / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.23)\nproject(P LANGUAGES CXX)\nfind_package(Tlc REQUIRED)\n{call}\n")
        out = run("cmake", "-S", folder, "-B", folder / "build", f"-DTLC_EXECUTABLE={tlc}",
                  f"-DTlc_DIR={HERE.parent.parent / 'tools/cmake'}", expect=1)
        require(text in " ".join(out.split()), f"{what}: the message does not say `{text}`", out)


def case_installed(work, tlc, build):
    prefix, library = work / "tlc", work / "library"
    run("cmake", "--install", build, "--prefix", prefix)
    shutil.copytree(HERE / "project", work / "source")
    run("cmake", "-S", work / "source", "-B", work / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", work / "build", "-j2")
    require("factor 2" in run(work / "build/cxx_caller"), "wrong result")
    run("cmake", "--install", work / "build", "--prefix", library)
    require((library / "include/scale.h").exists(), "the header was not installed")
    run("cmake", "-S", HERE / "second", "-B", work / "second", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={library}")
    run("cmake", "--build", work / "second", "-j2")
    require("factor 2" in run(work / "second/second"), "wrong result from the installed library")
    # An installed tlc brings the emulator along.
    os.environ["TLC_EMULATE_CACHE"] = str(work / "cache")
    out = run(prefix / "bin/tlc", "run", work / "source/scale.tl", "-I", work / "source/shared code", "--target=sm80",
              "--emulate", "n=300", "--compare")
    require("agrees with the interpreter" in out, "wrong result on the emulator", out)


def case_subdirectory(work, tlc, build):
    # Building tlc a second time would take minutes; that the project configures and knows how to build is the point here.
    run("cmake", "-S", HERE / "inside", "-B", work / "build", "-G", "Ninja", f"-DTLC_SOURCE_DIR={HERE.parent.parent}")
    plan = run("ninja", "-C", work / "build", "-t", "commands", "inside")
    require("scale.tl" in plan and "Parser.cpp" in plan, "tlc is not built before the kernels", plan)
    require("Catch" not in plan and "unit_" not in plan, "tlc's tests are built by a project that uses tlc", plan)


def case_cuda(work, tlc, build):
    if not shutil.which("nvcc"):
        return SKIPPED
    project = Project(work, "Ninja", tlc, "-DKERNEL_TARGETS=sm80;sm90")
    out = project.make()
    for flag in ("arch=compute_80,code=[sm_80", "arch=compute_90a,code=[sm_90a]"):
        require(flag in out.replace('"', "") or flag.replace("[", "").replace("]", "") in out.replace('"', ""),
                f"nvcc was not called with {flag}", out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("--tlc", required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    try:
        return globals()["case_" + arguments.case](arguments.work, arguments.tlc, arguments.build) or 0
    except Failure as failure:
        print(failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
