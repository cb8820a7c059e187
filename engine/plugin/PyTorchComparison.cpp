#include "engine/plugin/PyTorchComparison.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/PlainText.h"
#include "engine/base/ShippedFiles.h"
#include "engine/base/Try.h"
#include "engine/plugin/VerifyHook.h"
#include "engine/plugin/detail/Child.h"

namespace lockstep::plugin {

namespace {

using detail::ChildOutcome;
using nlohmann::json;
namespace fs = std::filesystem;

/// For PyTorch to load and the ranks to meet, on a busy machine.
constexpr std::chrono::seconds kTorchStartUp{60};

/// Not by -m, whose folder would have to be in the environment.
constexpr const char* kProgram =
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from lockstep import _hook_verify; _hook_verify.main()";

/// A folder for what the job leaves, taken away again.
class Folder {
 public:
  Folder() {
    std::error_code ignored;
    std::string pattern = (fs::temp_directory_path(ignored) / "lockstep-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) {
      path_ = pattern;
    }
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) {
      fs::remove_all(path_, ignored);
    }
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Why a child has said nothing of use, a sentence; nothing where it has.
std::optional<std::string> whyNothing(const ChildOutcome& outcome, const char* where) {
  if (outcome.timedOut) {
    return fmt::format("{}: its process did not end in time", where);
  }
  if (outcome.signal != 0) {
    return fmt::format("{}: {}", where, outcome.crashText());
  }
  // No outcome: the last line of an exception says why.
  if (outcome.output.find('{') == std::string::npos) {
    const std::string last = base::lastLine(outcome.errors);
    return fmt::format("{}: {}", where,
                       last.empty() ? fmt::format("exit code {}", outcome.exitCode) : last);
  }
  return std::nullopt;
}

// Trains in PyTorch, which leaves in `folder` what the engine is to repeat. Nothing: that went
// well. A comparison: it ended there, refused or with a problem.
base::Result<std::optional<PyTorchComparison>> train(const ChosenHook& hook,
                                                     const ComparePyTorchOptions& options,
                                                     const std::string& folder,
                                                     std::string& torch) {
  PyTorchComparison ended;
  ended.ranks = 2;
  const auto outcome = detail::runChild(
      {options.python, "-c", kProgram, options.packages, hook.library, hook.id, folder,
       fmt::format("{}", static_cast<double>(options.timeLimit.count()) / 1000),
       valuesToJson(hook.values)},
      kCallsInAVerification * options.timeLimit + kTorchStartUp);
  if (!outcome.ok()) {
    return base::Error{base::ExitCode::kEnvironment, outcome.error().what, options.python};
  }
  if (auto why = whyNothing(outcome.value(), "in PyTorch")) {
    ended.problems.push_back(fmt::format("hook '{}', {}", hook.id, *why));
    return std::optional(ended);
  }
  // A hook may print to standard output.
  const json said = json::parse(outcome.value().output, nullptr, false);
  if (!said.is_object()) {
    ended.problems.push_back(fmt::format("hook '{}': it disturbed the outcome", hook.id));
    return std::optional(ended);
  }
  if (const std::string missing = said.value("missing", ""); !missing.empty()) {
    return base::Error{base::ExitCode::kEnvironment, missing, options.python};
  }
  ended.torch = torch = said.value("torch", "");
  ended.refusal = said.value("refusal", "");
  if (const std::string problem = said.value("problem", ""); !problem.empty()) {
    ended.problems.push_back("in PyTorch: " + problem);
  }
  return ended.refusal.empty() && ended.problems.empty() ? std::nullopt : std::optional(ended);
}

}  // namespace

base::Result<PyTorchComparison> comparePyTorch(const ChosenHook& hook,
                                               const ComparePyTorchOptions& options) {
  // Gradients and results of all steps may be large: they go through files, and leave with this.
  const Folder folder;
  if (folder.path().empty()) {
    return base::Error{base::ExitCode::kEnvironment, "no folder can be made in it", "$TMPDIR"};
  }
  std::string torch;
  auto trained = LOCKSTEP_TRY(train(hook, options, folder.path(), torch));
  if (trained) {
    return *trained;
  }
  PyTorchComparison failed;
  failed.ranks = 2;
  failed.torch = torch;
  const auto outcome = detail::runChild(
      {base::helperProgram("lockstep-hookverify").string(), hook.library, hook.id, "--replay",
       folder.path(), "--timeout-ms", std::to_string(options.timeLimit.count()), "--values",
       valuesToJson(hook.values)},
      kCallsInAVerification * options.timeLimit + kTorchStartUp);
  const auto why = !outcome.ok() ? std::optional(outcome.error().message())
                                 : whyNothing(outcome.value(), "in the engine");
  if (why) {
    failed.problems.push_back(fmt::format("hook '{}', {}", hook.id, *why));
    return failed;
  }
  auto comparison = pyTorchComparisonFromJson(outcome.value().output);
  if (!comparison.ok()) {
    failed.problems.push_back(fmt::format("hook '{}': {}", hook.id, comparison.error().what));
    return failed;
  }
  comparison.value().torch = torch;
  return comparison;
}

}  // namespace lockstep::plugin
