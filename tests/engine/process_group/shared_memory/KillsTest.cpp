// Ranks as processes, of which a random one is killed at a random moment. LOCKSTEP_RANDOM_KILLS
// says how often, 4 times if it is not set; LOCKSTEP_RANDOM_SEED repeats a run.

#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <thread>

#include "engine/base/Clock.h"
#include "engine/store/FileStore.h"
#include "tests/engine/process_group/shared_memory/SharedRanks.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::process_group {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Arguments: store file, seed. Calls whatever there is, several at once, until an error comes;
// prints when, whom it blames and why, and ends with code 4.
int callAnything(const std::vector<std::string>& arguments) {
  at::set_num_threads(1);
  store::FileStoreOptions file;
  file.path = arguments.at(0);
  file.worldSize = numberFrom("WORLD_SIZE", 0);
  auto made = makeProcessGroup("shared_memory", std::make_shared<store::FileStore>(file),
                               numberFrom("RANK", 0), file.worldSize, quickOptions(seconds(60)));
  if (!made.ok()) {
    std::printf("%s\n", made.error().message().c_str());
    return 3;
  }
  ProcessGroup& group = *made.value();
  std::mt19937 random(static_cast<unsigned>(std::atoi(arguments.at(1).c_str())));
  const at::Tensor exposed = group.allocate(4 << 20).view(at::kFloat).fill_(0);
  group.barrier()->wait();
  std::printf("ready\n");
  std::fflush(stdout);
  try {
    for (;;) {
      std::vector<ProcessGroup::WorkPtr> works;
      std::vector<at::Tensor> kept;
      for (unsigned i = 0; i <= random() % 6; ++i) {
        const auto elements = static_cast<std::int64_t>(1) << random() % 20;
        kept.push_back(at::zeros({elements}));
        const int root = static_cast<int>(random() % static_cast<unsigned>(group.size()));
        switch (random() % 5) {
          case 0:
            works.push_back(group.allreduce({kept.back()}));
            break;
          case 1:
            works.push_back(group.allreduce({exposed}));
            break;
          case 2:
            works.push_back(group.broadcast({kept.back()}, root));
            break;
          case 3:
            works.push_back(group.barrier());
            break;
          default: {
            const int next = (group.rank() + 1) % group.size();
            const int before = (group.rank() + group.size() - 1) % group.size();
            works.push_back(group.send(kept.back(), next));
            works.push_back(group.recv(at::empty({elements}), before));
          }
        }
      }
      for (const auto& work : works) {
        work->wait();
      }
    }
  } catch (const CommError& error) {
    std::printf("%lld %d %s\n", static_cast<long long>(base::monotonicNs()), error.where().peer,
                error.what());
    return 4;
  }
}
const support::RegisterChildRole calling("call-anything", callAnything);

TEST(RandomKills, EndEveryOtherRankAtOnceByNameAndLeaveNothing) {
  const int kills = numberFrom("LOCKSTEP_RANDOM_KILLS", 4);
  std::mt19937 random(static_cast<unsigned>(numberFrom("LOCKSTEP_RANDOM_SEED", 20'240'607)));
  milliseconds longest{0};
  for (int kill = 0; kill < kills; ++kill) {
    const support::TemporaryFolder folder;
    const auto size = 2 + random() % 4;
    const auto victim = random() % size;
    auto ranks = support::spawnSelfAsRanks(
        static_cast<int>(size), "call-anything",
        {(folder.path() / "store").string(), std::to_string(random() % 1000)});
    for (auto& rank : ranks) {
      ASSERT_EQ(rank.readLine(), "ready") << rank.errors();
    }
    std::this_thread::sleep_for(milliseconds(random() % 60));
    const std::int64_t killed = base::monotonicNs();
    ranks[victim].kill(SIGKILL);
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (rank != victim) {
        std::istringstream line(ranks[rank].readLine(seconds(20)));
        std::int64_t noticed = 0;
        int blamed = -1;
        line >> noticed >> blamed;
        EXPECT_EQ(blamed, static_cast<int>(victim)) << "kill " << kill << ": " << line.str();
        longest = std::max(longest, milliseconds((noticed - killed) / 1'000'000));
        EXPECT_EQ(ranks[rank].wait(), (support::ExitStatus{false, 4, 0})) << ranks[rank].errors();
      }
    }
  }
  EXPECT_LT(longest, seconds(1));
  RecordProperty("longest_ms", std::to_string(longest.count()));
}

}  // namespace
}  // namespace lockstep::process_group
