#include "emit/Runtime.h"

#include "emit/WgmmaText.h"
#include "support/Check.h"

#include <algorithm>
#include <cctype>

namespace tlc::emit {

namespace {

/// The order in which files are pasted; a file may use what stands before it.
std::vector<std::string_view> fileOrder(Family family) {
  std::vector<std::string_view> order = {"portable/base.h", "portable/integer.h",
                                         "portable/packed.h", "portable/narrow.h",
                                         "portable/host.h"};
  if (family == Family::Cuda)
    for (std::string_view name :
         {"cuda/base.cuh",  "cuda/half.cuh",       "cuda/bfloat16.cuh",  "cuda/convert.cuh",
          "cuda/math.cuh",  "gpu/shared.h",        "gpu/copy.h",         "cuda/async.cuh",
          "cuda/warp.cuh",  "cuda/matrix.cuh",     "cuda/sparse.cuh",    "cuda/barrier.cuh",
          "cuda/grid.cuh",  "cuda/mbarrier.cuh",   "cuda/cluster.cuh",   "cuda/cluster_sum.cuh",
          "cuda/tma.cuh",   "cuda/descriptor.cuh", "cuda/wgmma.cuh",     "cuda/atomic.cuh",
          "cuda/debug.cuh", "cuda/launch.cuh",     "cuda/tensor_map.cuh"})
      order.push_back(name);
  if (family == Family::Cpu)
    for (std::string_view name :
         {"cpu/base.h", "cpu/half.h", "cpu/bfloat16.h", "cpu/convert.h", "cpu/math.h", "cpu/copy.h",
          "cpu/atomic.h", "cpu/gemm.h", "cpu/debug.h", "cpu/pool.h", "cpu/exec.h"})
      order.push_back(name);
  return order;
}

/// Pasted outside anonymous namespaces, because all files of a program share one pool of threads.
constexpr std::string_view sharedFile = "cpu/pool.h";

bool isHostFile(std::string_view file) {
  return file == "portable/host.h" || file == "cuda/launch.cuh" || file == "cuda/tensor_map.cuh" ||
         file == "cpu/exec.h";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Calls `f` on each identifier of code, leaving out comments and strings.
template <typename F> void forEachWord(std::string_view text, F &&f) {
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
      ++i;
    } else if (isWordChar(text[i])) {
      std::size_t begin = i;
      while (i < text.size() && isWordChar(text[i]))
        ++i;
      // A member or a qualified name is somebody else's.
      std::string_view before = text.substr(0, begin);
      if (!before.ends_with("::") && !before.ends_with('.') && !before.ends_with("->"))
        f(text.substr(begin, i - begin));
    } else {
      ++i;
    }
  }
}

/// Removes what is only there for the emulator: the location parameters.
std::string withoutLocations(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 7) == " TLC_AT" && !isWordChar(text[i + 7]))
      i += 7;
    else if (text.substr(i, 9) == " TLC_HERE" && !isWordChar(text[i + 9]))
      i += 9;
    else
      out += text[i++];
  }
  return out;
}

} // namespace

const RuntimeLibrary &RuntimeLibrary::of(Family family) {
  // Reading a library takes longer than printing a kernel: only those that somebody asks for.
  switch (family) {
  case Family::Cuda: {
    static const RuntimeLibrary library(Family::Cuda);
    return library;
  }
  case Family::Hip: {
    static const RuntimeLibrary library(Family::Hip);
    return library;
  }
  case Family::Cpu: {
    static const RuntimeLibrary library(Family::Cpu);
    return library;
  }
  }
  TLC_UNREACHABLE("a family without a runtime");
}

RuntimeLibrary::RuntimeLibrary(Family family) : family(family) {
  for (std::string_view name : fileOrder(family))
    for (const RuntimeFile &file : runtimeFiles())
      if (file.name == name)
        addFile(file);
}

void RuntimeLibrary::addFile(const RuntimeFile &file) {
  constexpr std::string_view mark = "\n//@ ";
  std::vector<std::string_view> includes;
  std::string_view head = file.text.substr(0, file.text.find(mark));
  for (std::size_t at = 0; (at = head.find("#include <", at)) != head.npos;) {
    at += 10;
    includes.push_back(head.substr(at, head.find('>', at) - at));
  }
  for (std::size_t at = file.text.find(mark); at != file.text.npos;) {
    std::size_t names = at + mark.size(), line = file.text.find('\n', names);
    std::size_t next = file.text.find(mark, line);
    RuntimeSection section;
    section.file = file.name;
    section.includes = includes;
    std::string_view marker = file.text.substr(names, line - names);
    std::size_t colon = marker.find(':');
    forEachWord(marker.substr(0, colon),
                [&](std::string_view word) { section.names.push_back(word); });
    if (colon != marker.npos)
      forEachWord(marker.substr(colon),
                  [&](std::string_view word) { section.with.push_back(word); });
    TLC_CHECK(!section.names.empty(), "a section of the runtime has no name");
    at = next;
    if (section.names[0] == "end")
      break;
    TLC_CHECK(next != file.text.npos, "a runtime file does not end in //@ end");
    section.text = file.text.substr(line, next - line);
    // The namespace is opened anew around what is pasted.
    std::size_t opened = section.text.find("\nnamespace tlc {\n");
    if (opened != section.text.npos)
      section.text = section.text.substr(0, opened);
    section.text = trimmed(section.text);
    for (std::string_view name : section.names)
      TLC_CHECK(index.emplace(name, static_cast<unsigned>(all.size())).second,
                "the runtime defines " + std::string(name) + " twice");
    all.push_back(std::move(section));
  }
}

