#include "tests/engine/process_group/SlowNetwork.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <latch>

#include "engine/base/posix/Connections.h"
#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {
namespace {

constexpr std::int64_t kManyElements = 2'000'000;
constexpr unsigned kBytesPerSecond = 5'000'000;

// The kernel lets a socket send no faster than it is told.
void slowDown(const posix::Connections& connections) {
  for (const auto& [inode, descriptor] : connections) {
    setsockopt(descriptor, SOL_SOCKET, SO_MAX_PACING_RATE, &kBytesPerSecond,
               sizeof kBytesPerSecond);
  }
}

}  // namespace

void expectSparedWhileBytesMove(const RunTwoRanks& run) {
  using std::chrono::steady_clock;
  const posix::Connections before = posix::openConnections();
  std::latch slow(2);
  steady_clock::duration took{};
  run([&](ProcessGroup& group) {
    if (group.rank() == 0) {
      slowDown(posix::openConnections(before));
    }
    slow.arrive_and_wait();
    at::Tensor tensor = filled(kManyElements, group.rank() == 0 ? 3 : 0);
    const auto begin = steady_clock::now();
    const auto work = group.broadcast({tensor}, 0);
    if (group.rank() == 1) {
      group.abort("enough");
    }
    EXPECT_NO_THROW(work->wait());
    if (group.rank() == 1) {
      took = steady_clock::now() - begin;
      EXPECT_TRUE(at::equal(tensor, filled(kManyElements, 3)));
    }
  });
  if (took < std::chrono::seconds(1) && !testing::Test::HasFailure()) {
    GTEST_SKIP() << "this kernel does not pace sockets";
  }
}

}  // namespace lockstep::process_group
