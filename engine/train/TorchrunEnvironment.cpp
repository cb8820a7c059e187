#include "engine/train/TorchrunEnvironment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <limits>

namespace lockstep::train {
namespace {

/// Reads variables, and keeps the first error.
class Reader {
 public:
  explicit Reader(const ReadVariable& read) : read_(read) {}

  [[nodiscard]] bool ok() const { return !error_; }
  [[nodiscard]] const base::Error& error() const { return *error_; }

  /// Returns the first of `names` that is set, in [lowest, highest].
  std::optional<std::int64_t> optionalNumber(std::initializer_list<const char*> names,
                                             std::int64_t lowest, std::int64_t highest) {
    for (const char* name : names) {
      const auto text = read_(name);
      if (!text) {
        continue;
      }
      std::int64_t number = 0;
      const char* end = text->data() + text->size();
      const auto [stop, failure] = std::from_chars(text->data(), end, number);
      if (failure != std::errc() || stop != end || text->empty()) {
        fail(fmt::format("is \"{}\", a whole number is needed", *text), name);
        return std::nullopt;
      }
      if (number < lowest || number > highest) {
        fail(fmt::format("is {}; allowed: {} to {}", number, lowest, highest), name);
        return std::nullopt;
      }
      return number;
    }
    return std::nullopt;
  }

  std::int64_t number(std::initializer_list<const char*> names, std::int64_t lowest,
                      std::int64_t highest) {
    const auto found = optionalNumber(names, lowest, highest);
    if (!found) {
      fail(kMissing, *names.begin());
    }
    return found.value_or(lowest);
  }

  std::string text(const char* name) {
    auto found = read_(name);
    if (!found || found->empty()) {
      fail(kMissing, name);
      return "";
    }
    return *found;
  }

  void fail(const std::string& what, const char* name) {
    if (!error_) {
      error_ = base::Error{base::ExitCode::kBadInput, what, std::string("environment ") + name};
    }
  }

 private:
  static constexpr const char* kMissing =
      "is not set; start ranks with `lockstep run`, torchrun, mpirun or srun";
  const ReadVariable& read_;
  std::optional<base::Error> error_;
};

}  // namespace

std::optional<std::string> readEnvironmentVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

base::Result<TorchrunEnvironment> torchrunEnvironment(const ReadVariable& read) {
  constexpr int kMost = std::numeric_limits<int>::max();
  Reader reader(read);
  TorchrunEnvironment result;
  result.rank =
      static_cast<int>(reader.number({"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}, 0, kMost));
  result.worldSize = static_cast<int>(
      reader.number({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"}, 1, kMost));
  if (reader.ok() && result.rank >= result.worldSize) {
    reader.fail(fmt::format("is {}, but WORLD_SIZE is {}: ranks count from 0", result.rank,
                            result.worldSize),
                "RANK");
  }
  result.localRank = static_cast<int>(
      reader.optionalNumber({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}, 0, kMost)
          .value_or(result.rank));
  result.masterAddress = reader.text("MASTER_ADDR");
  const auto masterPort = reader.number({"MASTER_PORT"}, 1, 65535);
  result.attempt =
      static_cast<int>(reader.optionalNumber({"TORCHELASTIC_RESTART_COUNT"}, 0, kMost).value_or(0));
  const auto traceFd = reader.optionalNumber({"LOCKSTEP_TRACE_FD"}, 0, kMost);
  const auto experimentFd = reader.optionalNumber({"LOCKSTEP_EXPERIMENT_FD"}, 0, kMost);
  result.supervisorPid = reader.optionalNumber({"LOCKSTEP_SUPERVISOR_PID"}, 1, kMost);
  // torchrun's agent serves a store of PyTorch's protocol on MASTER_PORT; ours stands beside it.
  const bool agentHostsStore = read("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  const bool besideAgent = agentHostsStore && !result.supervisorPid;
  if (besideAgent && masterPort == 65535) {
    reader.fail("is 65535, and Lockstep's store needs the next port; choose a lower one",
                "MASTER_PORT");
  }
  result.storePort = static_cast<std::uint16_t>(masterPort + (besideAgent ? 1 : 0));
  result.hostsStore = result.rank == 0 && (!agentHostsStore || besideAgent);
  if (traceFd) {
    result.traceFd = static_cast<int>(*traceFd);
  }
  if (experimentFd) {
    result.experimentFd = static_cast<int>(*experimentFd);
  }
  return reader.ok() ? base::Result<TorchrunEnvironment>(result)
                     : base::Result<TorchrunEnvironment>(reader.error());
}

}  // namespace lockstep::train
