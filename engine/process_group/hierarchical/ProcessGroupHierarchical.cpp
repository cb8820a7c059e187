#include "engine/process_group/hierarchical/ProcessGroupHierarchical.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/base/Check.h"
#include "engine/process_group/Request.h"
#include "engine/process_group/gloo/ProcessGroupGloo.h"
#include "engine/process_group/hierarchical/Plans.h"
#include "engine/process_group/shared_memory/ProcessGroupSharedMemory.h"

namespace lockstep::process_group {

using hierarchical::HostMap;
using hierarchical::Level;
using hierarchical::Part;
using hierarchical::Pipeline;
using hierarchical::Plan;
using hierarchical::Plans;
using std::chrono::milliseconds;
using trace::Operation;

namespace {

constexpr const char* kHierarchicalName = "ProcessGroupHierarchical";

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
    base::Status made = add<ProcessGroupGloo>(level.flat, "flat", "", all, nullptr);
    for (const auto& [part, name] : {std::pair{&level.in, "in"}, std::pair{&level.out, "out"}}) {
      if (made.ok() && !alone) {
        made = add<ProcessGroupSharedMemory>(*part, fmt::format("host {}/{}", host, name),
                                             "within the host", here, nullptr);
      }
    }
    if (made.ok() && crosses) {
      // Only what crosses hosts counts as bytes on the wire.
      made = add<ProcessGroupGloo>(level.across, fmt::format("place {}", place), "across hosts",
                                   hosts_.atPlace(place), options_.tracer);
    }
    if (!made.ok()) {
      return made.error();
    }
    return level;
  }

 private:
  template <typename Group>
  base::Status add(Part& part, const std::string& name, const std::string& place,
                   std::vector<int> members, trace::Tracer* counter) {
    GroupOptions own = options_;
    own.groupName += "/" + name;
    // The hierarchical group records its operations itself, as one.
    own.tracer = nullptr;
    own.wireCounter = counter;
    own.check = CheckMode::kOff;
    own.roundRobin = 1;
    const auto self = std::find(members.begin(), members.end(), rank_);
    auto made = Group::make(store_, static_cast<int>(self - members.begin()),
                            static_cast<int>(members.size()), own);
    if (!made.ok()) {
      const base::Error& error = made.error();
      // In the numbers of the whole group, as any error of it.
      return base::Error{error.code, hierarchical::renumbered(error.message(), members), place};
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

}  // namespace

struct ProcessGroupHierarchical::Parts {
  // The pipeline aborts its parts in this order.
  Parts(HostMap map, Level made, int rank, const GroupOptions& options)
      : hosts(std::move(map)),
        pipeline(Member(rank, hosts.ranks(), options),
                 {&level.in, &level.out, &level.across, &level.flat}),
        level(std::move(made)),
        plans(level, hosts, rank, options.tracer) {}
  ~Parts() { pipeline.close(); }

  const HostMap hosts;
  Pipeline pipeline;  // its parts' threads call it, and end before it
  const Level level;
  const Plans plans;
};

base::Result<std::shared_ptr<ProcessGroupHierarchical>> ProcessGroupHierarchical::make(
    std::shared_ptr<store::Store> store, int rank, int size, const GroupOptions& options) {
  const auto cards =
      hierarchical::exchangeCards(*store, rank, size, options, hierarchical::ownCard(options));
  if (!cards.ok()) {
    return cards.error();
  }
  return make(std::move(store), rank, options, HostMap(cards.value()));
}

base::Result<std::shared_ptr<ProcessGroupHierarchical>> ProcessGroupHierarchical::make(
    std::shared_ptr<store::Store> store, int rank, const GroupOptions& options, HostMap hosts) {
  auto level = Maker(std::move(store), rank, options, hosts).make();
  if (!level.ok()) {
    return level.error();
  }
  const int size = hosts.ranks();
  auto parts = std::make_unique<Parts>(std::move(hosts), std::move(level).value(), rank, options);
  return std::shared_ptr<ProcessGroupHierarchical>(
      new ProcessGroupHierarchical(std::move(parts), rank, size, options));
}

ProcessGroupHierarchical::ProcessGroupHierarchical(std::unique_ptr<Parts> parts, int rank, int size,
                                                   const GroupOptions& options)
    : ProcessGroup(rank, size, options.groupName, kHierarchicalName, Devices::kCpu,
                   options.timeout),
      parts_(std::move(parts)) {}

ProcessGroupHierarchical::~ProcessGroupHierarchical() = default;

std::string ProcessGroupHierarchical::backendName() const {
  return fmt::format("hierarchical({} x shared_memory, gloo)", parts_->hosts.count());
}

at::Tensor ProcessGroupHierarchical::allocate(std::int64_t bytes) {
  return parts_->level.in.group != nullptr ? parts_->level.in->allocate(bytes)
                                           : ProcessGroup::allocate(bytes);
}

std::uint64_t ProcessGroupHierarchical::sequenceNumber() const {
  return parts_->pipeline.sequence();
}

void ProcessGroupHierarchical::abort(const std::string& reason) {
  parts_->pipeline.abort(reason);
}

GroupState ProcessGroupHierarchical::state() const {
  return parts_->pipeline.state();
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::start(Request request) {
  Plan plan = planOf(parts_->plans, request);
  const milliseconds limit = timeLimit(request.call.options, *this);
  return parts_->pipeline.submit(std::move(request.call), std::move(request.outputs), limit,
                                 std::move(plan));
}

}  // namespace lockstep::process_group
