#include "passes/Schedule.h"

#include "support/TextWriter.h"

#include <bit>
#include <charconv>
#include <set>

namespace tlc::passes {

namespace {

std::string comment(const std::string &reason) { return reason.empty() ? "" : "  // " + reason; }

/// Words of one line; what stands behind // is dropped.
std::vector<std::string_view> words(std::string_view line) {
  if (std::size_t comment = line.find("//"); comment != std::string_view::npos)
    line = line.substr(0, comment);
  std::vector<std::string_view> result;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t\r", at)) != std::string_view::npos) {
    std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    result.push_back(line.substr(at, end - at));
    at = end;
  }
  return result;
}

std::optional<std::int64_t> number(std::string_view word) {
  std::int64_t value = 0;
  auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (fault != std::errc() || end != word.data() + word.size() || value < 0)
    return std::nullopt;
  return value;
}

std::optional<bool> yesOrNo(std::string_view word) {
  if (word == "yes" || word == "no")
    return word == "yes";
  return std::nullopt;
}

std::string_view wayText(StoreWay way) {
  return way == StoreWay::Direct ? "direct" : way == StoreWay::Staged ? "staged" : "tensor";
}

class Reader {
public:
  std::optional<Schedule> read(std::string_view text, ScheduleError &error) {
    std::size_t at = 0;
    while (at < text.size() && message.empty()) {
      std::size_t end = std::min(text.find('\n', at), text.size());
      ++line;
      if (auto parts = words(text.substr(at, end - at)); !parts.empty())
        readLine(parts);
      at = end + 1;
    }
    if (message.empty() && open)
      message = "the last launch has no closing brace";
    if (message.empty())
      return std::move(schedule);
    error = {line, message};
    return std::nullopt;
  }

private:
  void readLine(const std::vector<std::string_view> &parts) {
    std::string_view what = parts[0];
    if (what == "launch" && parts.size() == 3 && parts[2] == "{" && !open) {
      schedule.launches.emplace_back().name = parts[1];
      schedule.launches.back().kernel = kernel;
      open = true;
      return;
    }
    if (what == "kernel" && parts.size() == 2 && !open) {
      kernel = parts[1];
      return;
    }
    if (what == "}" && parts.size() == 1 && open) {
      open = false;
      return;
    }
    if (!open) {
      message = "expected `kernel NAME` or `launch NAME {`";
      return;
    }
    LaunchPlan &launch = schedule.launches.back();
    if (what == "raster")
      readRaster(parts, launch);
    else if (what == "min_blocks" && parts.size() == 2 && number(parts[1]))
      launch.minBlocks = *number(parts[1]);
    else if (what == "loop" && (parts.size() == 4 || (parts.size() == 5 && parts[4] == "early")) &&
             parts[2] == "stages" && number(parts[3]))
      launch.loops.push_back(
          {std::string(parts[1]), *number(parts[3]), true, {}, parts.size() == 5});
    else if (what == "gemm")
      readGemm(parts, launch);
    else if (what == "store" || what == "add")
      readStore(parts, launch);
    else if (what == "cluster" && parts.size() == 3 && number(parts[1]).value_or(0) > 0 &&
             number(parts[2]).value_or(0) > 0)
      launch.cluster = {*number(parts[1]), *number(parts[2])};
    else if (what == "tiles")
      readTiles(parts, launch);
    else if (what == "spread" && parts.size() == 2 && number(parts[1]).value_or(0) > 0)
      launch.spread = *number(parts[1]);
    else if (what == "parts")
      readParts(parts, launch);
    else if (what == "packed" && parts.size() > 1)
      launch.packed.assign(parts.begin() + 1, parts.end());
    else if (what == "persistent")
      readPersistent(parts, launch);
    else if (what == "specialize")
      readSpecialize(parts, launch);
    else if (what == "in_flight" && parts.size() == 2 && yesOrNo(parts[1]))
      launch.inFlight = yesOrNo(parts[1]);
    else
      message = "expected `raster ...`, `min_blocks N`, `loop NAME stages N`, `gemm ...`, `store "
                "NAME ...`, `add NAME ...`, `cluster M N`, `tiles M N`, `spread N`, `parts N`, "
                "`packed NAMES`, `persistent ...`, `specialize ...`, `in_flight ...` or `}`";
  }

