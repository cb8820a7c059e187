#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/cost/TransferFit.h"
#include "engine/experiment/Experiment.h"
#include "engine/plugin/HookChoice.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/Subgroups.h"
#include "engine/process_group/shaped/LinkClock.h"
#include "engine/store/Store.h"
#include "engine/trace/Tracer.h"
#include "engine/train/TorchrunEnvironment.h"

namespace lockstep::rank {

/// processes.timeout_seconds: of every operation, and for the ranks to meet.
std::chrono::milliseconds timeLimit(const experiment::Experiment& experiment);

/// The process groups of one rank, on the network that [processes] and [link] describe.
/// [step-thread]
class Groups {
 public:
  /// All arguments outlive this.
  Groups(const experiment::Experiment& experiment, const train::TorchrunEnvironment& environment,
         std::shared_ptr<store::Store> store, trace::Tracer& tracer);

  /// Meets the other ranks in the group of the gradients. Once, before all others.
  base::Result<std::shared_ptr<process_group::ProcessGroup>> makeDefault();

  /// Meets them in a group of one hook's own, so that what it does and what the Reducer does need
  /// no common order. `depth`: the place in `hooks`. The group is named for the hook. The hook's
  /// groups share the rank's link with all others.
  base::Result<std::shared_ptr<process_group::Subgroups>> makeForHook(
      const plugin::HookChoice& hooks, std::size_t depth);

  /// Meets them in a group over the same backend and link, of which nothing is recorded, and times
  /// it (Note [The probe of a run]). Throws CommError.
  struct Probe {
    std::vector<cost::TransferSample> allreduces;
    std::vector<cost::TransferSample> nextPeer;  ///< timeNextPeer()
  };
  base::Result<Probe> probe();

  /// Wakes whoever waits on any of them.
  void abort(const std::string& reason);

 private:
  using Group = std::shared_ptr<process_group::ProcessGroup>;

  [[nodiscard]] process_group::GroupOptions options(std::string name, std::uint8_t number) const;
  /// Of a group of which nothing is recorded or compared.
  [[nodiscard]] process_group::GroupOptions silentOptions(std::string name,
                                                          std::uint8_t number) const;
  base::Result<Group> makeWorld(const process_group::GroupOptions& own);
  /// `turns`: groups of which `group` is made (GroupOptions::roundRobin). A null tracer records
  /// nothing.
  base::Result<Group> shaped(Group group, std::uint8_t number, const std::vector<int>& ranks,
                             trace::Tracer* tracer, int turns = 1);

  const experiment::Experiment& experiment_;
  const train::TorchrunEnvironment& environment_;
  const std::shared_ptr<store::Store> store_;
  trace::Tracer& tracer_;
  const std::string backend_;
  std::shared_ptr<process_group::LinkClock> clock_;  // null: no link is shaped
  bool measured_ = false;                            // the backend is fast enough for the link
  std::vector<Group> worlds_;
};

}  // namespace lockstep::rank
