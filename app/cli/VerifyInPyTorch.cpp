#include "app/cli/VerifyInPyTorch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/JobEnvironment.h"
#include "app/cli/TextTable.h"
#include "engine/base/NumberText.h"
#include "engine/base/Try.h"
#include "engine/plugin/VerifyHook.h"

namespace lockstep::cli {
namespace {

using plugin::PyTorchComparison;

std::vector<std::string> cells(const HookInPyTorch& hook) {
  const PyTorchComparison& run = hook.outcome;
  const std::string verdict = !run.problems.empty() ? "FAILS"
                              : run.refusal.empty() ? "ok"
                                                    : "refused";
  std::vector<std::string> row{hook.info.id, std::to_string(run.ranks), verdict};
  if (run.steps == 0) {
    row.insert(row.end(), {"-", "-", "-", "-"});
    return row;
  }
  const auto apart = [](double distance) {
    return distance == 0 ? std::string("bit-equal") : fmt::format("{:.1e}", distance);
  };
  const auto sent = [&](std::uint64_t bytes) {
    return base::bytesText(static_cast<double>(bytes) / run.steps);
  };
  row.insert(row.end(), {apart(run.distance), apart(run.ownDistance), sent(run.sentBytes),
                         sent(run.engineSentBytes)});
  return row;
}

}  // namespace

base::Result<bool> verifyEachInPyTorch(std::vector<HookInPyTorch>& hooks, const std::string& python,
                                       std::chrono::milliseconds timeLimit) {
  const auto packages = LOCKSTEP_TRY(pythonFolder());
  plugin::ComparePyTorchOptions options;
  options.python = python;
  options.packages = packages.string();
  options.timeLimit = timeLimit;
  const bool shows = isatty(STDERR_FILENO) != 0;
  std::size_t done = 0;
  for (HookInPyTorch& hook : hooks) {
    if (shows) {
      fmt::print(stderr, "\r\033[Kverifying {} in PyTorch ({} of {})", hook.info.id, ++done,
                 hooks.size());
    }
    auto outcome = plugin::comparePyTorch(hook.chosen, options);
    if (shows) {
      fmt::print(stderr, "\r\033[K");
    }
    // No PyTorch, or no such Python: the next hook would say the same.
    if (!outcome.ok()) {
      return outcome.error();
    }
    hook.outcome = std::move(outcome).value();
  }
  return true;
}

std::string inPyTorchText(const std::vector<HookInPyTorch>& hooks) {
  TextTable table({"hook", "ranks", "verdict", "off the engine", "engine, twice", "sent a step",
                   "in the engine"});
  std::string sentences;
  for (const HookInPyTorch& hook : hooks) {
    table.add(cells(hook));
    for (const std::string& problem : hook.outcome.problems) {
      sentences += problem + "\n";
    }
    if (!hook.outcome.refusal.empty()) {
      sentences += hook.outcome.refusal + "\n";
    }
  }
  const auto told = std::find_if(hooks.begin(), hooks.end(), [](const HookInPyTorch& hook) {
    return !hook.outcome.torch.empty();  // of one whose process crashed it is not known
  });
  const std::string version =
      told == hooks.end() ? std::string() : "PyTorch " + told->outcome.torch + "\n";
  return hooks.empty() ? std::string() : version + table.text() + sentences;
}

std::string inPyTorchJson(const std::vector<HookInPyTorch>& hooks) {
  auto list = nlohmann::json::array();
  for (const HookInPyTorch& hook : hooks) {
    list.push_back(jsonOf(hook));
    list.back()["passes"] = hook.passes();
    list.back()["in_pytorch"] = nlohmann::json::parse(plugin::toJson(hook.outcome));
  }
  return list.dump(2) + "\n";
}

}  // namespace lockstep::cli
