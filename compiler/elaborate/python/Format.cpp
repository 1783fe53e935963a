// Format specifications of f-strings, str.format and %.
#include "elaborate/Parts.h"

#include <cmath>
#include <cstdio>

namespace tlc::elaborate {

namespace {

constexpr int widest = 4096; // of a field or a precision

struct Spec {
  std::string fill = " ";
  char align = 0, sign = '-', type = 0;
  bool alternate = false;
  char grouping = 0;
  int width = 0, precision = -1;
};

std::optional<Spec> parseSpec(std::string_view s) {
  Spec out;
  std::size_t first = 1;
  while (first < s.size() && (static_cast<unsigned char>(s[first]) & 0xc0) == 0x80)
    ++first;
  auto isAlign = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (s.size() > first && isAlign(s[first])) {
    out.fill = std::string(s.substr(0, first));
    out.align = s[first];
    s.remove_prefix(first + 1);
  } else if (!s.empty() && isAlign(s[0])) {
    out.align = s[0];
    s.remove_prefix(1);
  }
  auto take = [&](char c) {
    if (s.empty() || s[0] != c)
      return false;
    s.remove_prefix(1);
    return true;
  };
  for (char c : {'+', '-', ' '})
    if (take(c)) {
      out.sign = c;
      break;
    }
  out.alternate = take('#');
  if (take('0') && !out.align) {
    out.fill = "0";
    out.align = '=';
  }
  bool tooWide = false;
  auto number = [&](int &n) {
    n = 0;
    while (!s.empty() && s[0] >= '0' && s[0] <= '9') {
      n = std::min(n * 10 + (s[0] - '0'), widest + 1);
      s.remove_prefix(1);
    }
    tooWide |= n > widest;
  };
  number(out.width);
  for (char c : {',', '_'})
    if (take(c))
      out.grouping = c;
  if (take('.'))
    number(out.precision);
  if (!s.empty()) {
    out.type = s[0];
    s.remove_prefix(1);
  }
  return s.empty() && !tooWide ? std::optional(out) : std::nullopt;
}

std::string grouped(std::string digits, char separator, unsigned every) {
  if (!separator)
    return digits;
  std::size_t end = digits.find_first_not_of("0123456789abcdefABCDEF");
  std::size_t n = end == std::string::npos ? digits.size() : end;
  for (std::size_t i = n; i > every; i -= every)
    digits.insert(i - every, 1, separator);
  return digits;
}

std::string padded(const Spec &spec, std::string sign, std::string body, char defaultAlign) {
  char align = spec.align ? spec.align : defaultAlign;
  std::size_t length = 0;
  for (char c : sign + body)
    length += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  std::string left, middle, right;
  for (std::size_t i = length; i < static_cast<std::size_t>(spec.width); ++i) {
    bool toRight = align == '<' || (align == '^' && (i - length) % 2);
    (align == '=' ? middle : toRight ? right : left) += spec.fill;
  }
  return left + sign + middle + body + right;
}

std::string signOf(const Spec &spec, bool negative) {
  return negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string formatInt(const Spec &spec, Int value) {
  unsigned base = spec.type == 'x' || spec.type == 'X' ? 16
                  : spec.type == 'b'                   ? 2
                  : spec.type == 'o'                   ? 8
                                                       : 10;
  auto magnitude = static_cast<unsigned __int128>(value < 0 ? -value : value);
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[static_cast<unsigned>(magnitude % base)]);
    magnitude /= base;
  } while (magnitude != 0);
  if (spec.type == 'X')
    for (char &c : digits)
      c = static_cast<char>(std::toupper(c));
  digits = grouped(digits, spec.grouping, base == 10 ? 3 : 4);
  std::string sign = signOf(spec, value < 0);
  if (spec.alternate && base != 10)
    sign += std::string("0") + spec.type;
  return padded(spec, sign, digits, '>');
}

std::string formatFloat(const Spec &spec, double value) {
  double magnitude = std::fabs(value);
  std::string body;
  if (!std::isfinite(value))
    body = std::isnan(value) ? "nan" : "inf";
  else if (!spec.type && spec.precision < 0)
    body = reprOfDouble(magnitude);
  else {
    char type = spec.type == '%' ? 'f' : spec.type ? spec.type : 'g';
    int precision = spec.precision < 0 ? 6 : spec.precision;
    const char format[] = {'%', '.', '*', type, 0};
    std::string buffer(static_cast<std::size_t>(precision) + 400, 0);
    int n = std::snprintf(buffer.data(), buffer.size(), format, precision,
                          spec.type == '%' ? magnitude * 100 : magnitude);
    body = buffer.substr(0, static_cast<std::size_t>(n));
    if (!spec.type && body.find_first_of(".e") == std::string::npos)
      body += ".0";
  }
  body = grouped(body, spec.grouping, 3);
  if (spec.type == '%')
    body += '%';
  return padded(spec, signOf(spec, std::signbit(value) && !std::isnan(value)), body, '>');
}

std::string formatText(const Spec &spec, std::string text) {
  if (spec.precision >= 0 && text.size() > static_cast<std::size_t>(spec.precision))
    text = text.substr(0, static_cast<std::size_t>(spec.precision));
  return padded(spec, "", text, '<');
}

bool isIntType(char c) {
  return c == 'd' || c == 'b' || c == 'o' || c == 'x' || c == 'X' || c == 'n';
}
bool isFloatType(char c) {
  return c == 'f' || c == 'F' || c == 'e' || c == 'E' || c == 'g' || c == 'G' || c == '%';
}

} // namespace

