// Times what single calls take between two rank processes; one rank, told by standard input
// what to run, as tests/bench/bench.py does:
//
//   go N message BYTES   send and recv back and forth, half of a round trip
//   go N allreduce       of 4 KB
//   go N checked         the same with every call compared across the ranks first
//   go N sum TYPE        allreduce of 25 MB of gradients, as "fp32", "fp16" or "bf16"
//
// Each line is answered by {"step_ms": [...]}, the N times in milliseconds.

#include <ATen/ATen.h>

#include <cstdlib>
#include <functional>
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

constexpr std::int64_t kNumbers = (25 << 20) / 4;  // as many as in messages_peer.py

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
std::vector<double> millisecondsOf(
    int calls, double share, ProcessGroup& group, Function function,
    const std::function<void()>& prepare = [] {}) {
  std::vector<double> times;
  group.barrier()->wait();
  for (int call = 0; call < calls; ++call) {
    prepare();
    const std::int64_t start = base::monotonicNs();
    function();
    times.push_back(share * static_cast<double>(base::monotonicNs() - start) * 1e-6);
  }
  return times;
}

at::ScalarType typeOf(const std::string& name) {
  return name == "fp16" ? at::kHalf : name == "bf16" ? at::kBFloat16 : at::kFloat;
}

std::vector<double> timesOfSums(int calls, at::ScalarType type, ProcessGroup& group) {
  const at::Tensor gradients = at::randn({kNumbers}).mul_(1e-3).to(type);
  const at::Tensor tensor = at::empty_like(gradients);
  return millisecondsOf(
      calls, 1, group, [&] { group.allreduce({tensor})->wait(); },
      [&] { tensor.copy_(gradients); });
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
    std::string go, what, rest;
    int calls = 0;
    words >> go >> calls >> what >> rest;
    const at::Tensor tensor = at::ones({what == "message" ? std::stoi(rest) / 4 : 1024});
    std::vector<double> times;
    if (what == "sum") {
      times = timesOfSums(calls, typeOf(rest), *plain);
    } else if (what == "message") {
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