  void readParts(const std::vector<std::string_view> &parts, LaunchPlan &launch) {
    launch.parts = parts.size() == 2 ? number(parts[1]).value_or(0) : 0;
    if (launch.parts < 2 || !std::has_single_bit(static_cast<std::uint64_t>(launch.parts)))
      message = "expected `parts N`, a power of two";
  }

  void readTiles(const std::vector<std::string_view> &parts, LaunchPlan &launch) {
    bool right = parts.size() > 1 && parts.size() <= launch.tiles.size() + 1;
    for (std::size_t i = 1; i < parts.size() && right; ++i) {
      launch.tiles[i - 1] = number(parts[i]).value_or(0);
      right = launch.tiles[i - 1] > 0;
    }
    if (!right)
      message = "expected `tiles N ...`, a number for each of up to three grid dimensions";
  }

  void readSpecialize(const std::vector<std::string_view> &parts, LaunchPlan &launch) {
    std::optional<bool> value = parts.size() >= 2 ? yesOrNo(parts[1]) : std::nullopt;
    launch.split = parts.size() == 3 && parts[2] == "split" && value.value_or(false);
    launch.specialize = value;
    if (!value || (parts.size() > 2 && !launch.split))
      message = "expected `specialize no`, `specialize yes` or `specialize yes split`";
  }

  void readPersistent(const std::vector<std::string_view> &parts, LaunchPlan &launch) {
    bool right = parts.size() >= 2 && yesOrNo(parts[1]);
    if (right)
      launch.persistent = yesOrNo(parts[1]);
    for (std::size_t i = 2; i < parts.size() && right; i += 2) {
      if (parts[i] == "join") {
        launch.joined = right = *launch.persistent;
        --i;
        continue;
      }
      if (parts[i] == "alternate") {
        launch.alternates = right = *launch.persistent;
        --i;
        continue;
      }
      auto value = i + 1 < parts.size() ? number(parts[i + 1]) : std::nullopt;
      right = *launch.persistent && value;
      if (right && parts[i] == "stages" && *value > 0) {
        launch.tileStages = *value;
      } else if (right && parts[i] == "share" && *value < 3) {
        launch.sharedAxis = static_cast<std::size_t>(*value);
      } else if (right && parts[i] == "fold" && *value < 3 && i + 2 < parts.size() &&
                 (parts[i + 2] == "grows" || parts[i + 2] == "shrinks")) {
        launch.fold = Fold{static_cast<std::size_t>(*value), parts[i + 2] == "grows"};
        ++i;
      } else {
        right = false;
      }
    }
    if (!right)
      message = "expected `persistent no` or `persistent yes`, the latter with `stages N`, "
                "`share DIMENSION`, `fold DIMENSION grows|shrinks`, `join` or `alternate`";
  }

  void readRaster(const std::vector<std::string_view> &parts, LaunchPlan &launch) {
    bool column = parts.size() == 3 && parts[1] == "column";
    if (parts.size() == 2 && parts[1] == "none")
      launch.raster = ir::Raster{};
    else if (parts.size() == 3 && (column || parts[1] == "row") && number(parts[2]))
      launch.raster = ir::Raster{*number(parts[2]), column};
    else
      message = "expected `raster none`, `raster row N` or `raster column N`";
  }

