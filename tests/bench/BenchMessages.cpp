// Times single calls between rank processes of one host; one rank, told by standard input what
// to run (RankProgram.h):
//
//   bench_messages BACKEND
//
//   go N message BYTES             send and recv back and forth between two ranks, half of a
//                                  round trip
//   go N sum TYPE                  allreduce of 25 MB of gradients, as "fp32", "fp16" or "bf16"
//   go N allreduce BYTES [placed]  sums of floats, one after the other; "placed": in memory that
//                                  the backend allocated
//   go N checked BYTES             the same with every call compared across the ranks first
//
// The first two answer {"step_ms": [...]}, the N times; the others {"calls": N, "total_ms": T},
// the time of the whole loop, as nccl-tests take it.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/Clock.h"
#include "tests/bench/RankProgram.h"

namespace lockstep::bench {
namespace {

using process_group::CheckMode;
using process_group::ProcessGroup;

constexpr std::int64_t kNumbers = (25 << 20) / 4;  // as many as in messages_peer.py

double millisecondsSince(std::int64_t startNs) {
  return static_cast<double>(base::monotonicNs() - startNs) * 1e-6;
}

nlohmann::json timesOf(
    int calls, double share, ProcessGroup& group, const std::function<void()>& call,
    const std::function<void()>& prepare = [] {}) {
  std::vector<double> times;
  group.barrier()->wait();
  for (int i = 0; i < calls; ++i) {
    prepare();
    const std::int64_t start = base::monotonicNs();
    call();
    times.push_back(share * millisecondsSince(start));
  }
  return {{"step_ms", times}};
}

nlohmann::json message(int calls, std::int64_t bytes, ProcessGroup& group) {
  const at::Tensor tensor = at::ones({bytes}, at::kByte);
  const int peer = 1 - group.rank();
  return timesOf(calls, 0.5, group, [&] {
    if (group.rank() == 0) {
      group.send(tensor, peer);
      group.recv(tensor, peer)->wait();
    } else {
      group.recv(tensor, peer)->wait();
      group.send(tensor, peer);
    }
  });
}

nlohmann::json sum(int calls, const std::string& type, ProcessGroup& group) {
  const auto dtype = type == "fp16" ? at::kHalf : type == "bf16" ? at::kBFloat16 : at::kFloat;
  const at::Tensor gradients = at::randn({kNumbers}).mul_(1e-3).to(dtype);
  const at::Tensor tensor = at::empty_like(gradients);
  return timesOf(
      calls, 1, group, [&] { group.allreduce({tensor})->wait(); },
      [&] { tensor.copy_(gradients); });
}

/// A first sum shows that the ranks add up what they should, and warms up; the timed ones are of
/// zeros, which stay zeros.
nlohmann::json allreduce(int calls, at::Tensor bytes, ProcessGroup& group) {
  const at::Tensor tensor = bytes.view(at::kFloat);
  tensor.fill_(group.rank() + 1);
  group.allreduce({tensor})->wait();
  const double expected = group.size() * (group.size() + 1) / 2.0;
  if (tensor.min().item<double>() != expected || tensor.max().item<double>() != expected) {
    throw std::runtime_error(fmt::format("{}: a sum over the ranks is between {} and {}, not {}",
                                         group.backendName(), tensor.min().item<double>(),
                                         tensor.max().item<double>(), expected));
  }
  tensor.zero_();
  group.barrier()->wait();
  const std::int64_t start = base::monotonicNs();
  for (int i = 0; i < calls; ++i) {
    group.allreduce({tensor})->wait();
  }
  return {{"calls", calls}, {"total_ms", millisecondsSince(start)}};
}

void run(const std::string& backend) {
  const Place place = placeFromEnvironment();
  const auto plain = meet(place, backend);
  std::shared_ptr<ProcessGroup> checked;
  takeTurns({}, [&](int calls, std::istringstream& words) -> nlohmann::json {
    std::string what, size, memory;
    words >> what >> size >> memory;
    if (what == "sum") {
      return sum(calls, size, *plain);
    }
    const std::int64_t bytes = std::stoll(size);
    if (what == "message") {
      return message(calls, bytes, *plain);
    }
    if (what == "checked") {
      if (checked == nullptr) {
        process_group::GroupOptions options;
        options.groupName = "checked";
        options.check = CheckMode::kAlways;
        checked = meet(place, backend, options);
      }
      return allreduce(calls, at::empty({bytes}, at::kByte), *checked);
    }
    if (what != "allreduce") {
      throw std::runtime_error("no such turn: " + what);
    }
    return allreduce(
        calls, memory == "placed" ? plain->allocate(bytes) : at::empty({bytes}, at::kByte), *plain);
  });
  plain->barrier()->wait();
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  return lockstep::bench::runRank("bench_messages", [&] {
    if (argc != 2) {
      throw std::runtime_error("usage: bench_messages BACKEND");
    }
    lockstep::bench::run(argv[1]);
  });
}
