// Methods of str, and those of a dtype.
#include "elaborate/python/Methods.h"

#include <algorithm>

namespace tlc::elaborate {

namespace {

std::optional<std::string> text(Elaborator &e, const Binding &b, std::string_view name) {
  return e.toStr(b.value(name), b.range(name), "`" + std::string(name) + "`");
}

Value strJoin(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "iterable, /");
  if (!b.ok || b.at(0)->value.isPoison())
    return b.ok ? b.at(0)->value : Value::error();
  auto items = e.items(b.at(0)->value, b.at(0)->range);
  if (!items)
    return Value::error();
  std::string out, glue = self.asText();
  for (std::size_t i = 0; i < items->size(); ++i) {
    if ((*items)[i].isPoison())
      return (*items)[i];
    auto part = e.toStr((*items)[i], b.at(0)->range, "an item of `join`");
    if (!part)
      return Value::error();
    e.chargeBytes(glue.size() + part->size(), args.range);
    out += (i ? glue : "") + *part;
  }
  return e.str(out);
}

Value strSplitAt(Elaborator &e, const Value &self, CallArgs &args, bool fromRight) {
  Binding b(e, args, "sep=, maxsplit=");
  if (!b.ok)
    return Value::error();
  std::string s = self.asText();
  Value sep = b.value("sep");
  auto limit = b.at(1) ? e.toInt(b.at(1)->value, b.at(1)->range, "`maxsplit`")
                       : std::optional<std::int64_t>(-1);
  if (!limit)
    return Value::error();
  std::vector<Value> out;
  if (sep.isNone()) {
    std::size_t i = 0;
    while (true) {
      i = s.find_first_not_of(" \t\n\r\f\v", i);
      if (i == std::string::npos)
        break;
      std::size_t end = s.find_first_of(" \t\n\r\f\v", i);
      if (*limit >= 0 && static_cast<std::int64_t>(out.size()) == *limit)
        end = std::string::npos;
      out.push_back(e.str(s.substr(i, end == std::string::npos ? end : end - i)));
      if (end == std::string::npos)
        break;
      i = end;
    }
    return e.heap.list(std::move(out));
  }
  auto by = e.toStr(sep, b.range("sep"), "`sep`");
  if (!by)
    return Value::error();
  if (by->empty()) {
    e.report(diag::BadValue, b.range("sep"), "the separator is empty");
    return Value::error();
  }
  std::vector<std::string> parts;
  while (*limit < 0 || static_cast<std::int64_t>(parts.size()) < *limit) {
    std::size_t at = fromRight ? s.rfind(*by) : s.find(*by);
    if (at == std::string::npos)
      break;
    if (fromRight) {
      parts.push_back(s.substr(at + by->size()));
      s = s.substr(0, at);
    } else {
      parts.push_back(s.substr(0, at));
      s = s.substr(at + by->size());
    }
  }
  parts.push_back(s);
  if (fromRight)
    std::reverse(parts.begin(), parts.end());
  for (std::string &p : parts)
    out.push_back(e.str(std::move(p)));
  return e.heap.list(std::move(out));
}
Value strSplit(Elaborator &e, const Value &self, CallArgs &args) {
  return strSplitAt(e, self, args, false);
}
Value strRsplit(Elaborator &e, const Value &self, CallArgs &args) {
  return strSplitAt(e, self, args, true);
}

Value strSplitlines(Elaborator &e, const Value &self, CallArgs &) {
  std::vector<Value> out;
  std::string s = self.asText();
  for (std::size_t i = 0; i < s.size();) {
    std::size_t end = s.find('\n', i);
    out.push_back(e.str(s.substr(i, end == std::string::npos ? end : end - i)));
    i = end == std::string::npos ? s.size() : end + 1;
  }
  return e.heap.list(std::move(out));
}

Value strStripWhere(Elaborator &e, const Value &self, CallArgs &args, bool left, bool right) {
  Binding b(e, args, "chars=, /");
  if (!b.ok)
    return Value::error();
  std::string chars = " \t\n\r\f\v", s = self.asText();
  if (b.at(0) && !b.at(0)->value.isNone()) {
    auto given = text(e, b, "chars");
    if (!given)
      return Value::error();
    chars = *given;
  }
  std::size_t from = left ? s.find_first_not_of(chars) : 0;
  if (from == std::string::npos)
    return e.str("");
  std::size_t to = right ? s.find_last_not_of(chars) : s.size() - 1;
  return e.str(to == std::string::npos ? "" : s.substr(from, to - from + 1));
}
Value strStrip(Elaborator &e, const Value &self, CallArgs &args) {
  return strStripWhere(e, self, args, true, true);
}
Value strLstrip(Elaborator &e, const Value &self, CallArgs &args) {
  return strStripWhere(e, self, args, true, false);
}
Value strRstrip(Elaborator &e, const Value &self, CallArgs &args) {
  return strStripWhere(e, self, args, false, true);
}

Value affix(Elaborator &e, const Value &self, CallArgs &args, bool prefix) {
  Binding b(e, args, "prefix, /");
  if (!b.ok)
    return Value::error();
  for (const Value &v : e.toList(b.at(0)->value)) {
    auto part = e.toStr(v, b.at(0)->range, "the prefix or suffix");
    if (!part)
      return Value::error();
    if (prefix ? self.asText().starts_with(*part) : self.asText().ends_with(*part))
      return Value::boolean(true);
  }
  return Value::boolean(false);
}
Value strStartswith(Elaborator &e, const Value &self, CallArgs &args) {
  return affix(e, self, args, true);
}
Value strEndswith(Elaborator &e, const Value &self, CallArgs &args) {
  return affix(e, self, args, false);
}
Value strRemoveprefix(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "prefix, /");
  auto part = b.ok ? text(e, b, "prefix") : std::nullopt;
  if (!part)
    return Value::error();
  std::string s = self.asText();
  return e.str(s.starts_with(*part) ? s.substr(part->size()) : s);
}
Value strRemovesuffix(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "suffix, /");
  auto part = b.ok ? text(e, b, "suffix") : std::nullopt;
  if (!part)
    return Value::error();
  std::string s = self.asText();
  return e.str(s.ends_with(*part) ? s.substr(0, s.size() - part->size()) : s);
}

