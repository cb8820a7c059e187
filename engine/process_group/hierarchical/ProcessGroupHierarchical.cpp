#include "engine/process_group/hierarchical/ProcessGroupHierarchical.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/base/Check.h"
#include "engine/base/Try.h"
#include "engine/process_group/gloo/ProcessGroupGloo.h"
#include "engine/process_group/hierarchical/Pipeline.h"
#include "engine/process_group/hierarchical/Plans.h"
#include "engine/process_group/operation/BackendGroup.h"
#include "engine/process_group/shared_memory/ProcessGroupSharedMemory.h"

namespace lockstep::process_group {
namespace hierarchical {
namespace {

using trace::Operation;

Plan planOf(const Plans& plans, const Request& request) {
  const Call& call = request.call;
  const std::vector<at::Tensor>& outputs = request.outputs;
  const std::vector<at::Tensor>& inputs = request.inputs;
  switch (call.operation) {
    case Operation::kBroadcast: return plans.broadcast(outputs, call.root);
    case Operation::kAllreduce: return plans.allreduce(outputs, call.reduce);
    case Operation::kReduce: return plans.reduce(outputs.front(), call.root, call.reduce);
    case Operation::kAllgather: return plans.allgather(outputs, inputs.front());
    case Operation::kGather: return plans.gather(call, outputs, inputs.front());
    case Operation::kScatter: return plans.scatter(call, outputs.front(), inputs);
    case Operation::kReduceScatter:
      return plans.reduceScatter(outputs.front(), inputs, call.reduce);
    case Operation::kAlltoall:
      return plans.alltoall(call, outputs.front(), inputs.front(), request.outputSplits,
                            request.inputSplits);
    case Operation::kSend: return plans.send(call, outputs.front(), request.tag);
    case Operation::kRecv: return plans.receive(call, outputs.front(), request.tag);
    case Operation::kBarrier: return plans.barrier();
    default: LOCKSTEP_CHECK(false, "hierarchical has no {}", trace::name(call.operation));
  }
}

// Makes the parts of one rank, all ranks in the same order.
class Maker {
 public:
  Maker(std::shared_ptr<store::Store> store, int rank, const GroupOptions& options,
        const HostMap& hosts)
      : store_(std::move(store)), rank_(rank), options_(options), hosts_(hosts) {}

  base::Result<Level> make() {
    Level level;
    std::vector<int> all(static_cast<std::size_t>(hosts_.ranks()));
    std::iota(all.begin(), all.end(), 0);
    const int host = hosts_.hostOf(rank_);
    const int place = hosts_.placeOf(rank_);
    const std::vector<int>& here = hosts_.members(host);
    // A level that no rank has anything to do in is not made: with one rank a host, nothing is
    // within.
    const bool alone = here.size() == 1 && hosts_.even() && hosts_.count() > 1;
    const bool crosses = hosts_.count() > 1 && (hosts_.even() || place == 0);
    base::Status made = add(makeGloo, level.flat, "flat", "", all, nullptr);
    for (const auto& [part, name] : {std::pair{&level.in, "in"}, std::pair{&level.out, "out"}}) {
      if (made.ok() && !alone) {
        made = add(makeSharedMemory, *part, fmt::format("host {}/{}", host, name),
                   "within the host", here, nullptr);
      }
    }
    if (made.ok() && crosses) {
      made = add(makeGloo, level.across, fmt::format("place {}", place), "across hosts",
                 hosts_.atPlace(place), options_.tracer);
    }
    if (!made.ok()) {
      return made.error();
    }
    return level;
  }

 private:
  base::Status add(const BackendFactory& make, Part& part, const std::string& name,
                   const std::string& place, std::vector<int> members, trace::Tracer* counter) {
    GroupOptions own = options_;
    own.groupName += "/" + name;
    // The hierarchical group records its operations itself, as one.
    own.tracer = nullptr;
    own.wireCounter = counter;
    own.check = CheckMode::kOff;
    own.roundRobin = 1;
    const auto self = std::find(members.begin(), members.end(), rank_);
    auto made = make(store_, static_cast<int>(self - members.begin()),
                     static_cast<int>(members.size()), own);
    if (!made.ok()) {
      const base::Error& error = made.error();
      return base::Error{error.code, renumbered(error.message(), members), place};
    }
    part.group = std::move(made).value();
    part.members = std::move(members);
    part.place = place;
    return {};
  }

  const std::shared_ptr<store::Store> store_;
  const int rank_;
  const GroupOptions& options_;
  const HostMap& hosts_;
};

// The pipeline's parts' threads call it, and end before it does.
struct Parts {
  Parts(HostMap map, Level made, int rank, const GroupOptions& options)
      : hosts(std::move(map)),
        pipeline(Member(rank, hosts.ranks(), options),
                 {&level.in, &level.out, &level.across, &level.flat}),
        level(std::move(made)),
        plans(level, hosts, rank, options.tracer) {}
  ~Parts() { pipeline.close(); }

  const HostMap hosts;
  Pipeline pipeline;
  const Level level;
  const Plans plans;
};

class ProcessGroupHierarchical final : public BackendGroup<Pipeline> {
 public:
  ProcessGroupHierarchical(const std::shared_ptr<Parts>& parts, const GroupOptions& options)
      : BackendGroup(std::shared_ptr<Pipeline>(parts, &parts->pipeline),
                     fmt::format("hierarchical({} x shared_memory, gloo)", parts->hosts.count()),
                     "ProcessGroupHierarchical", options),
        parts_(parts) {}

  at::Tensor allocate(std::int64_t bytes) override {
    const Part& in = parts_->level.in;
    return in.group != nullptr ? in->allocate(bytes) : ProcessGroup::allocate(bytes);
  }

 protected:
  WorkPtr start(Request request) override {
    Plan plan = planOf(parts_->plans, request);
    const auto limit = limitOf(request);
    return calls_->submit(std::move(request.call), std::move(request.outputs), limit,
                          std::move(plan));
  }

 private:
  const std::shared_ptr<Parts> parts_;
};

}  // namespace
}  // namespace hierarchical

base::Result<std::shared_ptr<ProcessGroup>> makeHierarchical(std::shared_ptr<store::Store> store,
                                                             int rank, int size,
                                                             const GroupOptions& options) {
  const auto cards = LOCKSTEP_TRY(
      hierarchical::exchangeCards(*store, rank, size, options, hierarchical::ownCard(options)));
  return makeHierarchicalOver(std::move(store), rank, options, hierarchical::HostMap(cards));
}

base::Result<std::shared_ptr<ProcessGroup>> makeHierarchicalOver(
    std::shared_ptr<store::Store> store, int rank, const GroupOptions& options,
    hierarchical::HostMap hosts) {
  auto level = LOCKSTEP_TRY(hierarchical::Maker(std::move(store), rank, options, hosts).make());
  const auto parts =
      std::make_shared<hierarchical::Parts>(std::move(hosts), std::move(level), rank, options);
  return std::shared_ptr<ProcessGroup>(
      std::make_shared<hierarchical::ProcessGroupHierarchical>(parts, options));
}

}  // namespace lockstep::process_group
