// What send and recv do when a peer, or this rank itself, breaks the group.

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <ctime>
#include <latch>
#include <thread>

#include "engine/process_group/gloo/Transport.h"
#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

double processorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(GlooBrokenPeer, EndsTheGroupWhenItSendsNonsense) {
  const auto store = std::make_shared<store::HashStore>();
  std::latch ended(2);
  support::runRanks(2, [&](int rank) {
    if (rank == 0) {
      auto made = makeProcessGroup("gloo", store, 0, 2, quickOptions());
      ASSERT_TRUE(made.ok()) << made.error().message();
      at::Tensor tensor = at::empty({1});
      const auto work = made.value()->recv(tensor, 1);
      EXPECT_THAT(textOf<CommError>([&] { work->wait(); }),
                  AllOf(HasSubstr("rank 1"), HasSubstr("a message that makes no sense")));
      ended.arrive_and_wait();
      return;
    }
    // A rank that speaks Gloo, and on the slot of control messages says what was never sent.
    auto transport = gloo::Transport::connect(store, {"default", 1, 2, 20s}, {});
    ASSERT_TRUE(transport.ok()) << transport.error().message();
    std::array<std::uint8_t, 512> message{};
    message.fill(0x77);
    const auto buffer =
        transport.value()->context(0)->createUnboundBuffer(message.data(), message.size());
    buffer->send(0, std::uint64_t{3} << 60, 0, message.size());
    ended.arrive_and_wait();
  });
}

TEST(GlooBrokenPeer, LeavesTheProcessorAloneAfterwards) {
  std::latch received(2);
  runGroup(2, [&](ProcessGroup& group) {
    at::Tensor got = at::empty({1});
    const auto receive = group.recv(got, 1 - group.rank());
    group.send(filled(1, 1), 1 - group.rank())->wait();
    receive->wait();
    received.arrive_and_wait();
    group.abort("a fault");
    EXPECT_THROW(group.recv(got, 1 - group.rank())->wait(), CommError);
    if (group.rank() == 0) {
      std::this_thread::sleep_for(1s);  // until the others have been told
      const double before = processorSeconds();
      std::this_thread::sleep_for(400ms);
      EXPECT_LT(processorSeconds() - before, 0.2);
    }
  });
}

TEST(GlooBrokenPeer, EndsASendThatIsAbortedAsItsDataArrives) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> arrived = false;
    runGroup(2, [&](ProcessGroup& group) {
      at::Tensor tensor = filled(1 << 18, 1);
      if (group.rank() == 1) {
        try {
          group.recv(tensor, 0)->wait();
        } catch (const CommError&) {
          // The abort came first.
        }
        arrived = true;
        return;
      }
      const auto work = group.send(tensor, 1);
      while (!arrived && !work->isCompleted()) {
      }
      work->abort();
      EXPECT_TRUE(work->future().waitFor(5s)) << "round " << round;
    });
  }
}

}  // namespace
}  // namespace lockstep::process_group
