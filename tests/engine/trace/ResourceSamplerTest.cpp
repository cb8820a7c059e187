#include "engine/trace/ResourceSampler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lockstep::trace {
namespace {

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

}  // namespace
}  // namespace lockstep::trace
