// A rank that is frozen in the middle of what the ranks do together.

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "engine/store/FileStore.h"
#include "tests/engine/process_group/GroupThreads.h"
#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::process_group {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

// Freezes this process as soon as it touches the tensor.
void freezeAtTheFirstByteOf(const at::Tensor& tensor) {
  struct sigaction action {};
  action.sa_handler = [](int) { raise(SIGSTOP); };
  sigaction(SIGSEGV, &action, nullptr);
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) + tensor.nbytes();
  if (mprotect(reinterpret_cast<void*>(begin), (end - begin) / page * page, PROT_NONE) != 0) {
    std::perror("mprotect");
  }
}

// Argument: store file. Rank 0 freezes in its first block; the other prints what it is told.
int reduceWithARankThatFreezes(const std::vector<std::string>& arguments) {
  const int rank = std::atoi(std::getenv("RANK"));
  store::FileStoreOptions file;
  file.path = arguments.at(0);
  file.worldSize = 2;
  auto made = makeProcessGroup("shared_memory", std::make_shared<store::FileStore>(file), rank, 2,
                               quickOptions(seconds(2)));
  if (!made.ok()) {
    std::printf("%s\n", made.error().message().c_str());
    return 3;
  }
  ProcessGroup& group = *made.value();
  const at::Tensor exposed = group.allocate(64 << 20).view(at::kFloat).fill_(1);
  group.barrier()->wait();
  if (rank == 0) {
    freezeAtTheFirstByteOf(exposed);
  }
  try {
    group.allreduce({exposed})->wait();
  } catch (const CommError& error) {
    std::printf("peer %d: %s\n", error.where().peer, error.what());
    return 4;
  }
  return 0;
}
const support::RegisterChildRole reducing("reduce-with-a-rank-that-freezes",
                                          reduceWithARankThatFreezes);

TEST(FrozenRank, IsNamedThoughItHasComeAndTakenABlockOfACommonReduction) {
  const support::TemporaryFolder folder;
  auto ranks = support::spawnSelfAsRanks(2, "reduce-with-a-rank-that-freezes",
                                         {(folder.path() / "store").string()});
  EXPECT_THAT(ranks[1].readLine(seconds(20)),
              AllOf(HasSubstr("peer 0: allreduce"),
                    HasSubstr("timed out after 2000 ms, waiting for rank 0, which came to it and "
                              "went no further")));
  EXPECT_EQ(ranks[1].wait(), (support::ExitStatus{false, 4, 0})) << ranks[1].errors();
  ranks[0].kill(SIGKILL);
}

}  // namespace
}  // namespace lockstep::process_group
