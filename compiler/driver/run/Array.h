// Arrays in files: NumPy's .npy, and bare elements in row-major order, little-endian.
#pragma once

#include "interpret/Interpreter.h"

#include <optional>
#include <string>
#include <vector>

namespace tlc::run {

/// The contents of a file before it is known what they are for.
struct ArrayFile {
  std::string type;                               ///< NumPy's, "<f2"; empty: the file does not say
  std::optional<std::vector<std::int64_t>> shape; ///< of .npy
  std::vector<std::byte> data;
};

/// Reads a file; names ending in .npy must hold NumPy's format. `error` gets a reason for people,
/// `missing` whether the file could not be read at all.
std::optional<ArrayFile> readArray(const std::string &path, std::string &error, bool &missing);

/// What `file` holds as a dense tensor of this dtype and shape; nothing, and a reason, if it does
/// not fit.
std::optional<interpret::Tensor> asTensor(const ArrayFile &file, DType dtype,
                                          const std::vector<std::int64_t> &shape,
                                          std::string &error);

/// The bytes of a file of this name: .npy with its header, else the elements alone. Types that
/// NumPy does not have are written as bytes of their width ("|V1", "<V2"), pairs of 4 bits as one
/// byte.
std::string arrayText(const std::string &path, const interpret::Tensor &dense);

} // namespace tlc::run