std::optional<std::string> formatValue(Elaborator &e, const Value &given, std::string_view text,
                                       SourceRange range) {
  if (given.isError())
    return std::nullopt;
  Value value = given;
  if (value.is(ValueKind::Instance)) {
    if (auto r = callSpecial(e, value, "__format__", {e.str(std::string(text))}, range))
      return r->isText() ? std::optional(r->asText()) : std::nullopt;
    if (auto r = callSpecial(e, value, "__str__", {}, range))
      value = *r;
  }
  if (text.empty())
    return str(value);
  auto spec = parseSpec(text);
  if (spec) {
    if (value.isNumber() && isFloatType(spec->type))
      return formatFloat(*spec, value.asDouble());
    if (value.isInt() && (!spec->type || isIntType(spec->type)))
      return formatInt(*spec, value.asInt());
    if (value.isBool() && isIntType(spec->type))
      return formatInt(*spec, value.asInt());
    if (value.isFloat() && !spec->type)
      return formatFloat(*spec, value.asDouble());
    if (!spec->type || spec->type == 's')
      return formatText(*spec, str(value));
  }
  e.report(diag::BadValue, range,
           "the format `" + std::string(text) + "` does not fit " + typeNameWithArticle(value));
  return std::nullopt;
}

std::optional<std::string> formatPercent(Elaborator &e, std::string_view text, const Value &values,
                                         SourceRange range) {
  std::vector<Value> items =
      values.is(ValueKind::Tuple) ? values.as<TupleObject>()->items : std::vector<Value>{values};
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (++i < text.size() && text[i] == '%') {
      out += '%';
      continue;
    }
    Value item;
    bool named = i < text.size() && text[i] == '(';
    if (named) {
      std::size_t close = text.find(')', i);
      auto *dict = values.as<DictObject>();
      const Value *found =
          dict && close != std::string_view::npos
              ? dict->table.find(e.str(std::string(text.substr(i + 1, close - i - 1))))
              : nullptr;
      if (!found) {
        e.report(diag::BadValue, range, "the names in the format do not fit the values");
        return std::nullopt;
      }
      item = *found;
      i = close + 1;
    }
    std::size_t begin = i;
    while (i < text.size() &&
           std::string_view("0123456789.-+ #").find(text[i]) != std::string::npos)
      ++i;
    if (i >= text.size() || (!named && next >= items.size())) {
      e.report(diag::BadValue, range, "there are fewer values than `%` in the format");
      return std::nullopt;
    }
    if (!named)
      item = items[next++];
    std::string flags(text.substr(begin, i - begin));
    char type = text[i];
    if (type == 'r' || type == 'a' || type == 's')
      item = e.str(type == 's' ? str(item) : repr(item));
    bool left = flags.starts_with("-");
    std::string spec = left ? "<" + flags.substr(1) : flags;
    if ((type == 's' || type == 'r') && !left && !flags.empty() && flags[0] != '.')
      spec = ">" + spec;
    if (type == 'i' || type == 'u')
      type = 'd';
    if (type == 'd' && item.isFloat())
      item = Value::integer(static_cast<Int>(item.asDouble()));
    auto part = formatValue(e, item, spec + (type == 'r' || type == 'a' ? 's' : type), range);
    if (!part)
      return std::nullopt;
    out += *part;
  }
  if (next < items.size() && !values.is(ValueKind::Dict)) {
    e.report(diag::BadValue, range, "there are more values than `%` in the format");
    return std::nullopt;
  }
  return out;
}

