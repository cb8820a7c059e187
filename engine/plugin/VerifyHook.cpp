#include "engine/plugin/VerifyHook.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/PlainText.h"
#include "engine/base/ShippedFiles.h"
#include "engine/plugin/detail/Child.h"

namespace lockstep::plugin {

namespace {

using nlohmann::json;

/// For libtorch to load and the ranks to meet, on a busy machine.
constexpr std::chrono::seconds kStartUp{30};

/// What the program said of where its process died: "in hook 'topk', rank 1: bucket 0 of step 4".
std::string placeOf(const detail::ChildOutcome& outcome, const ChosenHook& hook) {
  const std::string note = base::lastLine(outcome.output);
  return note.starts_with("in hook ") ? note.substr(3) : fmt::format("hook '{}'", hook.id);
}

std::string whyThereIsNone(const detail::ChildOutcome& outcome, const ChosenHook& hook,
                           std::chrono::milliseconds limit) {
  if (outcome.timedOut) {
    return fmt::format("hook '{}': its process did not end within {} s", hook.id,
                       static_cast<double>(limit.count()) / 1000);
  }
  if (outcome.stoppedBy != 0) {
    return fmt::format("hook '{}': {}", hook.id, outcome.stopText());
  }
  if (outcome.signal != 0) {
    return fmt::format("{}: {}", placeOf(outcome, hook), outcome.crashText());
  }
  const std::string last = base::lastLine(outcome.errors);
  constexpr std::string_view kOwn = "lockstep-hookverify: ";
  if (last.starts_with(kOwn)) {
    return fmt::format("hook '{}': {}", hook.id, last.substr(kOwn.size()));
  }
  return fmt::format("{}: it ended the process, with exit code {}", placeOf(outcome, hook),
                     outcome.exitCode);
}

}  // namespace

Verification verifyHook(const ChosenHook& hook, const VerifyOptions& options) {
  const auto failed = [&](std::string problem) {
    Verification verification;
    verification.ranks = options.ranks;
    verification.problems.push_back(std::move(problem));
    return verification;
  };
  // Each call has its limit in the child; this one is for a child that does not keep it.
  const auto limit = kCallsInAVerification * options.timeLimit + kStartUp;
  const std::string program = options.program.empty()
                                  ? base::helperProgram("lockstep-hookverify").string()
                                  : options.program;
  const auto outcome = detail::runChild(
      {program, hook.library, hook.id, "--ranks", std::to_string(options.ranks), "--timeout-ms",
       std::to_string(options.timeLimit.count()), "--values", valuesToJson(hook.values)},
      limit);
  if (!outcome.ok()) {
    return failed(fmt::format("hook '{}': {}", hook.id, outcome.error().message()));
  }
  // A hook that ends the process leaves no outcome, whatever the exit code says.
  if (!outcome.value().output.starts_with('{')) {
    return failed(whyThereIsNone(outcome.value(), hook, limit));
  }
  auto verification = verificationFromJson(outcome.value().output);
  if (!verification.ok()) {
    return failed(whyThereIsNone(outcome.value(), hook, limit));
  }
  return std::move(verification).value();
}

std::string valuesToJson(const std::map<std::string, HookValue>& values) {
  json out = json::object();
  for (const auto& [key, value] : values) {
    std::visit([&, name = key](const auto& held) { out[name] = held; }, value);
  }
  return out.dump();
}

base::Result<std::map<std::string, HookValue>> valuesFromJson(std::string_view text) {
  try {
    const json in = json::parse(text);
    std::map<std::string, HookValue> values;
    for (const auto& [key, value] : in.items()) {
      if (value.is_string()) {
        values.emplace(key, value.get<std::string>());
      } else {
        values.emplace(key, value.get<double>());
      }
    }
    return values;
  } catch (const std::exception& error) {
    return base::Error{base::ExitCode::kBadInput,
                       fmt::format("is no JSON object of numbers and texts: {}", error.what()),
                       "--values"};
  }
}

}  // namespace lockstep::plugin
