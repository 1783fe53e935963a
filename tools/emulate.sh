#!/bin/sh
# Compiles emitted .cu and .hip files for the emulator (runtime/emulate), like any other compiler driver:
#   tools/emulate.sh [compiler arguments] host.cpp kernel.cu -o run
# They become C++ whose accesses are watched; other sources are compiled as they are, against the
# emulator's cuda_runtime.h and hip/hip_runtime.h. No toolkit and no GPU is needed. The device is the one
# the file was emitted for (the newest, if there are several); EMU_ARCH=86 or gfx90a at run time says otherwise.
#   CXX                 compiler, g++ or clang++ (g++)
#   TLC_EMULATE_CACHE   where the library and the precompiled header are kept ($XDG_CACHE_HOME/tlc)
# The program's settings: runtime/emulate/README.md.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
emulate=$root/runtime/emulate
: "${CXX:=g++}"
case $("$CXX" --version | head -n 1) in
*clang*)
  tsan="-fsanitize=thread,array-bounds -mllvm -tsan-instrument-func-entry-exit=0 -Wno-unknown-attributes -Wno-pass-failed" clang=1
  # Arrays at a structure's end have their bounds, too (clang 16 and later can be told).
  if "$CXX" -fstrict-flex-arrays=3 -fsyntax-only -x c++ /dev/null 2> /dev/null; then tsan="$tsan -fstrict-flex-arrays=3"; fi
  ;;
# Arrays that nobody takes the address of are not watched; without these two passes that holds for all of
# their accesses, not for those by name only.
*) tsan="-fsanitize=thread,bounds-strict --param tsan-instrument-func-entry-exit=0 -fno-ivopts -fno-tree-slsr -Wno-psabi" clang= ;;
esac
include=$emulate/include
kernel="-std=c++20 -g1 $tsan -ffp-contract=off -Wno-unknown-pragmas"