template <int (*F)(int)> Value strMapped(Elaborator &e, const Value &self, CallArgs &) {
  std::string s = self.asText();
  for (char &c : s)
    if (static_cast<unsigned char>(c) < 0x80)
      c = static_cast<char>(F(c));
  return e.str(s);
}
Value strCapitalize(Elaborator &e, const Value &self, CallArgs &args) {
  Value lower = strMapped<tolower>(e, self, args);
  std::string s = lower.asText();
  if (!s.empty())
    s[0] = static_cast<char>(toupper(s[0]));
  return e.str(s);
}
template <int (*F)(int)> Value strAll(Elaborator &, const Value &self, CallArgs &) {
  std::string s = self.asText();
  bool all = !s.empty();
  for (char c : s)
    all = all && F(static_cast<unsigned char>(c)) != 0;
  return Value::boolean(all);
}

Value strReplace(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "old, new, count=, /");
  if (!b.ok)
    return Value::error();
  auto from = text(e, b, "old"), to = text(e, b, "new");
  auto count = b.at(2) ? e.toInt(b.at(2)->value, b.at(2)->range, "`count`")
                       : std::optional<std::int64_t>(-1);
  if (!from || !to || !count)
    return Value::error();
  std::string s = self.asText(), out;
  if (from->empty())
    return e.str(s);
  std::size_t i = 0;
  for (std::int64_t n = 0; *count < 0 || n < *count; ++n) {
    std::size_t at = s.find(*from, i);
    if (at == std::string::npos)
      break;
    e.chargeBytes(at - i + to->size(), args.range);
    out += s.substr(i, at - i) + *to;
    i = at + from->size();
  }
  return e.str(out + s.substr(i));
}

