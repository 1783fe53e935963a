#!/usr/bin/env bash
# Formats our C++ in place; with --check only says which files differ and exits 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
formatter=$(command -v clang-format-19 || command -v clang-format-14 || command -v clang-format) || {
  echo 'format: clang-format is not installed' >&2
  exit 5
}
mapfile -t files < <(git ls-files 'compiler/*.cpp' 'compiler/*.h' 'test/unit/*.cpp' 'test/unit/*.h' 'samples/*.cpp' 'samples/*.h')
[[ ${#files[@]} -gt 0 ]] || exit 0
if [[ "${1:-}" == --check ]]; then
  printf '%s\0' "${files[@]}" | xargs -0 "$formatter" --dry-run -Werror
else
  printf '%s\0' "${files[@]}" | xargs -0 "$formatter" -i
fi
