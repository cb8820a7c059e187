#include "app/rank/Groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/rank/TimeAllreduces.h"
#include "app/rank/TimePeers.h"
#include "engine/base/Try.h"
#include "engine/cost/LinkSettings.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/shaped/ShapedGroup.h"
#include "engine/train/ComputeDevice.h"

namespace lockstep::rank {

using base::Result;
using process_group::Subgroups;

namespace {

// Numbers of groups in events, a byte each:
//
//     0 ..  63   the default group, or those that take turns for it (round robin)
//    64          of the outermost hook, all ranks;   65 ..  87   its subgroups
//    88          of the hook inside it;              89 .. 111   its subgroups
//    ...         five hooks at most stand inside one another (experiment rules)
//   184 .. 255   of each of these, in a run on GPUs, what is on the CPU (GroupOptions)
constexpr std::uint8_t kHookNumber = 64;
constexpr std::uint8_t kNumbersAHook = 24;

}  // namespace

std::chrono::milliseconds timeLimit(const experiment::Experiment& experiment) {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(experiment.processes.timeoutSeconds * 1000));
}

Groups::Groups(const experiment::Experiment& experiment,
               const train::TorchrunEnvironment& environment, std::shared_ptr<store::Store> store,
               trace::Tracer& tracer)
    : experiment_(experiment),
      environment_(environment),
      store_(std::move(store)),
      tracer_(tracer),
      backend_(train::backendFor(experiment.processes.backend, experiment.processes.device)),
      clock_(experiment.link.shapes() ? std::make_shared<process_group::LinkClock>() : nullptr) {}

process_group::GroupOptions Groups::options(std::string name, std::uint8_t number) const {
  process_group::GroupOptions options;
  options.groupName = std::move(name);
  options.groupNumber = number;
  options.timeout = timeLimit(experiment_);
  options.tracer = &tracer_;
  options.check = process_group::checkModeFrom(experiment_.processes.checked)
                      .value_or(process_group::CheckMode::kFirst);
  if (experiment_.processes.hosts > 0) {
    // Blocks of ranks, whose sizes differ by one at most.
    const std::int64_t hosts = std::min(experiment_.processes.hosts, environment_.worldSize);
    options.host = fmt::format("{}", environment_.rank * hosts / environment_.worldSize);
  }
  if (!experiment_.processes.interface.empty()) {
    options.interfaces = {experiment_.processes.interface};
  }
  return options;
}

process_group::GroupOptions Groups::silentOptions(std::string name, std::uint8_t number) const {
  // Its bytes are not the run's, and an event of it would stand before the first step among those
  // that the analyses count.
  auto silent = options(std::move(name), number);
  silent.tracer = nullptr;
  silent.check = process_group::CheckMode::kOff;
  return silent;
}

Result<Groups::Probe> Groups::probe() {
  auto made = LOCKSTEP_TRY(makeWorld(silentOptions("probe", 0)));
  Probe probe{timeAllreduces(*made), timeNextPeer(*made)};
  worlds_.pop_back();
  return probe;
}

Result<Groups::Group> Groups::makeDefault() {
  auto own = options("default", 0);
  own.roundRobin = experiment_.processes.roundRobin;
  return makeWorld(own);
}

Result<std::shared_ptr<Subgroups>> Groups::makeForHook(const plugin::HookChoice& hooks,
                                                       std::size_t depth) {
  const auto number = static_cast<std::uint8_t>(kHookNumber + depth * kNumbersAHook);
  // A hook may be inside one of its own kind.
  const auto own = options(fmt::format("hook '{}'{}", hooks[depth].id,
                                       depth == 0 ? "" : fmt::format(" (inner {})", depth)),
                           number);
  auto world = LOCKSTEP_TRY(makeWorld(own));
  return std::make_shared<Subgroups>(
      std::move(world), backend_, store_, own, static_cast<std::uint8_t>(number + 1),
      [this](Group group, std::uint8_t subgroup, const std::vector<int>& ranks) {
        return shaped(std::move(group), subgroup, ranks, &tracer_);
      });
}

Result<Groups::Group> Groups::makeWorld(const process_group::GroupOptions& own) {
  auto made = LOCKSTEP_TRY(process_group::makeProcessGroup(backend_, store_, environment_.rank,
                                                           environment_.worldSize, own));
  std::vector<int> all(static_cast<std::size_t>(environment_.worldSize));
  std::iota(all.begin(), all.end(), 0);
  auto group = shaped(std::move(made), own.groupNumber, all, own.tracer, own.roundRobin);
  if (group.ok()) {
    worlds_.push_back(group.value());
  }
  return group;
}

Result<Groups::Group> Groups::shaped(Group group, std::uint8_t number,
                                     const std::vector<int>& ranks, trace::Tracer* tracer,
                                     int turns) {
  if (clock_ == nullptr) {
    return group;
  }
  process_group::ShapedOptions options;
  options.link = cost::among(cost::linkOptions(experiment_.link), ranks);
  options.link.inFlight *= turns;  // groups that take turns wait each for its own alone
  // Measuring takes 50 ms or so. It is done for the first group alone: what that group's backend
  // could do, those after it can, being of the same backend on the same machines.
  options.simulateAnyway = experiment_.link.simulateAnyway || measured_;
  options.groupNumber = number;
  options.tracer = tracer;
  options.clock = clock_;
  if (!options.simulateAnyway) {
    options.measuredOn = LOCKSTEP_TRY(
        process_group::makeProcessGroup(backend_, store_, environment_.rank, environment_.worldSize,
                                        silentOptions("link", number)));
  }
  auto made = process_group::ShapedGroup::make(std::move(group), *store_, options);
  measured_ = measured_ || made.ok();
  return made;
}

void Groups::abort(const std::string& reason) {
  for (const Group& group : worlds_) {
    group->abort(reason);
  }
}

}  // namespace lockstep::rank
