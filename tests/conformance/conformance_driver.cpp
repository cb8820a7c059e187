// Lockstep's side of the comparisons with PyTorch.
//
// usage: conformance_driver training|differential|hooks|partition FOLDER [RANK]
//
// FOLDER holds spec.json, an object with the number of ranks under "world", and what the kind of
// run reads; see TrainingRun.cpp, DifferentialRun.cpp, HooksRun.cpp and PartitionRun.cpp. With
// RANK this process is one of them, and the others are processes like it, which meet in the file
// FOLDER/ranks; without, it has all of them as threads.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/FileStore.h"
#include "engine/store/HashStore.h"
#include "tests/conformance/Driver.h"

namespace {

namespace conformance = lockstep::conformance;
namespace process_group = lockstep::process_group;
using RunRank = void (*)(const conformance::Run&);

const std::map<std::string, RunRank> kKinds{{"training", conformance::runTraining},
                                            {"differential", conformance::runDifferential},
                                            {"hooks", conformance::runHooks},
                                            {"partition", conformance::runPartition}};

/// One rank's part: its errors end the others', too.
void runRank(const std::filesystem::path& folder, const nlohmann::json& spec, int rank,
             const std::shared_ptr<lockstep::store::Store>& store, RunRank body) {
  process_group::GroupOptions options;
  options.timeout = std::chrono::seconds(30);
  options.interfaces = {"127.0.0.1"};
  // On GPUs the ranks are processes of one host, and Gloo need not be there.
  const bool onGpu = spec.value("device", "cpu") != "cpu";
  auto group = process_group::makeProcessGroup(onGpu ? "cpu:shared_memory,cuda:nccl" : "gloo",
                                               store, rank, spec.at("world"), options);
  if (!group.ok()) {
    throw std::runtime_error(group.error().message());
  }
  try {
    body({folder, spec, group.value(), store, options});
    group.value()->barrier()->wait();  // nobody leaves while others still receive
  } catch (const std::exception& error) {
    group.value()->abort(error.what());
    throw;
  }
}

/// Runs some of the ranks, each on a thread of its own. Returns whether all went well.
bool runRanks(const std::filesystem::path& folder, const nlohmann::json& spec,
              const std::vector<int>& ranks, const std::shared_ptr<lockstep::store::Store>& store,
              RunRank body) {
  std::mutex mutex;
  bool well = true;
  std::vector<std::thread> threads;
  for (const int rank : ranks) {
    threads.emplace_back([&, rank] {
      try {
        runRank(folder, spec, rank, store, body);
      } catch (const std::exception& error) {
        std::lock_guard lock(mutex);
        std::cerr << "conformance_driver: rank " << rank << ": " << error.what() << '\n';
        well = false;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return well;
}

}  // namespace

int main(int argc, char** argv) {
  const auto kind = argc == 3 || argc == 4 ? kKinds.find(argv[1]) : kKinds.end();
  if (kind == kKinds.end()) {
    std::cerr << "usage: conformance_driver training|differential|hooks|partition FOLDER [RANK]\n";
    return 2;
  }
  at::set_num_threads(1);
  try {
    const std::filesystem::path folder = argv[2];
    const auto spec = nlohmann::json::parse(std::ifstream(folder / "spec.json"));
    const int world = spec.at("world");
    std::shared_ptr<lockstep::store::Store> store;
    std::vector<int> ranks;
    if (argc == 4) {
      store = std::make_shared<lockstep::store::FileStore>(
          lockstep::store::FileStoreOptions{folder / "ranks", world});
      ranks = {std::stoi(argv[3])};
    } else {
      store = std::make_shared<lockstep::store::HashStore>();
      ranks.resize(static_cast<std::size_t>(world));
      std::iota(ranks.begin(), ranks.end(), 0);
    }
    return runRanks(folder, spec, ranks, store, kind->second) ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "conformance_driver: " << error.what() << '\n';
    return 1;
  }
}
