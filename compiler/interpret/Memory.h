// Memory of the interpreter: bytes, and beside them what is known about each.
#pragma once

#include "interpret/Numeric.h"
#include "ir/Function.h"

#include <string>
#include <vector>

namespace tlc::interpret {

enum State : std::uint8_t { NeverWritten, Defined, InFlight };

/// The bytes of one buffer that owns storage, or of the shared arena.
struct Storage {
  std::string name;
  ir::Scope scope = ir::Scope::Shared;
  std::byte *data = nullptr;
  std::size_t size = 0;
  std::vector<std::byte> own;
  /// Per byte; empty: everything is defined (global tensors).
  std::vector<std::uint8_t> state;
  /// Accesses are watched in units of 1 << granule bits: the smallest element of any view. Half a
  /// byte is a unit of its own: whoever stores it keeps its neighbour.
  unsigned granule = 6;

  /// Per granule, points of a map (or threads of a statement) that touched it, as numbers that grow
  /// through the whole run (Watch.h); made on first use.
  std::vector<std::uint32_t> writer, reader;
  /// Per granule, thread phase: last write, and last read of each warp.
  std::vector<std::uint64_t> lastWrite, lastReads;
  /// Per granule of global storage: block that wrote or read it in this launch.
  std::vector<std::uint32_t> blockWriter, blockReader;
  /// Per byte of the arena: number of the buffer last written through, plus one.
  std::vector<std::uint16_t> owner;

  void allocate(std::size_t bytes, bool tracksState);
  std::size_t granules() const { return ((size * 8) >> granule) + 1; }
  void setState(std::size_t begin, std::size_t bytes, State to);
};

/// How a buffer's elements are found in its storage.
struct View {
  const ir::Buffer *buffer = nullptr;
  Storage *storage = nullptr;
  const Codec *codec = nullptr;
  DType dtype;
  std::uint16_t number = 0;     ///< of the storage's owner, for the arena
  std::int64_t base = 0;        ///< bits from the storage's start to version 0
  std::int64_t versionBits = 0; ///< between versions
  std::int64_t threadBits = 0;  ///< Local: between the copies of threads (or of a map's points)
  std::int64_t versions = 1;
  std::int64_t count = 0;                   ///< elements of a version, for physical offsets
  std::vector<std::int64_t> shape, strides; ///< in elements
  const View *strided = nullptr;            ///< a dense view of a tensor with strides: that tensor
  Value safeValue{};                        ///< of global reads out of range

  unsigned bits() const { return codec->bits; }
  unsigned bytes() const { return (codec->bits + 7) / 8; }
  bool isGlobal() const { return storage->scope == ir::Scope::Global; }
  Value load(std::int64_t at) const {
    return codec->load(storage->data + (at >> 3), static_cast<unsigned>(at & 7));
  }
  void store(std::int64_t at, Value value) const {
    codec->store(storage->data + (at >> 3), static_cast<unsigned>(at & 7), value);
  }
};

} // namespace tlc::interpret
