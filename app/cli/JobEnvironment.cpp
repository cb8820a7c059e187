#include "app/cli/JobEnvironment.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "engine/base/Environment.h"
#include "engine/base/ShippedFiles.h"
#include "engine/base/Try.h"

namespace lockstep::cli {

base::Result<std::filesystem::path> pythonFolder() {
  std::error_code error;
  // Last, as a build folder has it, beside the programs' folder: one part of it is compiled.
  const std::vector<std::filesystem::path> places{base::shippedPlaces("python", "").front(),
                                                  base::programFolder().parent_path() / "python"};
  for (const std::filesystem::path& folder : places) {
    if (std::filesystem::is_regular_file(folder / "lockstep" / "__init__.py", error)) {
      return folder;
    }
  }
  return base::Error{base::ExitCode::kEnvironment,
                     "this build has no Python package, which takes Python's headers; install "
                     "libpython3-dev and build again",
                     places.back().string()};
}

void addWatching(CLI::App& command, JobWatching& watching) {
  command
      .add_option("--attach", watching.attach,
                  "Which models are watched: those that the script hands to lockstep.watch "
                  "(watch), or every DistributedDataParallel that it makes, and the "
                  "collectives of all process groups (auto)")
      ->check(CLI::IsMember({"watch", "auto"}));
  const auto addEvery = [&](const char* name, int& iterations, const char* what) {
    command.add_option(name, iterations, what)->check(CLI::NonNegativeNumber)->option_text("N");
  };
  addEvery("--check-replicas", watching.checkReplicas,
           "Compare the ranks' parameters bit for bit every so many iterations: the run "
           "has diverged where they differ; 0: never");
  addEvery("--check-gradients", watching.checkGradients,
           "Measure each rank's own gradients every so many iterations, before they are "
           "averaged: how large they are, and what of them is not finite; 0: never");
}

base::Result<std::vector<std::string>> jobEnvironment(const JobWatching& watching) {
  const auto folder = LOCKSTEP_TRY(pythonFolder());
  std::vector<std::string> environment = base::inheritedEnvironment();
  const char* before = std::getenv("PYTHONPATH");
  std::string path = folder.string();
  if (watching.attach == "auto") {
    path = (folder / "lockstep" / "auto").string() + ":" + path;
  }
  base::setVariable(environment, "PYTHONPATH",
                    before != nullptr && *before != '\0' ? path + ":" + before : path);
  for (const auto& [variable, every] :
       {std::pair{"LOCKSTEP_CHECK_REPLICAS", watching.checkReplicas},
        {"LOCKSTEP_CHECK_GRADIENTS", watching.checkGradients}}) {
    if (every > 0) {
      base::setVariable(environment, variable, std::to_string(every));
    }
  }
  // NCCL loads the plugin in every process of the job; it asks NCCL for nothing before the process
  // is recorded. NCCL cuts a longer path off, and would then find no such library.
  constexpr std::size_t kLongestPlugin = 254;
  const auto plugin = folder / "lockstep" / "liblockstep_nccl_profiler.so";
  if (std::error_code error; std::getenv("NCCL_PROFILER_PLUGIN") == nullptr &&
                             std::filesystem::is_regular_file(plugin, error) &&
                             plugin.string().size() <= kLongestPlugin) {
    environment.push_back("NCCL_PROFILER_PLUGIN=" + plugin.string());
  }
  // What the job prints goes through a pipe, into which Python writes by full buffers: a line a
  // step would be seen some hundred steps late.
  if (std::getenv("PYTHONUNBUFFERED") == nullptr) {
    environment.emplace_back("PYTHONUNBUFFERED=1");
  }
  return environment;
}

void passOn(bool isError, std::string_view bytes) {
  // Each to where the job would have written it, so that a shell's redirections mean what they say.
  std::FILE* stream = isError ? stderr : stdout;
  std::fwrite(bytes.data(), 1, bytes.size(), stream);
  std::fflush(stream);
}

}  // namespace lockstep::cli
