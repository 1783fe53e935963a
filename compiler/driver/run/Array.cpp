#include "driver/run/Array.h"

#include "driver/run/Call.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace tlc::run {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

bool isNumpy(const std::string &path) { return path.ends_with(".npy"); }

/// The value of `key` in the header's dictionary, up to the comma or brace that ends it.
std::string_view entry(std::string_view header, std::string_view key) {
  std::size_t at = header.find("'" + std::string(key) + "'");
  if (at == header.npos || (at = header.find(':', at)) == header.npos)
    return {};
  std::string_view rest = header.substr(at + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(" "), rest.size()));
  std::size_t end = rest.starts_with("(") ? rest.find(')') : rest.find_first_of(",}");
  return rest.substr(0, end);
}

/// Extents in "(3, 4" or "(3,"; nothing if there is something else.
std::optional<std::vector<std::int64_t>> extents(std::string_view text) {
  if (!text.starts_with("("))
    return std::nullopt;
  std::vector<std::int64_t> out;
  for (const std::string &part : splitList(text.substr(1))) {
    std::size_t begin = part.find_first_not_of(' ');
    if (begin == part.npos)
      continue;
    std::size_t used = 0;
    std::int64_t value = -1;
    try {
      value = std::stoll(part.substr(begin), &used);
    } catch (const std::exception &) {
      return std::nullopt;
    }
    if (value < 0 || part.find_first_not_of(" L", begin + used) != part.npos)
      return std::nullopt;
    out.push_back(value);
  }
  return out;
}

bool readHeader(ArrayFile &file, std::string &error) {
  std::string_view bytes(reinterpret_cast<const char *>(file.data.data()), file.data.size());
  if (bytes.size() < 10 || !bytes.starts_with(magic)) {
    error = "it has no NumPy header";
    return false;
  }
  auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  bool isLong = bytes[6] >= 2; // the version
  std::size_t begin = isLong ? 12 : 10;
  std::size_t length = bytes.size() < begin ? 0 : byte(8) | byte(9) << 8;
  if (isLong && bytes.size() >= begin)
    length |= byte(10) << 16 | byte(11) << 24;
  if (bytes.size() < begin + length) {
    error = "its NumPy header is cut short";
    return false;
  }
  std::string_view header = bytes.substr(begin, length), type = entry(header, "descr");
  file.shape = extents(entry(header, "shape"));
  if (type.size() < 4 || type.front() != '\'' || !file.shape) {
    error = "its NumPy header says no type and shape of plain elements";
    return false;
  }
  file.type = std::string(type.substr(1, type.size() - 2));
  if (file.type[0] == '>') {
    error = "its elements are big-endian (" + file.type + "); save them with .astype('<" +
            file.type.substr(1) + "')";
    return false;
  }
  if (entry(header, "fortran_order") != "False" && file.shape->size() > 1) {
    error = "its elements are in column-major order; save numpy.ascontiguousarray of them";
    return false;
  }
  file.data.erase(file.data.begin(),
                  file.data.begin() + static_cast<std::ptrdiff_t>(begin + length));
  return true;
}

/// Which types a file may have for a dtype, the one that we write first. Numbers whose format NumPy
/// does not know may come as raw bytes or as unsigned integers.
std::vector<std::string> numpyTypes(DType dtype) {
  std::string bytes = std::to_string(std::max(1u, dtype.bits() / 8));
  std::string order = bytes == "1" ? "|" : "<";
  if (dtype.isBool())
    return {"|b1", "|u1", "|i1"};
  if (dtype.isSubByte())
    return {"|u1", "|i1", "|V1"};
  if (dtype.isInteger())
    return {order + (dtype.isUInt() ? "u" : "i") + bytes};
  switch (dtype.scalar) {
  case Scalar::Float64:
  case Scalar::Float32:
  case Scalar::TFloat32:
  case Scalar::Float16:
    return {"<f" + bytes};
  default:
    return {order + "V" + bytes, "|V" + bytes, order + "u" + bytes};
  }
}

/// As NumPy would count the elements: several to a byte are one.
std::vector<std::int64_t> numpyShape(DType dtype, std::vector<std::int64_t> shape) {
  if (!dtype.isSubByte())
    return shape;
  std::int64_t count = 1;
  for (std::int64_t extent : shape)
    count *= extent;
  if (!shape.empty() && shape.back() * dtype.bits() % 8 == 0)
    shape.back() = shape.back() * dtype.bits() / 8;
  else
    shape = {storageBytes(dtype, count)};
  return shape;
}

} // namespace

std::optional<ArrayFile> readArray(const std::string &path, std::string &error, bool &missing) {
  missing = true;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    error = std::strerror(errno);
    return std::nullopt;
  }
  ArrayFile file;
  std::string text((std::istreambuf_iterator<char>(in)), {});
  if (in.bad()) {
    error = "it is no file that can be read";
    return std::nullopt;
  }
  missing = false;
  file.data.resize(text.size());
  std::memcpy(file.data.data(), text.data(), text.size());
  if (isNumpy(path) && !readHeader(file, error))
    return std::nullopt;
  return file;
}

std::optional<interpret::Tensor> asTensor(const ArrayFile &file, DType dtype,
                                          const std::vector<std::int64_t> &shape,
                                          std::string &error) {
  if (!file.type.empty()) {
    bool fits = false;
    std::string known;
    for (const std::string &type : numpyTypes(dtype)) {
      fits |= file.type == type || (file.type[0] == '=' && file.type.substr(1) == type.substr(1));
      known += (known.empty() ? "'" : " or '") + type + "'";
    }
    if (!fits) {
      error = "its elements are '" + file.type + "', those of " + dtype.str() + " must be " + known;
      return std::nullopt;
    }
  }
  if (file.shape && *file.shape != numpyShape(dtype, shape)) {
    error = "its shape is " + shapeText(*file.shape) + " instead of " +
            shapeText(numpyShape(dtype, shape));
    return std::nullopt;
  }
  interpret::Tensor out(dtype, shape);
  auto bytes = static_cast<std::size_t>(storageBytes(dtype, out.count()));
  if (file.data.size() != bytes) {
    error = "it holds " + std::to_string(file.data.size()) + " bytes of elements, " +
            shapeText(shape) + " of " + dtype.str() + " take " + std::to_string(bytes);
    return std::nullopt;
  }
  if (bytes)
    std::memcpy(out.data.data(), file.data.data(), bytes);
  return out;
}

std::string arrayText(const std::string &path, const interpret::Tensor &dense) {
  std::string text;
  if (isNumpy(path)) {
    std::string shape;
    for (std::int64_t extent : numpyShape(dense.dtype, dense.shape))
      shape += std::to_string(extent) + ", ";
    if (dense.shape.size() > 1)
      shape.resize(shape.size() - 2);
    std::string header = "{'descr': '" + numpyTypes(dense.dtype).front() +
                         "', 'fortran_order': False, 'shape': (" + shape + "), }";
    while ((magic.size() + 4 + header.size() + 1) % 64) // the elements start aligned
      header += ' ';
    header += '\n';
    text = std::string(magic) + '\1' + '\0' + static_cast<char>(header.size() & 255) +
           static_cast<char>(header.size() >> 8) + header;
  }
  auto bytes = static_cast<std::size_t>(storageBytes(dense.dtype, dense.count()));
  return text.append(reinterpret_cast<const char *>(dense.data.data()), bytes);
}

} // namespace tlc::run