  void readGemm(const std::vector<std::string_view> &parts, LaunchPlan &launch) {
    GemmPlan gemm;
    for (std::size_t i = 1; i < parts.size();) {
      if (parts[i] == "atom" && i + 1 < parts.size()) {
        gemm.atom = parts[i + 1];
        i += 2;
      } else if (parts[i] == "warps" && i + 2 < parts.size() && number(parts[i + 1]) &&
                 number(parts[i + 2])) {
        gemm.warpsM = *number(parts[i + 1]);
        gemm.warpsN = *number(parts[i + 2]);
        i += 3;
      } else {
        message = "expected `gemm atom NAME warps M N` (each part may be left out)";
        return;
      }
    }
    launch.gemms.push_back(gemm);
  }

  void readStore(const std::vector<std::string_view> &parts, LaunchPlan &launch) {
    StorePlan store;
    store.adds = parts[0] == "add";
    bool known = false;
    if (parts.size() >= 3) {
      store.name = parts[1];
      for (StoreWay way : {StoreWay::Direct, StoreWay::Staged, StoreWay::Tensor})
        if (parts[2] == wayText(way))
          store.way = way, known = !store.adds || way != StoreWay::Staged;
    }
    std::size_t end = parts.size();
    if (end > 3 && parts.back() == "deferred") {
      store.deferred = known = known && store.way == StoreWay::Tensor && !store.adds;
      --end;
    }
    for (std::size_t i = 3; known && i < end; i += 2) {
      std::int64_t value = i + 1 < end ? number(parts[i + 1]).value_or(0) : 0;
      known = value > 0 && store.way == StoreWay::Tensor;
      if (parts[i] == "columns")
        store.columns = value;
      else if (parts[i] == "buffers")
        store.buffers = value;
      else
        known = false;
    }
    if (!known)
      message = store.adds
                    ? "expected `add NAME direct` or `add NAME tensor columns N buffers N` (of the "
                      "last, each part may be left out)"
                    : "expected `store NAME direct`, `store NAME staged` or `store NAME tensor "
                      "columns N buffers N deferred` (of the last, each part may be left out)";
    store.binding = true;
    launch.stores.push_back(store);
  }

