#include "engine/process_group/hierarchical/ProcessGroupHierarchical.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "engine/process_group/CallMaker.h"
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

namespace {

constexpr const char* kHierarchicalName = "ProcessGroupHierarchical";

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
    own.tracer = nullptr;
    own.wireCounter = counter;
    own.check = CheckMode::kOff;
    own.roundRobin = 1;
    const auto self = std::find(members.begin(), members.end(), rank_);
    auto made = Group::make(store_, static_cast<int>(self - members.begin()),
                            static_cast<int>(members.size()), own);
    if (!made.ok()) {
      const base::Error& error = made.error();
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
  Parts(HostMap map, Level made, int rank, const GroupOptions& options)
      : calls(kHierarchicalName, rank, map.ranks()),
        hosts(std::move(map)),
        pipeline({options.groupName, rank, options.tracer, options.groupNumber},
                 {&level.in, &level.out, &level.across, &level.flat}),
        level(std::move(made)),
        plans(level, hosts, rank, options.tracer) {}
  ~Parts() { pipeline.close(); }

  WorkPtr submit(Call call, std::vector<at::Tensor> outputs, milliseconds limit, Plan plan) {
    return pipeline.submit(std::move(call), std::move(outputs), limit, std::move(plan));
  }

  const CallMaker calls;
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
    : ProcessGroup(rank, size, options.groupName),
      timeout_(options.timeout),
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

void ProcessGroupHierarchical::setTimeout(milliseconds timeout) {
  if (timeout.count() <= 0) {
    throw std::invalid_argument(fmt::format("{}::setTimeout: timeout is {} ms; it must be positive",
                                            kHierarchicalName, timeout.count()));
  }
  timeout_.store(timeout);
}

void ProcessGroupHierarchical::abort(const std::string& reason) {
  parts_->pipeline.abort(reason);
}

GroupState ProcessGroupHierarchical::state() const {
  return parts_->pipeline.state();
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::broadcast(std::vector<at::Tensor> tensors, int root,
                                                          const CallOptions& options) {
  Call call = parts_->calls.broadcast(tensors, root, options);
  Plan plan = parts_->plans.broadcast(tensors, root);
  return parts_->submit(std::move(call), std::move(tensors), timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::allreduce(std::vector<at::Tensor> tensors,
                                                          ReduceOp op, const CallOptions& options) {
  Call call = parts_->calls.allreduce(tensors, op, options);
  Plan plan = parts_->plans.allreduce(tensors, op);
  return parts_->submit(std::move(call), std::move(tensors), timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::reduce(at::Tensor tensor, int root, ReduceOp op,
                                                       const CallOptions& options) {
  Call call = parts_->calls.reduce(tensor, root, op, options);
  Plan plan = parts_->plans.reduce(tensor, root, op);
  return parts_->submit(std::move(call), {std::move(tensor)}, timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::allgather(std::vector<at::Tensor> outputs,
                                                          at::Tensor input,
                                                          const CallOptions& options) {
  Call call = parts_->calls.allgather(outputs, input, options);
  Plan plan = parts_->plans.allgather(outputs, std::move(input));
  return parts_->submit(std::move(call), std::move(outputs), timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::gather(std::vector<at::Tensor> outputs,
                                                       at::Tensor input, int root,
                                                       const CallOptions& options) {
  Call call = parts_->calls.gather(outputs, input, root, options);
  Plan plan = parts_->plans.gather(call, outputs, std::move(input));
  return parts_->submit(std::move(call), std::move(outputs), timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::scatter(at::Tensor output,
                                                        std::vector<at::Tensor> inputs, int root,
                                                        const CallOptions& options) {
  Call call = parts_->calls.scatter(output, inputs, root, options);
  Plan plan = parts_->plans.scatter(call, output, std::move(inputs));
  return parts_->submit(std::move(call), {std::move(output)}, timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::reduceScatter(at::Tensor output,
                                                              std::vector<at::Tensor> inputs,
                                                              ReduceOp op,
                                                              const CallOptions& options) {
  Call call = parts_->calls.reduceScatter(output, inputs, op, options);
  Plan plan = parts_->plans.reduceScatter(output, std::move(inputs), op);
  return parts_->submit(std::move(call), {std::move(output)}, timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::alltoall(at::Tensor output, at::Tensor input,
                                                         std::vector<std::int64_t> outputSplits,
                                                         std::vector<std::int64_t> inputSplits,
                                                         const CallOptions& options) {
  Call call = parts_->calls.alltoall(output, input, outputSplits, inputSplits, options);
  Plan plan = parts_->plans.alltoall(call, output, std::move(input), std::move(outputSplits),
                                     std::move(inputSplits));
  return parts_->submit(std::move(call), {std::move(output)}, timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::send(at::Tensor tensor, int to, int tag,
                                                     const CallOptions& options) {
  Call call = parts_->calls.send(tensor, to, tag, options);
  Plan plan = parts_->plans.send(call, tensor, tag);
  return parts_->submit(std::move(call), {std::move(tensor)}, timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::recv(at::Tensor tensor, int from, int tag,
                                                     const CallOptions& options) {
  Call call = parts_->calls.recv(tensor, from, tag, options);
  Plan plan = parts_->plans.receive(call, tensor, tag);
  return parts_->submit(std::move(call), {std::move(tensor)}, timeLimit(options, *this),
                        std::move(plan));
}

ProcessGroup::WorkPtr ProcessGroupHierarchical::barrier(const CallOptions& options) {
  Call call = parts_->calls.barrier(options);
  return parts_->submit(std::move(call), {}, timeLimit(options, *this), parts_->plans.barrier());
}

}  // namespace lockstep::process_group
