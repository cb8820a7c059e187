#include "engine/base/FreedMemory.h"

#include <gtest/gtest.h>

// Sanitizers bring an allocator of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <vector>

namespace lockstep::base {
namespace {

constexpr std::size_t kBytes = 24 << 20;
constexpr long kPages = static_cast<long>(kBytes / 4096);

// Page faults of taking, filling and freeing a block.
long faultsOfABlock() {
  const auto faults = [] {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return use.ru_minflt;
  };
  const long before = faults();
  void* block = std::malloc(kBytes);
  std::memset(block, 1, kBytes);
  asm volatile("" : : "r"(block) : "memory");
  std::free(block);
  return faults() - before;
}

TEST(FreedMemory, OfSmallBlocksIsGivenBackToTheKernel) {
  const auto residentPages = [] {
    long pages = 0;
    long resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident;
  };
  std::vector<std::unique_ptr<char[]>> blocks;
  for (std::size_t bytes = 0; bytes < kBytes; bytes += 4'000) {
    blocks.push_back(std::make_unique<char[]>(4'000));
  }
  const auto last = std::make_unique<char[]>(4'000);  // what is after them keeps them here
  blocks.clear();
  const long before = residentPages();
  giveBackFreedMemory();
  EXPECT_LT(residentPages(), before - kPages / 2);
}

// Before the next: what that does lasts as long as the process.
TEST(FreedMemory, IsLeftAloneWhereTheEnvironmentSetsTheAllocatorUp) {
  setenv("MALLOC_TRIM_THRESHOLD_", "131072", 1);
  keepFreedMemory();
  unsetenv("MALLOC_TRIM_THRESHOLD_");
  faultsOfABlock();
  // Huge pages of the system make them fewer.
  EXPECT_GE(faultsOfABlock(), kPages / 512);
}

TEST(FreedMemory, ServesTheNextBlockWithoutAPageFault) {
  for (const char* name :
       {"GLIBC_TUNABLES", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_"}) {
    unsetenv(name);
  }
  keepFreedMemory();
  faultsOfABlock();
  EXPECT_LT(faultsOfABlock(), kPages / 512);
}

}  // namespace
}  // namespace lockstep::base

#endif
