#include "tests/engine/process_group/mpi/Mpirun.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace lockstep::process_group {

std::optional<std::string> mpirunPath() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/mpirun";
    if (access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return std::nullopt;
}

support::ChildProcess startMpi(
    int ranks, const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::pair<std::string, std::string>>& environment) {
  support::SpawnOptions options;
  options.program = mpirunPath().value_or("mpirun");
  // More ranks than cores, each on any core, and no ptrace, which containers forbid.
  options.arguments = {"-n",
                       std::to_string(ranks),
                       "--oversubscribe",
                       "--bind-to",
                       "none",
                       "--mca",
                       "btl_vader_single_copy_mechanism",
                       "none"};
  options.environment = environment;
  for (const auto& [name, value] : environment) {
    options.arguments.emplace_back("-x");
    options.arguments.push_back(name);
  }
  // OpenMPI keeps what it and the parts of it that it unloads have allocated.
  options.environment.emplace_back("ASAN_OPTIONS", "detect_leaks=0:detect_odr_violation=0");
  options.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
  options.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  options.arguments.push_back(program);
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  return support::ChildProcess(options);
}

MpiJob runMpi(int ranks, const std::string& program, const std::vector<std::string>& arguments,
              const std::vector<std::pair<std::string, std::string>>& environment,
              std::chrono::milliseconds patience) {
  const auto begin = std::chrono::steady_clock::now();
  support::ChildProcess job = startMpi(ranks, program, arguments, environment);
  MpiJob result;
  result.status = job.wait(patience);
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  result.output = job.output();
  result.errors = job.errors();
  return result;
}

}  // namespace lockstep::process_group