namespace {

// "0.name[3]" of a replacement field.
std::optional<Value> field(Elaborator &e, std::string_view name, CallArgs &args,
                           std::size_t &next) {
  std::size_t end = name.find_first_of(".[");
  std::string first(name.substr(0, end));
  std::optional<Value> value;
  if (first.empty() || std::isdigit(static_cast<unsigned char>(first[0]))) {
    std::size_t i = first.empty() ? next++ : std::stoul(first.substr(0, 6));
    if (i < args.positional.size())
      value = args.positional[i].value;
  } else
    for (const KeywordArg &k : args.keywords)
      if (k.name == first)
        value = k.value;
  while (value && end != std::string_view::npos && end < name.size()) {
    std::size_t stop = name[end] == '.' ? name.find_first_of(".[", end + 1) : name.find(']', end);
    std::string part(name.substr(end + 1, stop == std::string_view::npos ? stop : stop - end - 1));
    if (name[end] == '.')
      value = e.findAttribute(*value, part);
    else if (auto *dict = value->as<DictObject>()) {
      const Value *item = dict->table.find(e.str(part));
      value = item ? std::optional(*item) : std::nullopt;
    } else {
      std::vector<Value> items = e.toList(*value);
      std::size_t i = part.empty() || !std::isdigit(static_cast<unsigned char>(part[0]))
                          ? items.size()
                          : std::stoul(part.substr(0, 6));
      value = i < items.size() ? std::optional(items[i]) : std::nullopt;
    }
    end = stop == std::string_view::npos ? stop : name[stop] == ']' ? stop + 1 : stop;
  }
  return value;
}

} // namespace

std::optional<std::string> formatBraces(Elaborator &e, std::string_view text, CallArgs &args) {
  std::string out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    if (c != '{') {
      out += c;
      continue;
    }
    std::size_t close = i, depth = 0;
    for (; close < text.size(); ++close) {
      depth += text[close] == '{';
      depth -= text[close] == '}';
      if (depth == 0)
        break;
    }
    if (close >= text.size()) {
      e.report(diag::BadValue, args.range, "a brace of the format is not closed");
      return std::nullopt;
    }
    std::string_view inside = text.substr(i + 1, close - i - 1);
    std::size_t colon = inside.find(':');
    std::string_view name = inside.substr(0, colon);
    std::string spec(colon == std::string_view::npos ? "" : inside.substr(colon + 1));
    if (spec.find('{') != std::string::npos) {
      auto expanded = formatBraces(e, spec, args);
      if (!expanded)
        return std::nullopt;
      spec = *expanded;
    }
    char conversion = 0;
    if (std::size_t bang = name.find('!');
        bang != std::string_view::npos && bang + 1 < name.size()) {
      conversion = name[bang + 1];
      name = name.substr(0, bang);
    }
    auto value = field(e, name, args, next);
    if (!value) {
      e.report(diag::BadValue, args.range,
               "nothing was given for `{" + std::string(inside) + "}` of the format");
      return std::nullopt;
    }
    if (conversion)
      value = e.str(conversion == 's' ? str(*value) : repr(*value));
    auto part = formatValue(e, *value, spec, args.range);
    if (!part)
      return std::nullopt;
    out += *part;
    i = close;
  }
  return out;
}

} // namespace tlc::elaborate
