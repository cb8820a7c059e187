// The cases of the campaign "collectives" (collectives.py): random sequences of operations of
// rank threads over Gloo, each result compared with what one thread works out alone.
//
//   campaign_collectives SEED CASE...     prints "case N", and "failed TEXT" below a wrong one

#include <cstdio>
#include <exception>
#include <random>
#include <string>

#include <fmt/format.h>

#include "engine/process_group/Reduction.h"
#include "tests/engine/process_group/GroupThreads.h"

namespace {

using namespace lockstep::process_group;
using Random = std::mt19937_64;

constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kByte,
                                      at::kChar,  at::kShort,  at::kInt,  at::kLong,     at::kBool};

enum class Kind {
  kBroadcast,
  kAllreduce,
  kReduce,
  kAllgather,
  kGather,
  kScatter,
  kReduceScatter,
  kAlltoall,
  kPointToPoint,
  kBarrier,
};
constexpr const char* kNames[] = {"broadcast", "allreduce", "reduce",         "allgather",
                                  "gather",    "scatter",   "reduce_scatter", "alltoall",
                                  "send/recv", "barrier"};

/// One operation as every rank knows it.
struct Call {
  Kind kind;
  at::ScalarType dtype;
  ReduceOp op;
  int root;
  int world;
  std::vector<std::int64_t> elements;             ///< of each tensor of the call
  std::vector<std::vector<std::int64_t>> splits;  ///< alltoall: rows from rank to rank
  bool equalSplits;
  bool waitAtOnce;
  std::uint64_t seed;

  [[nodiscard]] std::string text() const {
    return fmt::format("{} of {} {}, {}, root {}, {} ranks, {} tensors of {}...",
                       kNames[static_cast<int>(kind)], c10::toString(dtype), name(op),
                       waitAtOnce ? "waited for" : "in flight", root, world, elements.size(),
                       elements.front());
  }
};

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

Call draw(Random& random, int world) {
  Call call;
  call.world = world;
  call.kind = static_cast<Kind>(between(random, 0, static_cast<int>(Kind::kBarrier)));
  call.root = static_cast<int>(between(random, 0, world - 1));
  do {
    call.dtype = kDtypes[between(random, 0, std::size(kDtypes) - 1)];
    call.op = static_cast<ReduceOp>(between(random, 0, static_cast<int>(ReduceOp::kBitwiseXor)));
  } while (!reduction::whyNot(call.dtype, call.op).empty());
  const std::int64_t most[] = {1, 40, 3000, 100'000};
  for (std::int64_t count = between(random, 1, 3); count > 0; --count) {
    call.elements.push_back(between(random, 1, most[between(random, 0, 3)]));
  }
  call.equalSplits = between(random, 0, 1) == 1;
  for (int from = 0; from < world; ++from) {
    auto& row = call.splits.emplace_back();
    for (int to = 0; to < world; ++to) {
      row.push_back(call.equalSplits ? call.elements[0] : between(random, 0, 50));
    }
  }
  call.waitAtOnce = between(random, 0, 1) == 1;
  call.seed = random();
  return call;
}

/// What a rank brings to a call. Small integers, so that every dtype holds every result exactly
/// and the order of a reduction cannot matter; multiples of the ranks where these divide.
at::Tensor brought(const Call& call, int rank, std::size_t part, std::int64_t elements) {
  Random random(call.seed + 1000 * static_cast<std::uint64_t>(rank) + part);
  const bool isUnsigned = call.dtype == at::kByte || call.dtype == at::kBool;
  const std::int64_t high = call.dtype == at::kBool ? 1 : 3;
  at::Tensor values = at::empty({elements}, at::kLong);
  auto* out = values.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < elements; ++i) {
    out[i] = between(random, isUnsigned ? 0 : -high, high) *
             (call.op == ReduceOp::kAverage ? call.world : 1);
  }
  return values.to(call.dtype);
}

/// The reduction of what all ranks bring, worked out one rank after the other.
at::Tensor reduced(const Call& call, std::size_t part, std::int64_t elements) {
  at::Tensor total = brought(call, 0, part, elements).to(at::kLong);
  for (int rank = 1; rank < call.world; ++rank) {
    const at::Tensor other = brought(call, rank, part, elements).to(at::kLong);
    switch (call.op) {
      case ReduceOp::kSum:
      case ReduceOp::kAverage:
        total = total + other;
        break;
      case ReduceOp::kProduct:
        total = total * other;
        break;
      case ReduceOp::kMin:
        total = at::minimum(total, other);
        break;
      case ReduceOp::kMax:
        total = at::maximum(total, other);
        break;
      case ReduceOp::kBitwiseAnd:
        total = at::bitwise_and(total, other);
        break;
      case ReduceOp::kBitwiseOr:
        total = at::bitwise_or(total, other);
        break;
      case ReduceOp::kBitwiseXor:
        total = at::bitwise_xor(total, other);
        break;
    }
  }
  if (call.op == ReduceOp::kAverage) {
    total = at::floor_divide(total, call.world);
  }
  return total.to(call.dtype);
}

/// A call under way on one rank: what came of it and what should have.
struct Pending {
  const Call* call;
  std::vector<ProcessGroup::WorkPtr> works;
  std::vector<at::Tensor> got;
  std::vector<at::Tensor> wanted;

