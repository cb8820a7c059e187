#include "engine/plugin/PluginScan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/base/PlainText.h"
#include "engine/base/ShippedFiles.h"
#include "engine/plugin/detail/Cache.h"
#include "engine/plugin/detail/Child.h"

namespace lockstep::plugin {

namespace {

using nlohmann::json;

// Note [Code of others]
// To open a library is to run code of it, which may crash, hang, stop or end its process, or print
// whatever it likes. So the programs that people work with open none; they start one that does, and
// make a sentence of how it ended:
//
//       scanLibrary      lockstep-hookscan     opens it, makes each hook once   its description
//       verifyHook       lockstep-hookverify   runs one hook                    its verification
//       comparePyTorch   Python, then the      the same gradients in both       the comparison
//                        program above
//
// An outcome is a JSON object on standard output. Without one, the last line of standard error, or
// of the output, tells how far the process had come: programs write down what they are about to
// call. A description is kept in a cache by path, size and time of the file; a refusal is not.

std::optional<FoundLibrary> remembered(const std::string& file, const std::string& path,
                                       PluginFolder::Kind from, const std::string& stamp) {
  const json cache = detail::readCache(file);
  const auto entry = cache.find(path);
  if (entry == cache.end() || entry->value("stamp", "") != stamp) {
    return std::nullopt;
  }
  auto info = pluginInfoFromJson(entry->value("info", ""));
  return info.ok() ? std::optional(FoundLibrary{path, from, std::move(info).value(), {}})
                   : std::nullopt;
}

/// Why a child that did not print a description is to be refused.
std::string refusalOf(const detail::ChildOutcome& outcome, const std::string& path,
                      std::chrono::milliseconds limit) {
  std::string text = base::lastLine(outcome.errors);
  const std::string making =
      text.starts_with(kMakingHook) ? text.substr(std::string_view("making ").size()) : "";
  if (outcome.timedOut) {
    return fmt::format("{} within {} s",
                       making.empty() ? "it did not describe itself"
                                      : making + " was not made and destroyed for one rank",
                       limit.count() / 1000.0);
  }
  if (outcome.stoppedBy != 0) {
    return fmt::format("{} while {}", outcome.stopText(),
                       making.empty() ? "it was opened" : making + " was made or destroyed");
  }
  if (outcome.signal != 0) {
    return outcome.crashText(making.empty()
                                 ? " while it was opened"
                                 : " while " + making + " was made or destroyed for one rank");
  }
  if (!making.empty()) {
    return fmt::format("{} ended the process when it was made for one rank, with exit code {}",
                       making, outcome.exitCode);
  }
  const std::string prefix = fmt::format("lockstep-hookscan: {}: ", path);
  if (text.starts_with(prefix)) {
    text.erase(0, prefix.size());
  }
  return text.empty() ? fmt::format("it ended the scan with exit code {}", outcome.exitCode) : text;
}

FoundLibrary describe(const std::string& path, PluginFolder::Kind from,
                      const ScanOptions& options) {
  FoundLibrary found{path, from, {}, {}};
  const std::string program = options.hookscan.empty()
                                  ? base::helperProgram("lockstep-hookscan").string()
                                  : options.hookscan;
  const auto outcome = detail::runChild({program, path}, options.timeLimit);
  if (!outcome.ok()) {
    found.error = outcome.error().message();
    return found;
  }
  // A description that was printed before a crash is not taken: the crash may come in the run, too.
  if (outcome.value().timedOut || outcome.value().signal != 0 || outcome.value().exitCode != 0 ||
      outcome.value().output.empty()) {
    found.error = refusalOf(outcome.value(), path, options.timeLimit);
    return found;
  }
  auto info = pluginInfoFromJson(outcome.value().output);
  if (info.ok()) {
    found.info = std::move(info).value();
  } else {
    found.error = fmt::format("it disturbed its own description: {}", info.error().what);
  }
  return found;
}

}  // namespace

FoundLibrary scanLibrary(const std::string& path, PluginFolder::Kind from,
                         const ScanOptions& options) {
  const std::string now = detail::stamp(path);
  if (now.empty()) {
    return {path, from, {}, "there is no such file"};
  }
  const std::string file = detail::cacheFile(options.cache, "hooks.json");
  if (auto known = remembered(file, path, from, now)) {
    return *std::move(known);
  }
  FoundLibrary found = describe(path, from, options);
  if (!file.empty() && found.error.empty()) {
    detail::keepInCache(file, path, {{"stamp", now}, {"info", toJson(found.info)}});
  }
  return found;
}

std::vector<FoundLibrary> scanFolders(const std::vector<PluginFolder>& folders,
                                      const ScanOptions& options) {
  std::vector<FoundLibrary> found;
  for (const PluginFolder& folder : folders) {
    for (const std::string& path : librariesIn(folder)) {
      found.push_back(scanLibrary(path, folder.kind, options));
    }
  }
  return found;
}

FoundHook findHook(const std::vector<FoundLibrary>& libraries, std::string_view id) {
  for (const FoundLibrary& library : libraries) {
    for (const HookInfo& hook : library.info.hooks) {
      if (hook.id == id) {
        return {&library, &hook};
      }
    }
  }
  return {};
}

}  // namespace lockstep::plugin
