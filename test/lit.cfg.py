# One configuration for every text suite. From the repository root:
#   python3 /usr/lib/llvm-19/build/utils/lit/lit.py -v test/parse [--param build=BUILD_DIR]
#
#   %tlc       the compiler               %verify   holds diagnostics against the EXPECT comments of the input
#   FileCheck, not, split-file           from llvm-19-tools
# Features: nvcc, clang19, gpu, full (TLC_TEST_FULL=1). `# REQUIRES: nvcc` skips a case, and test.sh names it.
import os
import shutil
import subprocess

import lit.formats

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.abspath(lit_config.params.get("build", os.path.join(root, "build")))

config.name = "tlc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".tl", ".py", ".tlir", ".test"]
config.excludes = ["Inputs", "lit.cfg.py", "verify_diagnostics.py"]
config.test_source_root = os.path.join(root, "test")
config.test_exec_root = os.path.join(build, "test-output")


def tool(*names):
    for name in names:
        found = shutil.which(name) or shutil.which(name, path="/usr/lib/llvm-19/bin")
        if found:
            return found
    lit_config.fatal(f"{names[0]} is missing; run tools/install_dependencies.sh")


tlc = lit_config.params.get("tlc", os.path.join(build, "bin", "tlc"))
if not os.path.exists(tlc):
    lit_config.fatal(f"{tlc} is not built; say --param build=BUILD_DIR")

# A user's settings must not change a result.
config.environment["NO_COLOR"] = "1"
for name in ("TLC_PATH", "CLICOLOR_FORCE", "CPLUS_INCLUDE_PATH", "CPATH"):
    config.environment.pop(name, None)

config.environment["TLC_EMULATE_CACHE"] = os.path.join(build, "test", "emulator")

config.substitutions += [
    (r"%verify", f"python3 {root}/test/verify_diagnostics.py"),
    (r"%tlc\b", tlc),
    (r"%root", root),
    (r"%cxx", shutil.which("g++") or "c++"),
    (r"%clangxx", shutil.which("clang++-19") or "clang++-19"),
    (r"\bFileCheck\b", tool("FileCheck-19", "FileCheck")),
    (r"(?<![\w-])not(?= (--crash )?(%tlc|/|FileCheck|%verify|diff|grep))", tool("not-19", "not")),
    (r"\bsplit-file\b", tool("split-file-19", "split-file")),
]

if shutil.which("nvcc"):
    config.available_features.add("nvcc")
if shutil.which("clang++-19"):
    config.available_features.add("clang19")
if os.environ.get("TLC_TEST_FULL", "0") not in ("", "0"):
    config.available_features.add("full")
if shutil.which("nvidia-smi") and subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0:
    config.available_features.add("gpu")
