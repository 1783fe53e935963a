// Reports: gathered while running, given their source lines and printed when the launch ends.
#include <cstdarg>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "engine.h"

extern "C" char __executable_start;

namespace emu {
struct Report {
  std::string kind, text, key;
  bool warning;
};
static std::vector<Report> reports;
static std::set<std::string> seen, seen_equal;
static std::vector<Site> sites;
static std::map<std::pair<const char *, int>, u32> site_numbers;
static int errors, warnings, events;
constexpr size_t kMaxReports = 30;

std::string format(const char *f, ...) {
  char buffer[1024];
  va_list args;
  va_start(args, f);
  std::vsnprintf(buffer, sizeof buffer, f, args);
  va_end(args);
  return buffer;
}
// A line mark is a site number with the top bit set, or an offset into the program's text.
u32 site_pc(Site s) {
  static std::pair<const char *, int> last_key;
  static u32 last = 0;
  if (last && last_key.first == s.file && last_key.second == s.line)
    return last;
  auto [it, fresh] = site_numbers.try_emplace({s.file, s.line}, u32(sites.size()));
  if (fresh)
    sites.push_back(s);
  last_key = {s.file, s.line};
  return last = it->second | 0x80000000;
}
u32 code_pc(const void *p) { return u32(Address(p) - Address(&__executable_start)); }
std::string where(u32 pc) { return format("\x01%08x\x02", pc); }

void report(const char *kind, const std::string &text, u32 pc1, u32 pc2, bool warning) {
  const std::string key = format("%s %x %x", kind, pc1, pc2);
  if (!warning)
    ++events;
  if (!seen.insert(key).second &&
      std::strcmp(kind, "deadlock")) { // printed once for each pair of lines
    reports.push_back({"", "", key, warning});
    return;
  }
  warning ? ++warnings : ++errors;
  reports.push_back({kind, text, key, warning});
}
size_t report_count() { return reports.size() - 1; }
// A race of equal stores: a warning, and no reason to be silent about a later race of the same
// lines.
void downgrade_last(size_t i) {
  if (i >= reports.size() || reports[i].warning)
    return;
  Report &r = reports[i];
  r.warning = true;
  --events;
  if (r.kind.empty())
    return;
  --errors;
  seen.erase(r.key);
  if (!seen_equal.insert(r.key).second) {
    r.kind.clear();
    return;
  }
  r.text += " (the same value)";
  ++warnings;
}
int report_events() { return events; }
int report_errors() { return errors; }
int report_warnings() { return warnings; }

static std::string short_path(const std::string &p) {
  const size_t i = p.rfind('/');
  return i == std::string::npos ? p : p.substr(i + 1);
}
static const std::vector<std::string> &lines_of(const std::string &path) {
  static std::map<std::string, std::vector<std::string>> files;
  auto [it, fresh] = files.try_emplace(path);
  if (fresh) {
    std::ifstream file(path);
    for (std::string text; std::getline(file, text);)
      it->second.push_back(text);
  }
  return it->second;
}
// The user's "name.tl:line" if a comment of that form ends the emitted line or stands above it in
// the same function; a line directive has put it into `place` already.
static Place place_of(const std::string &place) {
  const size_t colon = place.rfind(':');
  const std::string path = place.substr(0, colon);
  if (path.size() > 3 && (path.ends_with(".tl") || path.ends_with(".py")))
    return {place, place};
  const auto &lines = lines_of(path);
  const size_t at = size_t(std::atoi(place.c_str() + colon + 1));
  for (size_t n = at; n > 0 && n <= lines.size(); --n) {
    const std::string &text = lines[n - 1];
    if (n != at && (text == "}" || text.rfind("__global__", 0) == 0))
      break;
    const size_t note = text.rfind("// ");
    if (note == std::string::npos)
      continue;
    const std::string mark = text.substr(note + 3);
    const size_t end = mark.rfind(':');
    if (end == std::string::npos || end + 1 == mark.size() ||
        mark.find_first_not_of("0123456789", end + 1) != std::string::npos)
      continue;
    const std::string named = mark.substr(0, end); // a path may have blanks, prose ends otherwise
    if (named.find(' ') == std::string::npos || named.ends_with(".tl") || named.ends_with(".py"))
      return {place, mark};
  }
  return {place, ""};
}
static std::string in_text(const Place &p) {
  const std::string out = short_path(p.emitted);
  return p.user.empty() || p.user == p.emitted ? out : out + " (" + short_path(p.user) + ")";
}
// Innermost frames that are not of the emulator's own headers.
static void resolve_code(const std::set<u32> &pcs, std::map<u32, Place> &out) {
  if (pcs.empty())
    return;
  char exe[4096];
  const ssize_t length = readlink("/proc/self/exe", exe, sizeof exe);
  if (length <= 0)
    return;
  std::string command = "addr2line -i -a -e '" + std::string(exe, size_t(length)) + "'";
  for (u32 pc : pcs)
    command += format(" %x", pc - 1);
  FILE *f = popen((command + " 2>/dev/null").c_str(), "r");
  if (!f)
    return;
  char line[4096];
  u32 pc = 0;
  while (std::fgets(line, sizeof line, f)) {
    std::string s = line;
    while (!s.empty() && (s.back() == '\n' || s.back() == ' '))
      s.pop_back();
    if (s.rfind("0x", 0) == 0) {
      pc = u32(std::strtoull(s.c_str(), nullptr, 16)) + 1;
      continue;
    }
    const size_t note = s.find(" (");
    if (note != std::string::npos)
      s.resize(note);
    // tools/emulate.sh gives the runtime's folder this name.
    const bool own =
        s.find("tlc-runtime/") != std::string::npos || s.find("/include/c++/") != std::string::npos;
    if (out.count(pc) || own || s.rfind("??", 0) == 0)
      continue;
    out[pc] = place_of(s);
  }
  pclose(f);
}
std::map<u32, Place> places_of(const std::set<u32> &marks) {
  std::map<u32, Place> out;
  std::set<u32> code;
  for (u32 mark : marks)
    if (!(mark & 0x80000000)) {
      code.insert(mark);
    } else {
      const Site &site = sites[mark & 0x7fffffff];
      out[mark] = place_of(std::string(site.file) + ":" + std::to_string(site.line));
    }
  code.erase(0);
  resolve_code(code, out);
  return out;
}

// Calls `text` for what stands between marks and `mark` for each of them.
template <class Text, class Mark>
static void walk_text(const std::string &s, const Text &text, const Mark &mark) {
  size_t from = 0;
  for (size_t at; (at = s.find('\x01', from)) != std::string::npos; from = at + 10) {
    text(s.substr(from, at - from));
    mark(u32(std::strtoul(s.substr(at + 1, 8).c_str(), nullptr, 16)));
  }
  text(s.substr(from));
}
static void print_report(const Report &r, const std::map<u32, Place> &places) {
  std::string s;
  walk_text(
      r.text, [&](const std::string &text) { s += text; },
      [&](u32 mark) {
        auto it = places.find(mark);
        s += it != places.end() ? in_text(it->second) : mark ? format("pc+%x", mark) : "?";
      });
  std::fprintf(stderr, "emu: %s: %s: %s\n", r.warning ? "warning" : "error", r.kind.c_str(),
               s.c_str());
}
// The form that tools read: EMU_REPORT. The text has {0}, {1} ... for the places that follow it.
static void append_report(FILE *file, const Report &r, const std::map<u32, Place> &places) {
  std::string s;
  std::vector<u32> marks;
  walk_text(
      r.text, [&](const std::string &text) { s += text; },
      [&](u32 mark) {
        s += "{" + std::to_string(marks.size()) + "}";
        marks.push_back(mark);
      });
  std::fprintf(file, "%s %s\n", r.warning ? "warning" : "error", r.kind.c_str());
  for (size_t from = 0, end; from <= s.size(); from = end + 1) {
    end = std::min(s.find('\n', from), s.size());
    std::fprintf(file, "text %s\n", s.substr(from, end - from).c_str());
  }
  for (u32 mark : marks) {
    auto it = places.find(mark);
    const Place place = it == places.end() ? Place{"?", ""} : it->second;
    std::fprintf(file, "place %s\t%s\n", place.emitted.c_str(),
                 place.user.empty() ? "?" : place.user.c_str());
  }
}

/// What stands for those beyond `shown`: an error if one of them is.
static Report unlisted(const std::vector<const Report *> &fresh, size_t shown) {
  Report r{"more", format("%zu findings of this launch are not listed", fresh.size() - shown), "",
           true};
  for (size_t i = shown; i < fresh.size(); ++i)
    r.warning = r.warning && fresh[i]->warning;
  return r;
}
void flush_reports(u32 kernel) {
  static size_t printed = 0;
  std::vector<const Report *> fresh;
  for (; printed < reports.size(); ++printed)
    if (!reports[printed].kind.empty())
      fresh.push_back(&reports[printed]);
  if (fresh.empty())
    return;
  std::set<u32> marks = {kernel};
  for (const Report *r : fresh)
    walk_text(
        r->text, [](const std::string &) {}, [&](u32 mark) { marks.insert(mark); });
  const auto places = places_of(marks);
  const size_t shown = std::min(fresh.size(), kMaxReports);
  const char *name = std::getenv("EMU_REPORT");
  if (FILE *file = name && *name ? std::fopen(name, "a") : nullptr) {
    for (size_t i = 0; i < shown; ++i)
      append_report(file, *fresh[i], places);
    if (fresh.size() > shown)
      append_report(file, unlisted(fresh, shown), places);
    std::fclose(file);
    return;
  }
  const auto at = places.find(kernel);
  static const char *kModes[] = {"early", "late", "random"};
  std::fprintf(stderr, "emu: in the kernel at %s, asynchronous work %s, seed %llu\n",
               at == places.end() ? "?" : in_text(at->second).c_str(), kModes[settings.mode],
               (unsigned long long)settings.seed);
  for (size_t i = 0; i < shown; ++i)
    print_report(*fresh[i], places);
  if (fresh.size() > shown)
    std::fprintf(stderr, "emu: and %zu more\n", fresh.size() - shown);
}
} // namespace emu
