// Times what small messages cost between two rank processes; one rank, told by standard input
// what to run, as tests/bench/bench.py does:
//
//   go N message BYTES   send and recv back and forth, half of a round trip
//   go N allreduce       of 4 KB
//   go N checked         the same with every call compared across the ranks first
//
// Each line is answered by {"step_ms": [...]}, the N times in milliseconds.

#include <ATen/ATen.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/TCPStore.h"

namespace lockstep {
namespace {

using process_group::CheckMode;
using process_group::ProcessGroup;
using process_group::ReduceOp;

int environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw std::runtime_error(std::string(name) + " is not set; tests/bench/run starts this");
  }
  return std::stoi(value);
}

std::shared_ptr<ProcessGroup> makeGroup(const std::shared_ptr<store::Store>& store, int rank,
                                        int size, CheckMode check) {
  process_group::GroupOptions options;
  options.groupName = std::string(process_group::name(check));
  options.check = check;
  auto made = process_group::makeProcessGroup("gloo", store, rank, size, options);
  if (!made.ok()) {
    throw std::runtime_error(made.error().message());
  }
  return std::move(made).value();
}

template <typename Function>
std::vector<double> millisecondsOf(int calls, double share, ProcessGroup& group,
                                   Function function) {
  std::vector<double> times;
  group.barrier()->wait();
  for (int call = 0; call < calls; ++call) {
    const std::int64_t start = base::monotonicNs();
    function();
    times.push_back(share * static_cast<double>(base::monotonicNs() - start) * 1e-6);
  }
  return times;
}

int run() {
  at::set_num_threads(1);
  const int rank = environment("RANK");
  const int size = environment("WORLD_SIZE");
  store::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(environment("MASTER_PORT"));
  options.isServer = rank == 0;
  const auto store = std::make_shared<store::TCPStore>("127.0.0.1", options);
  const auto plain = makeGroup(store, rank, size, CheckMode::kOff);
  const auto checked = makeGroup(store, rank, size, CheckMode::kAlways);
  std::cout << nlohmann::json{{"ready", true}}.dump() << std::endl;

  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string go, what;
    int calls = 0;
    std::int64_t bytes = 4096;
    words >> go >> calls >> what >> bytes;
    at::Tensor tensor = at::ones({bytes / 4});
    std::vector<double> times;
    if (what == "message") {
      const int peer = 1 - rank;
      times = millisecondsOf(calls, 0.5, *plain, [&] {
        if (rank == 0) {
          plain->send(tensor, peer);
          plain->recv(tensor, peer)->wait();
        } else {
          plain->recv(tensor, peer)->wait();
          plain->send(tensor, peer);
        }
      });
    } else {
      ProcessGroup& group = what == "checked" ? *checked : *plain;
      times = millisecondsOf(calls, 1, group,
                             [&] { group.allreduce({tensor}, ReduceOp::kMax)->wait(); });
    }
    std::cout << nlohmann::json{{"step_ms", times}}.dump() << std::endl;
  }
  plain->barrier()->wait();
  return 0;
}

}  // namespace
}  // namespace lockstep

int main() {
  try {
    return lockstep::run();
  } catch (const std::exception& error) {
    std::cerr << "bench_messages: " << error.what() << "\n";
    return 1;
  }
}
