#include "tests/support/RankThreads.h"

#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/base/Thread.h"

namespace lockstep::support {

void runRanks(int worldSize, const std::function<void(int rank)>& body) {
  std::mutex mutex;
  std::optional<RankFailure> first;
  const auto fail = [&](int rank, const std::string& text) {
    std::lock_guard lock(mutex);
    if (!first) {
      first.emplace(rank, "rank " + std::to_string(rank) + ": " + text, std::current_exception());
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < worldSize; ++rank) {
    threads.emplace_back([&, rank] {
      base::nameThisThread("rank " + std::to_string(rank));
      try {
        body(rank);
      } catch (const std::exception& error) {
        fail(rank, error.what());
      } catch (...) {
        fail(rank, "an exception that is no std::exception");
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  if (first) {
    throw *first;
  }
}

}  // namespace lockstep::support
