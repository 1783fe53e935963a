// `tlc targets`: what can be compiled for, and with which flags the result is then built.
#include "driver/Session.h"
#include "support/Names.h"
#include "support/RenderJson.h"
#include "target/Target.h"

#include <iomanip>
#include <iostream>

namespace tlc {
namespace {

std::string_view familyName(Family family) {
  switch (family) {
  case Family::Cuda:
    return "cuda";
  case Family::Hip:
    return "hip";
  case Family::Cpu:
    break;
  }
  return "cpu";
}

std::string joined(const std::vector<std::string> &words) {
  std::string out;
  for (const std::string &word : words)
    out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<Feature> featuresOf(const Target &target) {
  std::vector<Feature> out;
  const Feature all[] = {
#define TLC_FEATURE(NAME, TEXT) Feature::NAME,
#include "target/Feature.def"
  };
  for (Feature feature : all)
    if (target.has(feature))
      out.push_back(feature);
  return out;
}

std::string json(const Target &target) {
  std::string out = "{\"name\":" + jsonString(target.name) +
                    ",\"family\":" + jsonString(familyName(target.family)) +
                    ",\"supported\":" + (target.supported() ? "true" : "false") +
                    ",\"missing\":" + jsonString(target.missing) +
                    ",\"summary\":" + jsonString(target.summary) + ",\"flags\":[";
  for (size_t i = 0; i < target.flags.size(); ++i)
    out += (i ? "," : "") + jsonString(target.flags[i]);
  out += "],\"warp\":" + std::to_string(target.limits.warp) +
         ",\"shared_bytes_per_block\":" + std::to_string(target.limits.sharedPerBlockOptIn) +
         ",\"features\":[";
  std::vector<Feature> features = featuresOf(target);
  for (size_t i = 0; i < features.size(); ++i)
    out += (i ? "," : "") + jsonString(featureName(features[i]));
  return out + "]}";
}

void printOne(const Target &target) {
  std::cout << target.name << "  " << target.summary << "\n";
  if (!target.supported())
    std::cout << "  " << target.missing << "\n";
  std::cout << "  flags:    " << joined(target.flags) << "\n";
  if (target.isGpu())
    std::cout << "  warp:     " << target.limits.warp << " threads\n"
              << "  shared:   " << target.limits.sharedPerBlockOptIn << " bytes per block\n";
  for (Feature feature : featuresOf(target))
    std::cout << "  " << std::left << std::setw(20) << featureName(feature)
              << featureSummary(feature) << "\n";
}

} // namespace

int runTargets(Session &session) {
  const Options &options = session.options;
  if (!options.topic.empty()) {
    const Target *target = findTarget(options.topic);
    if (!target) {
      std::vector<std::string_view> names;
      for (const Target &other : allTargets())
        names.push_back(other.name);
      auto builder = session.diagnostics.report(diag::UnknownTarget, {}, options.topic);
      if (std::string_view near = didYouMean(options.topic, names); !near.empty())
        builder.help("did you mean `" + std::string(near) + "`?");
      return 2;
    }
    if (options.showJson)
      std::cout << json(*target) << "\n";
    else if (options.showFlags)
      std::cout << joined(target->flags) << "\n";
    else
      printOne(*target);
    return 0;
  }
  if (options.showJson) {
    std::cout << "[";
    for (size_t i = 0; i < allTargets().size(); ++i)
      std::cout << (i ? ",\n " : "") << json(allTargets()[i]);
    std::cout << "]\n";
    return 0;
  }
  for (const Target &target : allTargets()) {
    std::cout << std::left << std::setw(14) << target.name;
    if (options.showFlags)
      std::cout << joined(target.flags);
    else
      std::cout << (target.supported() ? target.summary
                                       : target.summary + " (" + target.missing + ")");
    std::cout << "\n";
  }
  return 0;
}

} // namespace tlc
