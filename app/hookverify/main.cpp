#include <ATen/Parallel.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "app/hookverify/LastWords.h"
#include "engine/base/ExitCodes.h"
#include "engine/hooks/verify/Replay.h"
#include "engine/hooks/verify/Verifier.h"
#include "engine/plugin/VerifyHook.h"

namespace {

using namespace lockstep;
using base::ExitCode;

[[noreturn]] void leave(ExitCode code) {
  std::fflush(stderr);
  std::_Exit(static_cast<int>(code));
}

[[noreturn]] void refuse(const std::string& text) {
  fmt::print(stderr, "lockstep-hookverify: {}\n", text);
  leave(ExitCode::kBadInput);
}

/// Writes the outcome and ends the process at once: what a plugin left behind may be in the middle
/// of anything.
template <typename Outcome>
[[noreturn]] void tell(int results, const Outcome& outcome) {
  const std::string json = plugin::toJson(outcome) + "\n";
  // By write(), past stdout, which is stderr by now and may have text of the plugin in its buffer.
  for (std::size_t done = 0; done < json.size();) {
    const ssize_t written = write(results, json.data() + done, json.size() - done);
    if (written < 0) {
      fmt::print(stderr, "lockstep-hookverify: standard output cannot be written\n");
      leave(ExitCode::kEnvironment);
    }
    done += static_cast<std::size_t>(written);
  }
  leave(outcome.problems.empty() ? ExitCode::kOk : ExitCode::kHookFailed);
}

}  // namespace

// lockstep-hookverify LIBRARY HOOK: tries a hook on ranks that are threads of this process, and
// prints how it did as JSON. A process of its own, since the hook may crash, hang or print. With
// --replay it repeats what a job of PyTorch did with the hook: Note [A training to be repeated].
int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  // A hook that hangs would otherwise outlive the program that waits for it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  CLI::App app(
      "Tries a communication hook against what it says of itself; `lockstep hooks --verify` "
      "starts it.");
  app.name("lockstep-hookverify");
  hooks::VerifierOptions options;
  std::int64_t timeoutMs = options.timeLimit.count();
  std::string values = "{}";
  std::string folder;
  app.add_option("LIBRARY", options.hook.library, "Library of hooks")->required();
  app.add_option("HOOK", options.hook.id, "Hook of it")->required();
  app.add_option("--ranks", options.ranks, "Ranks, threads of this process")
      ->check(CLI::Range(2, 16));
  app.add_option("--timeout-ms", timeoutMs, "How long one call of the hook may take")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{3600000}));
  app.add_option("--values", values, "The hook's parameters, a JSON object; others are as usual");
  app.add_option("--replay", folder, "Folder of a training in PyTorch, to be repeated");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help
      return app.exit(error);
    }
    refuse(error.what());
  }
  auto parsed = plugin::valuesFromJson(values);
  if (!parsed.ok()) {
    refuse(parsed.error().message());
  }
  options.hook.values = std::move(parsed).value();
  options.timeLimit = std::chrono::milliseconds(timeoutMs);

  // What a plugin prints must not get between the results.
  const int results = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (results < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    fmt::print(stderr, "lockstep-hookverify: standard output is closed\n");
    leave(ExitCode::kEnvironment);
  }
  hookverify::sayWhereItEnds(results);
  // On a thread of its own: the call that is stuck cannot be ended, but the process can.
  options.stuck = [results](const plugin::Verification& stuck) { tell(results, stuck); };
  at::set_num_threads(1);  // the ranks are as many threads as there is work for
  try {
    if (!folder.empty()) {
      tell(results, hooks::replay({options.hook, folder, options.timeLimit}));
    }
    tell(results, hooks::verify(options));
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}
