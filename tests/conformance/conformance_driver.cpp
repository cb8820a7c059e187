// Lockstep's side of the comparisons with PyTorch.
//
// usage: conformance_driver training|differential|partition FOLDER
//
// FOLDER holds spec.json, an object with the number of ranks under "world", and what the kind of
// run reads; see TrainingRun.cpp, DifferentialRun.cpp and PartitionRun.cpp.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/HashStore.h"
#include "tests/conformance/Driver.h"

namespace {

namespace conformance = lockstep::conformance;
namespace process_group = lockstep::process_group;
using RunRank = void (*)(const conformance::Run&);

const std::map<std::string, RunRank> kKinds{{"training", conformance::runTraining},
                                            {"differential", conformance::runDifferential},
                                            {"partition", conformance::runPartition}};

/// One rank's part: its errors end the others', too.
void runRank(const std::filesystem::path& folder, const nlohmann::json& spec, int rank,
             const std::shared_ptr<lockstep::store::Store>& store, RunRank body) {
  process_group::GroupOptions options;
  options.timeout = std::chrono::seconds(30);
  options.interfaces = {"127.0.0.1"};
  auto group = process_group::makeProcessGroup("gloo", store, rank, spec.at("world"), options);
  if (!group.ok()) {
    throw std::runtime_error(group.error().message());
  }
  try {
    body({folder, spec, group.value()});
    group.value()->barrier()->wait();  // nobody leaves while others still receive
  } catch (const std::exception& error) {
    group.value()->abort(error.what());
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto kind = argc == 3 ? kKinds.find(argv[1]) : kKinds.end();
  if (kind == kKinds.end()) {
    std::cerr << "usage: conformance_driver training|differential|partition FOLDER\n";
    return 2;
  }
  at::set_num_threads(1);
  at::manual_seed(0);  // before any thread draws
  std::mutex mutex;
  bool failed = false;
  const auto report = [&](const std::string& who, const std::exception& error) {
    std::lock_guard lock(mutex);
    std::cerr << "conformance_driver: " << who << error.what() << '\n';
    failed = true;
  };
  try {
    const std::filesystem::path folder = argv[2];
    const auto spec = nlohmann::json::parse(std::ifstream(folder / "spec.json"));
    const auto store = std::make_shared<lockstep::store::HashStore>();
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < spec.at("world"); ++rank) {
      ranks.emplace_back([&, rank] {
        try {
          runRank(folder, spec, rank, store, kind->second);
        } catch (const std::exception& error) {
          report("rank " + std::to_string(rank) + ": ", error);
        }
      });
    }
    for (std::thread& thread : ranks) {
      thread.join();
    }
  } catch (const std::exception& error) {
    report("", error);
  }
  return failed ? 1 : 0;
}
