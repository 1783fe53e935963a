#!/bin/sh
# Compiles emitted .cu files for the emulator (runtime/emulate), like any other compiler driver:
#   tools/emulate.sh [compiler arguments] host.cpp kernel.cu -o run
# .cu files become C++ whose accesses are watched; other sources are compiled as they are, against the
# emulator's cuda_runtime.h. No toolkit and no GPU is needed. The device is the one the .cu was emitted
# for (the newest, if there are several); EMU_ARCH=86 at run time says otherwise.
#   CXX                 compiler, g++ or clang++ (g++)
#   TLC_EMULATE_CACHE   where the library and the precompiled header are kept ($XDG_CACHE_HOME/tlc)
# The program's settings: runtime/emulate/README.md.
set -e
root=$(cd "$(dirname "$0")/.." && pwd)
emulate=$root/runtime/emulate
: "${CXX:=g++}"
case $("$CXX" --version | head -n 1) in
*clang*) tsan="-fsanitize=thread -mllvm -tsan-instrument-func-entry-exit=0 -Wno-unknown-attributes -Wno-pass-failed" clang=1 ;;
# Arrays that nobody takes the address of are not watched; without these two passes that holds for all of
# their accesses, not for those by name only.
*) tsan="-fsanitize=thread --param tsan-instrument-func-entry-exit=0 -fno-ivopts -fno-tree-slsr -Wno-psabi" clang= ;;
esac
include=$emulate/include
kernel="-std=c++20 -g1 $tsan -ffp-contract=off -Wno-unknown-pragmas"

# ---- the library and the precompiled header, once for each state of the sources
key=$({ "$CXX" --version; cat "$0" "$emulate"/*/*.h "$emulate"/device/*.def "$emulate"/core/*.cpp "$emulate"/include/emu/*.h \
  "$root"/runtime/cuda/*.cuh "$root"/runtime/portable/*.h; echo "$emulate"; } | cksum | tr ' ' -)
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
precompile() {
  level=$1
  folder=$cache/header$level
  if [ -z "$clang" ] && [ ! -e "$folder/tlc_emulated.h.gch" ]; then
    mkdir -p "$folder"
    echo "#include \"$emulate/device/tlc.h\"" > "$folder/tlc_emulated.h.$$"
    mv "$folder/tlc_emulated.h.$$" "$folder/tlc_emulated.h"
    "$CXX" $kernel "$level" -ffile-prefix-map="$root/runtime"=tlc-runtime -I"$include" -x c++-header \
      "$folder/tlc_emulated.h" -o "$folder/tlc_emulated.h.gch.$$"
    mv "$folder/tlc_emulated.h.gch.$$" "$folder/tlc_emulated.h.gch"
  fi
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
  *.cu) kernels="$kernels$argument$newline" ;;
  *.hip)
    echo "emulate.sh: $argument: HIP is not emulated yet" >&2
    exit 2
    ;;
  *.cpp | *.cc | *.cxx | *.c) hosts="$hosts$argument$newline" ;;
  *) options="$options $(quote "$argument")" ;;
  esac
done
if [ -z "$kernels$hosts" ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
[ -e "$cache/libtlc_emulate.a" ] || build_library
precompile "$level"
if [ -z "$clang" ]; then header=$cache/header$level/tlc_emulated.h; else header=$emulate/device/tlc.h; fi
# Files emitted with --runtime=include ask for "tlc/cuda/copy.cuh" and the like; what is device code there is in the
# header already.
[ -e "$cache/include/tlc" ] || { mkdir -p "$cache/include" && ln -sfn "$root/runtime" "$cache/include/tlc"; }
included="-DEMU_RUNTIME_INCLUDED -ffile-prefix-map=\"$cache/include/tlc\"=tlc-runtime -I\"$cache/include\" \
  -include \"$emulate/device/tlc.h\""

architecture=0 count=0 objects=
IFS=$newline
for source in $kernels; do
  unset IFS
  for one in $(sed -n '1,4s/code=sm_\([0-9]*\)/\n\1\n/gp' "$source" | grep -x '[0-9]*'); do
    [ "$one" -gt "$architecture" ] && architecture=$one
  done
  count=$((count + 1))
  object=$temporary/$count.o
  [ -n "$only_objects" ] && object=${output:-$(basename "${source%.*}").o}
  before="-include \"\$header\""
  grep -q '^#include "tlc/' "$source" && before=$included
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
if [ "$architecture" -gt 0 ]; then
  echo "extern \"C\" { int emu_architecture = $architecture; }" > "$temporary/architecture.cpp"
  "$CXX" -c "$temporary/architecture.cpp" -o "$temporary/architecture.o"
  objects="$objects $(quote "$temporary/architecture.o")"
fi
eval "\"\$CXX\" $objects $options \"\$cache/libtlc_emulate.a\" -o \"\${output:-a.out}\""
