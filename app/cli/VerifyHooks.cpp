#include "app/cli/VerifyHooks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"
#include "engine/plugin/VerifyHook.h"
#include "plugins/abi/include/lockstep/comm_hook.h"

namespace lockstep::cli {
namespace {

using plugin::Verification;

constexpr std::array kWorlds{2, 4};

bool passed(const Verification& run) {
  return run.problems.empty() && run.refusal.empty();
}

std::string sameText(const VerifiedHook& hook, const Verification& run) {
  if ((hook.info.caps & LOCKSTEP_CAP_SAME_RESULT) != 0) {
    return run.gradientsSame && run.parametersSame ? "yes" : "NO";
  }
  return run.gradientsSame    ? "yes (not promised)"
         : run.parametersSame ? "the parameters"
                              : "no (not promised)";
}

/// What was measured, or "-" for each where the verification ended before.
std::vector<std::string> cells(const VerifiedHook& hook, const Verification& run) {
  const std::string verdict = !run.problems.empty() ? "FAILS"
                              : run.refusal.empty() ? "ok"
                                                    : "refuses";
  const std::string promised =
      hook.info.meanError < 0 ? "no promise" : fmt::format("{:.1e}", hook.info.meanError);
  std::vector<std::string> row{hook.info.id, std::to_string(run.ranks), verdict};
  const bool trained = run.meanError >= 0;
  const bool timed = run.stepMs > 0;
  row.push_back(trained ? fmt::format("{:.1e}", run.meanError) : "-");
  row.push_back(promised);
  row.push_back(trained ? sameText(hook, run) : "-");
  row.push_back(!trained ? "-" : run.stateBytes >= 0 ? base::bytesText(run.stateBytes) : "none");
  row.push_back(timed ? base::msText(run.stepMs) : "-");
  row.push_back(timed ? base::msText(run.allreduceMs) : "-");
  row.push_back(timed ? base::bytesText(run.sentBytes) : "-");
  return row;
}

}  // namespace

nlohmann::json jsonOf(const HookToVerify& hook) {
  return {{"hook", hook.info.id},
          {"version", hook.info.version},
          {"library", hook.chosen.library},
          {"from", hook.from},
          {"values", nlohmann::json::parse(plugin::valuesToJson(hook.chosen.values))}};
}

bool VerifiedHook::passes() const {
  return std::all_of(runs.begin(), runs.end(),
                     [](const Verification& run) { return run.problems.empty(); }) &&
         std::any_of(runs.begin(), runs.end(), passed);
}

void verifyEach(std::vector<VerifiedHook>& hooks, std::chrono::milliseconds timeLimit) {
  const bool shows = isatty(STDERR_FILENO) != 0;
  std::size_t done = 0;
  for (VerifiedHook& hook : hooks) {
    for (const int ranks : kWorlds) {
      // One line that is written over: on a terminal for whoever waits, and not at all in a log.
      if (shows) {
        fmt::print(stderr, "\r\033[Kverifying {} on {} ranks ({} of {})", hook.info.id, ranks,
                   ++done, hooks.size() * kWorlds.size());
      }
      plugin::VerifyOptions options;
      options.ranks = ranks;
      options.timeLimit = timeLimit;
      hook.runs.push_back(plugin::verifyHook(hook.chosen, options));
    }
  }
  if (shows) {
    fmt::print(stderr, "\r\033[K");
  }
}

std::string verificationText(const std::vector<VerifiedHook>& hooks) {
  TextTable table({"hook", "ranks", "verdict", "off the mean", "promised", "same on all ranks",
                   "state", "ms a step", "allreduce", "sent a step"});
  std::string sentences;
  for (const VerifiedHook& hook : hooks) {
    for (const Verification& run : hook.runs) {
      table.add(cells(hook, run));
      const auto tell = [&](const std::string& sentence) {
        sentences += fmt::format("on {} ranks: {}\n", run.ranks, sentence);
      };
      std::for_each(run.problems.begin(), run.problems.end(), tell);
      std::for_each(run.notes.begin(), run.notes.end(), tell);
      if (!run.refusal.empty()) {
        tell(fmt::format("hook '{}' refuses: {}", hook.info.id, run.refusal));
      }
    }
  }
  return hooks.empty() ? std::string() : table.text() + sentences;
}

std::string verificationJson(const std::vector<VerifiedHook>& hooks,
                             const std::vector<plugin::FoundLibrary>& libraries) {
  auto list = nlohmann::json::array();
  for (const VerifiedHook& hook : hooks) {
    auto runs = nlohmann::json::array();
    for (const Verification& run : hook.runs) {
      runs.push_back(nlohmann::json::parse(plugin::toJson(run)));
    }
    list.push_back(jsonOf(hook));
    list.back()["promised_mean_error"] = hook.info.meanError;
    list.back()["promises_same"] = (hook.info.caps & LOCKSTEP_CAP_SAME_RESULT) != 0;
    list.back()["passes"] = hook.passes();
    list.back()["runs"] = std::move(runs);
  }
  for (const plugin::FoundLibrary& library : libraries) {
    if (!library.error.empty()) {
      list.push_back({{"library", library.path},
                      {"from", plugin::name(library.from)},
                      {"passes", false},
                      {"error", library.error}});
    }
  }
  return list.dump(2) + "\n";
}

}  // namespace lockstep::cli