Value strFindAt(Elaborator &e, const Value &self, CallArgs &args, bool right, bool mustExist) {
  Binding b(e, args, "sub, /");
  auto part = b.ok ? text(e, b, "sub") : std::nullopt;
  if (!part)
    return Value::error();
  std::string s = self.asText();
  std::size_t at = right ? s.rfind(*part) : s.find(*part);
  if (at == std::string::npos && mustExist) {
    e.report(diag::BadValue, args.range, repr(b.at(0)->value) + " does not occur in the str");
    return Value::error();
  }
  return Value::integer(at == std::string::npos ? -1 : Int(at));
}
Value strFind(Elaborator &e, const Value &self, CallArgs &args) {
  return strFindAt(e, self, args, false, false);
}
Value strRfind(Elaborator &e, const Value &self, CallArgs &args) {
  return strFindAt(e, self, args, true, false);
}
Value strIndex(Elaborator &e, const Value &self, CallArgs &args) {
  return strFindAt(e, self, args, false, true);
}
Value strCount(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "sub, /");
  auto part = b.ok ? text(e, b, "sub") : std::nullopt;
  if (!part)
    return Value::error();
  std::string s = self.asText();
  Int n = 0;
  if (!part->empty())
    for (std::size_t i = s.find(*part); i != std::string::npos; i = s.find(*part, i + part->size()))
      ++n;
  return Value::integer(n);
}
Value strFormat(Elaborator &e, const Value &self, CallArgs &args) {
  for (const CallArg &arg : args.positional)
    if (arg.value.isError() || arg.value.isPoison())
      return arg.value;
  auto out = formatBraces(e, self.asText(), args);
  return out ? e.str(*out) : Value::error();
}
Value strPad(Elaborator &e, const Value &self, CallArgs &args, char where) {
  Binding b(e, args, "width, fillchar=, /");
  auto width = b.ok ? e.toInt(b.at(0)->value, b.at(0)->range, "`width`") : std::nullopt;
  if (!width)
    return Value::error();
  std::string fill = " ", s = self.asText();
  if (b.at(1))
    if (auto given = text(e, b, "fillchar"); given && !given->empty())
      fill = *given;
  std::int64_t missing = *width - static_cast<std::int64_t>(s.size());
  if (missing > 0)
    e.chargeBytes(static_cast<std::uint64_t>(missing), args.range);
  std::string left, right;
  for (std::int64_t i = 0; i < missing; ++i)
    (where == '<' || (where == '^' && i % 2) ? right : left) += fill;
  return e.str(left + s + right);
}
Value strLjust(Elaborator &e, const Value &self, CallArgs &args) {
  return strPad(e, self, args, '<');
}
Value strRjust(Elaborator &e, const Value &self, CallArgs &args) {
  return strPad(e, self, args, '>');
}
Value strCenter(Elaborator &e, const Value &self, CallArgs &args) {
  return strPad(e, self, args, '^');
}
Value strZfill(Elaborator &e, const Value &self, CallArgs &args) {
  args.positional.push_back({e.str("0"), args.range, nullptr});
  return strPad(e, self, args, '>');
}
Value strPartition(Elaborator &e, const Value &self, CallArgs &args) {
  Binding b(e, args, "sep, /");
  auto sep = b.ok ? text(e, b, "sep") : std::nullopt;
  if (!sep || sep->empty())
    return Value::error();
  std::string s = self.asText();
  std::size_t at = s.find(*sep);
  if (at == std::string::npos)
    return e.heap.tuple({e.str(s), e.str(""), e.str("")});
  return e.heap.tuple({e.str(s.substr(0, at)), e.str(*sep), e.str(s.substr(at + sep->size()))});
}
Value strEncode(Elaborator &e, const Value &self, CallArgs &) {
  auto *bytes = e.heap.make<BytesObject>();
  bytes->bytes = self.asText();
  return Value::object(bytes);
}
Value dtypeIsFloat4(Elaborator &, const Value &self, CallArgs &) {
  return Value::boolean(self.isDType() && self.asDType().scalar == Scalar::Float4E2M1FN);
}
Value dtypeSelf(Elaborator &, const Value &self, CallArgs &) { return self; }

} // namespace

const Methods strMethods = {
    {"join", strJoin},
    {"split", strSplit},
    {"rsplit", strRsplit},
    {"splitlines", strSplitlines},
    {"strip", strStrip},
    {"lstrip", strLstrip},
    {"rstrip", strRstrip},
    {"startswith", strStartswith},
    {"endswith", strEndswith},
    {"removeprefix", strRemoveprefix},
    {"removesuffix", strRemovesuffix},
    {"upper", strMapped<toupper>},
    {"lower", strMapped<tolower>},
    {"casefold", strMapped<tolower>},
    {"capitalize", strCapitalize},
    {"title", strCapitalize},
    {"isdigit", strAll<isdigit>},
    {"isnumeric", strAll<isdigit>},
    {"isdecimal", strAll<isdigit>},
    {"isalpha", strAll<isalpha>},
    {"isalnum", strAll<isalnum>},
    {"isspace", strAll<isspace>},
    {"isupper", strAll<isupper>},
    {"islower", strAll<islower>},
    {"replace", strReplace},
    {"find", strFind},
    {"rfind", strRfind},
    {"index", strIndex},
    {"count", strCount},
    {"format", strFormat},
    {"ljust", strLjust},
    {"rjust", strRjust},
    {"center", strCenter},
    {"zfill", strZfill},
    {"partition", strPartition},
    {"encode", strEncode},
};

const Methods dtypeMethods = {
    {"is_float4", dtypeIsFloat4},
    {"as_torch", dtypeSelf},
    {"torch", dtypeSelf},
};

} // namespace tlc::elaborate