  void check(int rank) const {
    for (const auto& work : works) {
      work->wait();
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!at::equal(got[i], wanted[i])) {
        throw std::runtime_error(
            fmt::format("{}: tensor {} differs on rank {}", call->text(), i, rank));
      }
    }
  }
};

/// A tensor that no result equals by chance.
at::Tensor blank(const Call& call, std::int64_t elements) {
  return at::full({elements}, call.dtype == at::kBool ? 1 : 77, call.dtype);
}

Pending start(ProcessGroup& group, const Call& call) {
  const int rank = group.rank();
  const std::int64_t elements = call.elements[0];
  const auto world = static_cast<std::size_t>(call.world);
  const bool isRoot = rank == call.root;
  Pending pending{&call, {}, {}, {}};
  std::vector<at::Tensor> inputs;
  switch (call.kind) {
    case Kind::kBroadcast:
    case Kind::kAllreduce:
      for (std::size_t part = 0; part < call.elements.size(); ++part) {
        const std::int64_t size = call.elements[part];
        pending.got.push_back(brought(call, rank, part, size));
        pending.wanted.push_back(call.kind == Kind::kBroadcast
                                     ? brought(call, call.root, part, size)
                                     : reduced(call, part, size));
      }
      pending.works = {call.kind == Kind::kBroadcast ? group.broadcast(pending.got, call.root)
                                                     : group.allreduce(pending.got, call.op)};
      break;
    case Kind::kReduce:
      pending.got = {brought(call, rank, 0, elements)};
      pending.wanted = {isRoot ? reduced(call, 0, elements) : pending.got[0].clone()};
      pending.works = {group.reduce(pending.got[0], call.root, call.op)};
      break;
    case Kind::kAllgather:
    case Kind::kGather:
      for (int from = 0; from < call.world && (isRoot || call.kind == Kind::kAllgather); ++from) {
        pending.got.push_back(blank(call, elements));
        pending.wanted.push_back(brought(call, from, 0, elements));
      }
      inputs = {brought(call, rank, 0, elements)};
      pending.works = {call.kind == Kind::kAllgather
                           ? group.allgather(pending.got, inputs[0])
                           : group.gather(pending.got, inputs[0], call.root)};
      break;
    case Kind::kScatter:
    case Kind::kReduceScatter:
      for (std::size_t to = 0; to < world && (isRoot || call.kind == Kind::kReduceScatter); ++to) {
        inputs.push_back(brought(call, rank, to, elements));
      }
      pending.got = {blank(call, elements)};
      pending.wanted = {call.kind == Kind::kScatter
                            ? brought(call, call.root, static_cast<std::size_t>(rank), elements)
                            : reduced(call, static_cast<std::size_t>(rank), elements)};
      pending.works = {call.kind == Kind::kScatter
                           ? group.scatter(pending.got[0], inputs, call.root)
                           : group.reduceScatter(pending.got[0], inputs, call.op)};
      break;
    case Kind::kAlltoall: {
      std::vector<std::int64_t> received;
      std::vector<at::Tensor> sent;
      std::vector<at::Tensor> wanted;
      std::int64_t rows = 0;
      for (std::size_t peer = 0; peer < world; ++peer) {
        const auto me = static_cast<std::size_t>(rank);
        sent.push_back(brought(call, rank, peer, call.splits[me][peer]));
        wanted.push_back(brought(call, static_cast<int>(peer), me, call.splits[peer][me]));
        received.push_back(call.splits[peer][me]);
        rows += received.back();
      }
      pending.got = {blank(call, rows)};
      pending.wanted = {at::cat(wanted)};
      pending.works = {call.equalSplits
                           ? group.alltoall(pending.got[0], at::cat(sent))
                           : group.alltoall(pending.got[0], at::cat(sent), received,
                                            call.splits[static_cast<std::size_t>(rank)])};
      break;
    }
    case Kind::kPointToPoint:
      if (call.world > 1) {
        const int next = (rank + 1) % call.world;
        const int previous = (rank + call.world - 1) % call.world;
        pending.got = {blank(call, elements)};
        pending.wanted = {brought(call, previous, 0, elements)};
        pending.works = {group.recv(pending.got[0], previous, call.root),
                         group.send(brought(call, rank, 0, elements), next, call.root)};
      }
      break;
    case Kind::kBarrier:
      pending.works = {group.barrier()};
      break;
  }
  return pending;
}

void runCase(std::uint64_t seed, std::uint64_t number) {
  std::seed_seq sequence{seed, number};
  Random random(sequence);
  const int world = static_cast<int>(between(random, 1, 4));
  std::vector<Call> calls;
  for (std::int64_t count = between(random, 1, 10); count > 0; --count) {
    calls.push_back(draw(random, world));
  }
  runGroup(world, [&](ProcessGroup& group) {
    std::vector<Pending> inFlight;
    for (const Call& call : calls) {
      inFlight.push_back(start(group, call));
      if (call.waitAtOnce) {
        inFlight.back().check(group.rank());
      }
    }
    for (const Pending& pending : inFlight) {
      pending.check(group.rank());
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "campaign_collectives SEED CASE...\n");
    return 2;
  }
  int failed = 0;
  for (int i = 2; i < argc; ++i) {
    std::printf("case %s\n", argv[i]);
    std::fflush(stdout);
    try {
      runCase(std::stoull(argv[1]), std::stoull(argv[i]));
    } catch (const std::exception& error) {
      std::printf("failed %s\n", error.what());
      ++failed;
    }
  }
  return failed == 0 ? 0 : 1;
}
