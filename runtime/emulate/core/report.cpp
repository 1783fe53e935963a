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
// "file:line", followed by the user's "name.tl:line" if a comment of that form ends the emitted
// line or stands above it in the same function.
static std::string with_user_line(const std::string &place) {
  static std::map<std::string, std::vector<std::string>> files;
  const size_t colon = place.rfind(':');
  const std::string path = place.substr(0, colon);
  auto [it, fresh] = files.try_emplace(path);
  if (fresh) {
    std::ifstream file(path);
    for (std::string text; std::getline(file, text);)
      it->second.push_back(text);
  }
  const auto &lines = it->second;
  const std::string out = short_path(place);
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
    if (end != std::string::npos && mark.find(' ') == std::string::npos && end + 1 < mark.size() &&
        mark.find_first_not_of("0123456789", end + 1) == std::string::npos)
      return out + " (" + mark + ")";
  }
  return out;
}
// Innermost frame that is not one of the emulator's own headers.
static std::map<u32, std::string> resolve(const std::set<u32> &pcs) {
  std::map<u32, std::string> out;
  if (pcs.empty())
    return out;
  char exe[4096];
  FILE *link = popen(format("readlink /proc/%d/exe", getpid()).c_str(), "r");
  if (!link || !std::fgets(exe, sizeof exe, link))
    exe[0] = 0;
  if (link)
    pclose(link);
  std::string path = exe;
  while (!path.empty() && path.back() == '\n')
    path.pop_back();
  std::string command = "addr2line -i -a -e '" + path + "'";
  for (u32 pc : pcs)
    command += format(" %x", pc - 1);
  FILE *f = popen((command + " 2>/dev/null").c_str(), "r");
  if (!f)
    return out;
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
    out[pc] = with_user_line(s);
  }
  pclose(f);
  return out;
}

void flush_reports(u32 kernel) {
  static size_t printed = 0;
  bool any = false;
  for (size_t i = printed; i < reports.size(); ++i)
    any |= !reports[i].kind.empty();
  if (!any) {
    printed = reports.size();
    return;
  }
  std::set<u32> pcs = {kernel};
  for (size_t i = printed; i < reports.size(); ++i)
    for (size_t at = 0; (at = reports[i].text.find('\x01', at)) != std::string::npos; ++at) {
      const u32 pc = u32(std::strtoul(reports[i].text.substr(at + 1, 8).c_str(), nullptr, 16));
      if (pc && !(pc & 0x80000000))
        pcs.insert(pc);
    }
  const auto lines = resolve(pcs);
  const auto name = lines.find(kernel);
  static const char *kModes[] = {"early", "late", "random"};
  std::fprintf(stderr, "emu: in the kernel at %s, asynchronous work %s, seed %llu\n",
               name == lines.end() ? "?" : name->second.c_str(), kModes[settings.mode],
               (unsigned long long)settings.seed);
  size_t shown = 0;
  for (; printed < reports.size(); ++printed) {
    Report &r = reports[printed];
    if (r.kind.empty() || shown++ >= kMaxReports)
      continue;
    std::string s;
    for (size_t i = 0; i < r.text.size(); ++i) {
      if (r.text[i] != '\x01') {
        s += r.text[i];
        continue;
      }
      const u32 pc = u32(std::strtoul(r.text.substr(i + 1, 8).c_str(), nullptr, 16));
      i += 9;
      if (pc & 0x80000000) {
        const Site &site = sites[pc & 0x7fffffff];
        s += with_user_line(std::string(site.file) + ":" + std::to_string(site.line));
      } else {
        auto it = lines.find(pc);
        s += it == lines.end() ? (pc ? format("pc+%x", pc) : "?") : it->second;
      }
    }
    std::fprintf(stderr, "emu: %s: %s: %s\n", r.warning ? "warning" : "error", r.kind.c_str(),
                 s.c_str());
  }
  if (shown > kMaxReports)
    std::fprintf(stderr, "emu: and %zu more\n", shown - kMaxReports);
}
} // namespace emu