std::vector<unsigned> RuntimeLibrary::needsOf(unsigned section) const {
  std::vector<unsigned> needs;
  forEachWord(all[section].text, [&](std::string_view word) {
    auto found = index.find(word);
    const std::vector<std::string_view> &with = all[section].with;
    // What is declared later cannot be meant: some local name happens to be the same.
    if (found == index.end() || found->second >= section ||
        std::find(with.begin(), with.end(), word) != with.end() ||
        std::find(needs.begin(), needs.end(), found->second) != needs.end())
      return;
    needs.push_back(found->second);
  });
  return needs;
}

bool RuntimeLibrary::has(std::string_view name) const {
  return index.contains(name) || (family == Family::Cuda && wgmmaShape(name));
}

void RuntimeUse::use(std::string_view name) {
  closed.clear();
  auto found = library.index.find(name);
  if (found != library.index.end()) {
    used.insert(found->second);
    return;
  }
  if (!library.has(name))
    TLC_UNREACHABLE("the runtime of this target has no function " + std::string(name));
  auto [made, fresh] = products.try_emplace(std::string(name));
  if (!fresh)
    return;
  made->second = wgmmaText(name, *wgmmaShape(name));
  forEachWord(made->second, [&](std::string_view word) {
    auto need = library.index.find(word);
    if (need != library.index.end())
      used.insert(need->second);
  });
}

const std::vector<bool> &RuntimeUse::closure() const {
  std::vector<bool> &in = closed;
  if (!in.empty())
    return in;
  in.resize(library.all.size());
  for (unsigned number : used)
    in[number] = true;
  std::vector<bool> followed(in.size());
  for (bool grew = true; grew;) {
    grew = false;
    // Needs point backwards, so one sweep from the end finds all.
    for (std::size_t i = in.size(); i-- > 0;) {
      if (!in[i] || followed[i])
        continue;
      followed[i] = true;
      for (unsigned need : library.needsOf(static_cast<unsigned>(i)))
        in[need] = true;
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::vector<std::string_view> &with = library.all[i].with;
      if (in[i] || with.empty())
        continue;
      in[i] = std::all_of(with.begin(), with.end(),
                          [&](std::string_view name) { return in[library.index.at(name)]; });
      grew |= in[i];
    }
  }
  return in;
}

namespace {

/// A section whose text is only preprocessor lines stands outside namespaces.
bool isMacro(const RuntimeSection &section) { return section.names[0].starts_with("TLC_"); }

} // namespace

template <typename Predicate> std::string RuntimeUse::textOf(Predicate &&wanted) const {
  std::string out;
  const std::vector<bool> &in = closure();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] && wanted(library.all[i]))
      out += withoutLocations(library.all[i].text) + "\n\n";
  return out;
}

std::string RuntimeUse::macroText() const {
  return textOf([](const RuntimeSection &s) { return isMacro(s) && s.names[0] != "TLC_AT"; });
}

std::string RuntimeUse::deviceText() const {
  return textOf([](const RuntimeSection &s) {
    return !isMacro(s) && !isHostFile(s.file) && s.file != sharedFile;
  });
}

std::string RuntimeUse::generatedText() const {
  std::string out;
  for (const auto &[name, text] : products)
    out += text + "\n\n";
  return out;
}

std::string RuntimeUse::hostText() const {
  return textOf([](const RuntimeSection &s) { return !isMacro(s) && isHostFile(s.file); });
}

std::string RuntimeUse::sharedText() const {
  return textOf([](const RuntimeSection &s) { return !isMacro(s) && s.file == sharedFile; });
}

std::vector<std::string> RuntimeUse::includes() const {
  std::vector<std::string> out;
  const std::vector<bool> &in = closure();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i])
      for (std::string_view name : library.all[i].includes)
        if (std::find(out.begin(), out.end(), name) == out.end())
          out.emplace_back(name);
  return out;
}

std::vector<std::string> RuntimeUse::files() const {
  std::vector<std::string> out;
  const std::vector<bool> &in = closure();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] && (out.empty() || out.back() != library.all[i].file))
      out.emplace_back(library.all[i].file);
  return out;
}

} // namespace tlc::emit
