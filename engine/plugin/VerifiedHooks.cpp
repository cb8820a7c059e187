#include "engine/plugin/VerifiedHooks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/plugin/detail/Cache.h"

namespace lockstep::plugin {

namespace {

using nlohmann::json;

constexpr const char* kFile = "verified.json";
constexpr double kNsPerMs = 1e6;

cost::VerifiedOnRanks measuredBy(const Verification& run) {
  cost::VerifiedOnRanks of;
  of.ranks = run.ranks;
  of.sameResult = run.gradientsSame;
  of.elements = run.elements;
  of.bytes = run.gradientBytes;
  of.sentBytes = run.sentBytes;
  of.aroundStepNs = run.aroundStepMs * kNsPerMs;
  for (const TimedCall& call : run.calls) {
    of.calls.encode.push_back({call.bytes, call.encodeMs * kNsPerMs, false});
    of.calls.decode.push_back({call.bytes, call.decodeMs * kNsPerMs, false});
  }
  return of;
}

/// An entry of the cache; none: of another library by now, or written by another Lockstep.
std::optional<cost::VerifiedHook> hookOf(const json& entry) {
  try {
    const auto library = entry.at("library").get<std::string>();
    if (entry.at("stamp") != detail::stamp(library)) {
      return std::nullopt;
    }
    cost::VerifiedHook hook;
    hook.hook.name = entry.at("hook").get<std::string>();
    // One that came with Lockstep is found by its name, wherever that is.
    hook.hook.library = entry.at("built_in").get<bool>() ? "" : library;
    for (const json& run : entry.at("runs")) {
      const auto read = verificationFromJson(run.dump());
      if (!read.ok()) {
        return std::nullopt;
      }
      hook.runs.push_back(measuredBy(read.value()));
    }
    return hook;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

void keepVerified(const ChosenHook& hook, bool isBuiltIn, const std::vector<Verification>& runs,
                  const std::string& file) {
  const std::string cache = detail::cacheFile(file, kFile);
  auto measured = json::array();
  for (const Verification& run : runs) {
    if (!run.calls.empty()) {
      measured.push_back(json::parse(toJson(run)));
    }
  }
  if (cache.empty() || measured.empty() || !hook.values.empty()) {
    return;
  }
  detail::keepInCache(cache, hook.library + ' ' + hook.id,
                      {{"stamp", detail::stamp(hook.library)},
                       {"library", hook.library},
                       {"hook", hook.id},
                       {"built_in", isBuiltIn},
                       {"runs", std::move(measured)}});
}

std::vector<cost::VerifiedHook> verifiedHooks(const std::string& file) {
  std::vector<cost::VerifiedHook> hooks;
  const json cache = detail::readCache(detail::cacheFile(file, kFile));
  for (const json& entry : cache) {
    if (auto hook = hookOf(entry)) {
      hooks.push_back(*std::move(hook));
    }
  }
  std::ranges::stable_sort(hooks, {}, [](const cost::VerifiedHook& of) { return of.hook.name; });
  return hooks;
}

base::Result<cost::VerifiedHook> verifiedHook(const std::string& name, const std::string& file) {
  std::vector<std::string> names;
  for (cost::VerifiedHook& hook : verifiedHooks(file)) {
    if (hook.hook.name == name) {
      return std::move(hook);
    }
    names.push_back(hook.hook.name);
  }
  return base::Error{
      base::ExitCode::kBadInput,
      fmt::format(
          "the hook \"{}\" was not verified on this machine, as lockstep hooks {} --verify "
          "does it; {}",
          name, name,
          names.empty() ? "no other was" : fmt::format("there are {}", fmt::join(names, ", "))),
      "--hook"};
}

}  // namespace lockstep::plugin
