#!/usr/bin/env bash
# Installs what building and testing tlc needs, and only what is missing (Debian 12 and relatives).
# Optional tools (marked so below) are tried too; without them the tests that need them are skipped by name.
#   tools/install_dependencies.sh            install
#   tools/install_dependencies.sh --list     print the package names and stop
set -euo pipefail

required=(
  g++ cmake ninja-build make git python3
  antlr4 libantlr4-runtime-dev   # the parser generator and its C++ runtime
  llvm-19-dev llvm-19-tools      # ADT and Support; FileCheck, not and lit
  libutf8proc-dev                # normal forms of names
  libcli11-dev catch2
)
optional=(
  clang-19                       # second compiler for emitted C++, and AMD device code
  clang-format
  ccache mold                    # faster rebuilds
)

if [[ "${1:-}" == --list ]]; then
  printf '%s\n' "${required[@]}" "${optional[@]}"
  exit 0
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  printf 'install_dependencies: no apt here; please install the equivalents of:\n  %s\n' "${required[*]}" >&2
  exit 0
fi

missing() {
  local name
  for name in "$@"; do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" == installed ]] || echo "$name"
  done
}

mapfile -t need < <(missing "${required[@]}")
mapfile -t want < <(missing "${optional[@]}")
if [[ ${#need[@]} -eq 0 && ${#want[@]} -eq 0 ]]; then
  exit 0
fi

sudo=()
if [[ $EUID -ne 0 ]]; then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo=(sudo)
  elif [[ ${#need[@]} -eq 0 ]]; then
    exit 0
  else
    printf 'install_dependencies: not root. Please run:\n  sudo apt-get install %s\n' "${need[*]}" >&2
    exit 5
  fi
fi

install() {
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -q --no-install-recommends "$@" </dev/null
}
"${sudo[@]}" apt-get update -q </dev/null || echo 'install_dependencies: apt-get update failed; trying with the old lists' >&2
if [[ ${#need[@]} -gt 0 ]]; then
  install "${need[@]}" || { printf 'install_dependencies: could not install: %s\n' "${need[*]}" >&2; exit 5; }
fi
for name in "${want[@]}"; do
  install "$name" || echo "install_dependencies: optional package $name is not to be had; going on without" >&2
done
