// What a kernel prints, line by line: the host reads its own standard output back.
#include "messages.h"
#include "hosts.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace {

std::vector<std::string> expected(const std::vector<float> &x) {
  std::vector<std::string> lines = {"begin", "block 7", "early", "early"};
  auto add = [&](const std::string &name, double value) {
    std::ostringstream text;
    text << name << value;
    lines.push_back(text.str());
  };
  add("", x[10]);
  for (int i = 0; i < 32; ++i) {
    std::string index = "[" + std::to_string(i) + "] = ";
    add("tile" + index, x[i]);
    add("twice doubled" + index, 2 * x[i]);
  }
  for (int thread = 0; thread < 64; ++thread)
    lines.push_back("thread " + std::to_string(thread * 3));
  std::sort(lines.begin(), lines.end());
  return lines;
}

} // namespace

int main() {
  std::vector<float> x(32);
  for (int i = 0; i < 32; ++i)
    x[i] = static_cast<float>(i) / 2;
  sample::Buffer<float> X(x), Y(exec::unset<float>(32));
  if (!std::freopen("printed.txt", "w", stdout))
    return 1;
  SAMPLE_CALL(messages, X.data(), Y.data(), nullptr, 0, nullptr);
  sample::synchronize();
  std::fflush(stdout);

  std::vector<std::string> lines;
  std::ifstream file("printed.txt");
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::vector<std::string> wanted = expected(x);
  for (std::size_t i = 0; i < std::max(lines.size(), wanted.size()); ++i)
    if (i >= lines.size() || i >= wanted.size() || lines[i] != wanted[i]) {
      std::fprintf(stderr, "line %zu of %zu: printed `%s`, expected `%s` of %zu\n", i, lines.size(),
                   i < lines.size() ? lines[i].c_str() : "",
                   i < wanted.size() ? wanted[i].c_str() : "", wanted.size());
      return 1;
    }
  return 0;
}
