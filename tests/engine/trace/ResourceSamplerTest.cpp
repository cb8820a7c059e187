#include "engine/trace/ResourceSampler.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "engine/base/Clock.h"

namespace lockstep::trace {
namespace {

using namespace std::chrono_literals;

TEST(ResourceSampler, TakesNoSampleOfAProcessThatHasDiedAndWasNotWaitedFor) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) {
      pause();
    }
  }
  ResourceSampler sampler;
  EXPECT_FALSE(sampler.sample(child)) << "nothing to compare with yet";
  const auto living = sampler.sample(child);
  ASSERT_TRUE(living);
  EXPECT_GT(living->residentBytes, 0);
  kill(child, SIGKILL);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);  // it stays a zombie
  EXPECT_FALSE(sampler.sample(child)) << "no memory is not 0 bytes of it";
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(sampler.sample(child));
}

std::chrono::nanoseconds used(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Works until its thread has used so much more of the processor.
void use(std::chrono::milliseconds more) {
  const auto before = used(CLOCK_THREAD_CPUTIME_ID);
  while (used(CLOCK_THREAD_CPUTIME_ID) < before + more) {
  }
}

constexpr double kMs = 1e6;

TEST(ResourceSampler, TellsTheTimeOfTheMainThreadOfBackendsThreadsAndOfAll) {
  constexpr auto kWork = 60ms;
  std::array<int, 2> go{};
  std::array<int, 2> done{};
  ASSERT_EQ(pipe(go.data()), 0);
  ASSERT_EQ(pipe(done.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto turn = [&] {  // tells that a piece is done, and waits for the word to go on
      char byte = 0;
      (void)!write(done[1], &byte, 1);
      (void)!read(go[0], &byte, 1);
    };
    turn();
    std::thread backend([&] {
      pthread_setname_np(pthread_self(), "gloo_worker");
      use(kWork);
      std::this_thread::sleep_for(24h);
    });
    std::thread([&] { use(kWork); }).join();  // an ended thread's time is the process's
    use(kWork);
    clockid_t clock{};
    pthread_getcpuclockid(backend.native_handle(), &clock);
    while (used(clock) < kWork) {
      std::this_thread::yield();
    }
    turn();
    std::this_thread::sleep_for(24h);
  }
  char byte = 0;
  ResourceSampler sampler;
  ASSERT_EQ(read(done[0], &byte, 1), 1);
  const std::int64_t before = base::monotonicNs();
  EXPECT_FALSE(sampler.sample(child));
  ASSERT_EQ(write(go[1], &byte, 1), 1);
  ASSERT_EQ(read(done[0], &byte, 1), 1);
  const auto sample = sampler.sample(child);
  const double wallNs = static_cast<double>(base::monotonicNs() - before);
  ASSERT_TRUE(sample);
  const auto ms = [&](double percent) { return percent / 100 * wallNs / kMs; };
  EXPECT_GE(ms(sample->commThreadsPercent), 60);
  EXPECT_GE(ms(sample->stepThreadPercent), 60);
  EXPECT_GE(ms(sample->cpuPercent), 180) << "the thread that has ended, too";
  EXPECT_LT(ms(sample->commThreadsPercent), ms(sample->cpuPercent) - 100);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace lockstep::trace
