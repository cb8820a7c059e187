#include "tests/engine/ddp/LoopbackGroup.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

namespace lockstep::ddp::test {
namespace {

process_group::GroupOptions quickOptions() {
  process_group::GroupOptions options;
  options.timeout = std::chrono::seconds(20);
  return options;
}

}  // namespace

LoopbackGroup::LoopbackGroup(std::shared_ptr<process_group::InProcessHub> hub, int rank)
    : InProcessGroup(std::move(hub), rank, quickOptions()) {}

LoopbackGroup::WorkPtr LoopbackGroup::start(process_group::Request request) {
  const process_group::Call& call = request.call;
  if (call.operation == trace::Operation::kBroadcast) {
    ++broadcasts_;
  } else if (call.operation == trace::Operation::kAllreduce) {
    reducedBuckets_.push_back(call.options.bucket);
  }
  return InProcessGroup::start(std::move(request));
}

at::Tensor LoopbackGroup::allocate(std::int64_t bytes) {
  allocatedBytes_ += bytes;
  return at::empty({bytes}, at::kByte);
}

std::vector<std::string> runRanks(int worldSize,
                                  const std::function<void(std::shared_ptr<LoopbackGroup>)>& body) {
  const auto hub = process_group::makeInProcessHub(worldSize);
  std::vector<std::string> errors(static_cast<std::size_t>(worldSize));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < worldSize; ++rank) {
    ranks.emplace_back([&, rank] {
      auto group = std::make_shared<LoopbackGroup>(hub, rank);
      try {
        body(group);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
        group->abort(fmt::format("rank {} failed", rank));
      }
    });
  }
  for (std::thread& thread : ranks) {
    thread.join();
  }
  return errors;
}

void runRanksWell(int worldSize, const std::function<void(std::shared_ptr<LoopbackGroup>)>& body) {
  const auto errors = runRanks(worldSize, body);
  for (std::size_t rank = 0; rank < errors.size(); ++rank) {
    EXPECT_EQ(errors[rank], "") << "on rank " << rank;
  }
}

}  // namespace lockstep::ddp::test