# ---- the library and the precompiled header, once for each state of the sources
key=$({ "$CXX" --version; cat "$0" "$emulate"/*/*.h "$emulate"/*/*.def "$emulate"/core/*.cpp "$emulate"/*/*/*.h \
  "$emulate"/*/*/*.def "$root"/runtime/cuda/*.cuh "$root"/runtime/gpu/*.h "$root"/runtime/hip/*.h "$root"/runtime/portable/*.h; echo "$emulate"; } | cksum | tr ' ' -)
cache=${TLC_EMULATE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tlc}/emulate-$key

build_library() {
  mkdir -p "$cache.new.$$"
  (
    cd "$cache.new.$$"
    objects= waiting=0
    for source in "$emulate"/core/*.cpp; do
      object=$(basename "$source" .cpp).o
      objects="$objects $object"
      "$CXX" -std=c++20 -O2 -g1 -Wall -Wextra -I"$include" -c "$source" -o "$object" &
      waiting=$((waiting + 1))
      if [ $waiting -eq 2 ]; then wait; waiting=0; fi
    done
    wait
    ar rcs libtlc_emulate.a $objects
    rm -f $objects
  ) && mv "$cache.new.$$" "$cache" 2> /dev/null || [ -e "$cache/libtlc_emulate.a" ]
  rm -rf "$cache.new.$$"
}
# Precompiled for one optimisation level; others parse the header.
precompile() { # LEVEL NAME: of device/NAME.h, whose path it leaves in $header
  level=$1
  header=$emulate/device/$2.h
  [ -z "$clang" ] || return 0
  folder=$cache/header$level
  if [ ! -e "$folder/$2.h.gch" ]; then
    mkdir -p "$folder"
    echo "#include \"$header\"" > "$folder/$2.h.$$"
    mv "$folder/$2.h.$$" "$folder/$2.h"
    "$CXX" $kernel "$level" -ffile-prefix-map="$root/runtime"=tlc-runtime -I"$include" -x c++-header \
      "$folder/$2.h" -o "$folder/$2.h.gch.$$"
    mv "$folder/$2.h.gch.$$" "$folder/$2.h.gch"
  fi
  header=$folder/$2.h
}

# ---- the command line: sources, what is to come out, and the rest
output= only_objects= level=-O1 kernels= hosts= options= previous=
temporary=$(mktemp -d "${TMPDIR:-/tmp}/tlc-emulate.XXXXXX")
trap 'rm -rf "$temporary"' EXIT
newline='
'
quote() { printf '%s' "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"; }
for argument; do
  if [ "$previous" = -o ]; then
    output=$argument previous=
    continue
  fi
  previous=
  case $argument in
  -o) previous=-o ;;
  -c) only_objects=1 ;;
  -O*) level=$argument ;;
  *.cu | *.hip) kernels="$kernels$argument$newline" ;;
  *.cpp | *.cc | *.cxx | *.c) hosts="$hosts$argument$newline" ;;
  *) options="$options $(quote "$argument")" ;;
  esac
done
if [ -z "$kernels$hosts" ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
[ -e "$cache/libtlc_emulate.a" ] || build_library
# Files emitted with --runtime=include ask for "tlc/cuda/async.cuh" and the like; what is device code there is in the
# header already.
[ -e "$cache/include/tlc" ] || { mkdir -p "$cache/include" && ln -sfn "$root/runtime" "$cache/include/tlc"; }
included="-DEMU_RUNTIME_INCLUDED -ffile-prefix-map=\"$cache/include/tlc\"=tlc-runtime -I\"$cache/include\""

architecture=0 device= count=0 objects=
IFS=$newline
for source in $kernels; do
  unset IFS
  for one in $(sed -n '1,4s/code=sm_\([0-9]*\)/\n\1\n/gp' "$source" | grep -x '[0-9]*'); do
    [ "$one" -gt "$architecture" ] && architecture=$one
  done
  for one in $(sed -n '1,4s/offload-arch=\(gfx[0-9a-f]*\)/\n\1\n/gp' "$source" | grep -x 'gfx[0-9a-f]*' | sort); do
    device=$one
  done
  count=$((count + 1))
  object=$temporary/$count.o
  [ -n "$only_objects" ] && object=${output:-$(basename "${source%.*}").o}
  case $source in
  *.hip) prelude=tlc_hip ;;
  *) prelude=tlc ;;
  esac
  if grep -q '^#include "tlc/' "$source"; then
    before="$included -include \"$emulate/device/$prelude.h\""
  else
    precompile "$level" "$prelude"
    before="-include \"$header\""
  fi
  eval "\"\$CXX\" $kernel $level -ffile-prefix-map=\"\$root/runtime\"=tlc-runtime -I\"\$include\" \
    $before $options -x c++ -c \"\$source\" -o \"\$object\""
  objects="$objects $(quote "$object")"
done
IFS=$newline
for source in $hosts; do
  unset IFS
  count=$((count + 1))
  object=$temporary/$count.o
  [ -n "$only_objects" ] && object=${output:-$(basename "${source%.*}").o}
  case $source in
  *.c) eval "\"\${CC:-cc}\" -g1 $level $options -c \"\$source\" -o \"\$object\"" ;;
  *) eval "\"\$CXX\" -std=c++20 -g1 $level -I\"\$include\" $options -c \"\$source\" -o \"\$object\"" ;;
  esac
  objects="$objects $(quote "$object")"
done
unset IFS
[ -n "$only_objects" ] && exit 0
[ "$architecture" -gt 0 ] && [ -z "$device" ] && device=$architecture
{
  [ -z "$device" ] || echo "extern \"C\" { const char *emu_device = \"$device\"; }"
  [ -z "$clang" ] || echo "extern \"C\" { int emu_sees_registers = 0; }"
} > "$temporary/settings.cpp"
"$CXX" -c "$temporary/settings.cpp" -o "$temporary/settings.o"
objects="$objects $(quote "$temporary/settings.o")"
eval "\"\$CXX\" $objects $options \"\$cache/libtlc_emulate.a\" -o \"\${output:-a.out}\""