  Schedule schedule;
  std::string kernel; ///< of the launches that follow
  bool open = false;
  unsigned line = 0;
  std::string message;
};

std::string answer(bool value) { return value ? "yes" : "no"; }

std::string rasterText(const ir::Raster &raster) {
  if (raster.panel == 0)
    return "none";
  return (raster.columnMajor ? "column " : "row ") + std::to_string(raster.panel);
}

/// Of staged tiles the slices depend on what room is left, so they are only told.
std::string storeText(const StorePlan &store) {
  std::string text(wayText(store.way)), columns = std::to_string(store.columns);
  if (store.way != StoreWay::Tensor)
    return text +
           comment(store.reason + (store.columns ? "; " + columns + " columns at a time" : ""));
  if (store.columns)
    text += " columns " + columns;
  if (store.buffers)
    text += " buffers " + std::to_string(store.buffers);
  if (store.deferred)
    text += " deferred";
  return text + comment(store.reason);
}

std::string tilesText(const LaunchPlan &launch) {
  std::string text = "tiles";
  const bool planes = launch.tiles[2] > 1;
  for (std::size_t d = 0; d < (planes ? 3 : 2); ++d)
    text += " " + std::to_string(launch.tiles[d]);
  return text + comment(launch.tilesReason);
}

std::string persistentText(const LaunchPlan &launch) {
  std::string text = answer(*launch.persistent);
  if (*launch.persistent && launch.tileStages > 1)
    text += " stages " + std::to_string(launch.tileStages);
  if (*launch.persistent && launch.fold)
    text +=
        " fold " + std::to_string(launch.fold->axis) + (launch.fold->grows ? " grows" : " shrinks");
  if (*launch.persistent && launch.sharedAxis)
    text += " share " + std::to_string(*launch.sharedAxis);
  if (*launch.persistent && launch.joined)
    text += " join";
  if (*launch.persistent && launch.alternates)
    text += " alternate";
  return text;
}

/// Stores in a row that all go one way have one line.
void printStores(const std::vector<StorePlan> &stores, TextWriter &out) {
  for (std::size_t i = 0; i < stores.size();) {
    std::vector<std::string> lines;
    for (std::size_t end = i + storesInARow(stores, i); i < end; ++i)
      lines.push_back((stores[i].adds ? "add " : "store ") + stores[i].name + " " +
                      storeText(stores[i]));
    if (std::set<std::string>(lines.begin(), lines.end()).size() == 1)
      lines.resize(1);
    for (const std::string &line : lines)
      out.line(line);
  }
}

void printLines(const LaunchPlan &launch, TextWriter &out) {
  if (launch.raster)
    out.line("raster " + rasterText(*launch.raster) + comment(launch.rasterReason));
  if (launch.minBlocks)
    out.line("min_blocks " + std::to_string(launch.minBlocks) + comment(launch.minBlocksReason));
  for (const LoopPlan &loop : launch.loops)
    out.line("loop " + loop.name + " stages " + std::to_string(loop.stages) +
             (loop.early ? " early" : "") + comment(loop.reason));
  for (const GemmPlan &gemm : launch.gemms) {
    std::string text = "gemm";
    if (!gemm.atom.empty())
      text += " atom " + gemm.atom;
    if (gemm.warpsM)
      text += " warps " + std::to_string(gemm.warpsM) + " " + std::to_string(gemm.warpsN);
    out.line(text);
  }
  printStores(launch.stores, out);
  if (launch.cluster)
    out.line("cluster " + std::to_string((*launch.cluster)[0]) + " " +
             std::to_string((*launch.cluster)[1]) + comment(launch.clusterReason));
  if (launch.tiles != std::array<std::int64_t, 3>{1, 1, 1})
    out.line(tilesText(launch));
  if (launch.spread)
    out.line("spread " + std::to_string(launch.spread) + comment(launch.spreadReason));
  if (launch.parts)
    out.line("parts " + std::to_string(launch.parts) + comment(launch.partsReason));
  if (!launch.packed.empty()) {
    std::string text = "packed";
    for (const std::string &tensor : launch.packed)
      text += " " + tensor;
    out.line(text + comment(launch.packedReason));
  }
  if (launch.persistent)
    out.line("persistent " + persistentText(launch) + comment(launch.persistentReason));
  if (launch.specialize)
    out.line("specialize " + answer(*launch.specialize) + (launch.split ? " split" : "") +
             comment(launch.specializeReason));
  if (launch.inFlight)
    out.line("in_flight " + answer(*launch.inFlight) + comment(launch.inFlightReason));
}

} // namespace

const LaunchPlan *Schedule::find(std::string_view name) const {
  auto found = std::find_if(launches.begin(), launches.end(),
                            [&](const LaunchPlan &launch) { return launch.name == name; });
  return found == launches.end() ? nullptr : &*found;
}

Schedule scheduleFor(const Schedule &all, std::string_view kernel) {
  Schedule own;
  own.given = all.given;
  for (const LaunchPlan &launch : all.launches)
    if (launch.kernel.empty() || launch.kernel == kernel)
      own.launches.push_back(launch);
  return own;
}

std::size_t storesInARow(const std::vector<StorePlan> &stores, std::size_t first) {
  std::size_t count = 0;
  while (first + count < stores.size() && stores[first + count].name == stores[first].name &&
         stores[first + count].adds == stores[first].adds)
    ++count;
  return count;
}

std::string printSchedule(const Schedule &schedule) {
  TextWriter out;
  std::string_view kernel;
  for (const LaunchPlan &launch : schedule.launches) {
    if (launch.kernel != kernel)
      out.line("kernel " + launch.kernel);
    kernel = launch.kernel;
    out.line("launch " + launch.name + " {");
    {
      auto inner = out.indent();
      printLines(launch, out);
    }
    out.line("}");
  }
  return out.take();
}

std::optional<Schedule> parseSchedule(std::string_view text, ScheduleError &error) {
  return Reader().read(text, error);
}

} // namespace tlc::passes
