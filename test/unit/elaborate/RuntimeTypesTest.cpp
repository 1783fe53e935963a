#include "elaborate/runtime/RuntimeTypes.h"

#include <catch2/catch.hpp>

#include <string>

using namespace tlc;
using namespace tlc::elaborate;

namespace {

std::string common(OperatorClass op, const char *a, const char *b) {
  std::optional<DType> t = commonType(op, *DType::parse(a), *DType::parse(b));
  return t ? t->str() : "-";
}

struct Cell {
  const char *a, *b, *result;
};

void check(OperatorClass op, std::initializer_list<Cell> cells) {
  for (const Cell &c : cells) {
    INFO(c.a << " with " << c.b);
    CHECK(common(op, c.a, c.b) == c.result);
    CHECK(common(op, c.b, c.a) == c.result);
  }
}

} // namespace

TEST_CASE("arithmetic: floats win, wider wins, int wins a tie with uint, bool is int32") {
  check(OperatorClass::Arithmetic, {{"bool", "bool", "int32"},
                                    {"bool", "int8", "int32"},
                                    {"bool", "int64", "int64"},
                                    {"bool", "uint8", "int32"},
                                    {"bool", "uint64", "uint64"},
                                    {"bool", "float16", "float16"},
                                    {"int8", "int8", "int8"},
                                    {"int8", "int32", "int32"},
                                    {"int32", "int64", "int64"},
                                    {"int4", "int8", "int8"},
                                    {"uint8", "uint16", "uint16"},
                                    {"int32", "uint32", "int32"},
                                    {"int8", "uint8", "int8"},
                                    {"int32", "uint64", "uint64"},
                                    {"int64", "uint32", "int64"},
                                    {"int64", "uint64", "int64"},
                                    {"int32", "uint8", "int32"},
                                    {"int32", "float16", "float16"},
                                    {"int64", "float16", "float16"},
                                    {"uint8", "bfloat16", "bfloat16"},
                                    {"int32", "float8_e4m3fn", "float8_e4m3fn"},
                                    {"float16", "float16", "float16"},
                                    {"float16", "float32", "float32"},
                                    {"bfloat16", "float32", "float32"},
                                    {"float32", "float64", "float64"},
                                    {"float16", "bfloat16", "-"},
                                    {"float8_e4m3fn", "float8_e5m2", "-"},
                                    {"float8_e4m3fn", "float16", "float16"},
                                    {"tfloat32", "float32", "float32"},
                                    {"tfloat32", "tfloat32", "tfloat32"}});
}

TEST_CASE("division of integers is float32") {
  check(OperatorClass::Division, {{"bool", "bool", "float32"},
                                  {"int32", "int32", "float32"},
                                  {"int64", "uint8", "float32"},
                                  {"uint32", "uint32", "float32"},
                                  {"int32", "float16", "float16"},
                                  {"float16", "float64", "float64"},
                                  {"float16", "bfloat16", "-"}});
}

TEST_CASE("bits are those of integers; of two bools they are logic") {
  check(OperatorClass::Bitwise, {{"bool", "bool", "bool"},
                                 {"bool", "int8", "int32"},
                                 {"uint8", "uint8", "uint8"},
                                 {"uint8", "int32", "int32"},
                                 {"uint32", "int32", "int32"},
                                 {"uint64", "int32", "uint64"},
                                 {"float16", "int32", "-"},
                                 {"float32", "float32", "-"}});
}

TEST_CASE("shifts") {
  check(OperatorClass::Shift, {{"bool", "bool", "int32"},
                               {"uint8", "int32", "int32"},
                               {"uint32", "uint32", "uint32"},
                               {"int64", "int32", "int64"},
                               {"float32", "int32", "-"}});
}

TEST_CASE("comparisons meet in the common type; two bools compare as bools for equality only") {
  check(OperatorClass::Equality, {{"bool", "bool", "bool"},
                                  {"bool", "int8", "int32"},
                                  {"int32", "uint32", "int32"},
                                  {"int32", "float16", "float16"},
                                  {"float16", "bfloat16", "-"}});
  check(OperatorClass::Order, {{"bool", "bool", "int32"}, {"int32", "int64", "int64"}});
}

TEST_CASE("vectors meet scalars as broadcasts") {
  CHECK(common(OperatorClass::Arithmetic, "float16x4", "float32") == "float32x4");
  CHECK(common(OperatorClass::Arithmetic, "float16x4", "float16x4") == "float16x4");
  CHECK(common(OperatorClass::Arithmetic, "float16x4", "float16x2") == "-");
}

TEST_CASE("literals are int32, int64 if they do not fit") {
  auto name = [](__int128 v) {
    std::optional<DType> t = literalType(v);
    return t ? t->str() : std::string("-");
  };
  CHECK(name(0) == "int32");
  CHECK(name(2147483647) == "int32");
  CHECK(name(-2147483648LL) == "int32");
  CHECK(name(2147483648LL) == "int64");
  CHECK(name(-2147483649LL) == "int64");
  CHECK(name(INT64_MAX) == "int64");
  CHECK(name(__int128(INT64_MAX) + 1) == "uint64");
  CHECK(name(__int128(1) << 64) == "-");
  CHECK(name(-(__int128(1) << 63) - 1) == "-");
}

TEST_CASE("functions of the mathematical library compute ints in float32") {
  CHECK(mathType(Scalar::Int32) == DType(Scalar::Float32));
  CHECK(mathType(Scalar::Bool) == DType(Scalar::Float32));
  CHECK(mathType(Scalar::Float16) == DType(Scalar::Float16));
}
