// Random collectives over shared memory and over Gloo: the results are the same, bit by bit.
// LOCKSTEP_RANDOM_COLLECTIVES says how many operations each of the groups does, 60 if it is not
// set; LOCKSTEP_RANDOM_SEED repeats a run.

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "engine/process_group/Reduction.h"
#include "engine/process_group/Subgroups.h"
#include "tests/engine/process_group/shared_memory/SharedRanks.h"

namespace lockstep::process_group {
namespace {

constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kByte,
                                      at::kChar,  at::kShort,  at::kInt,  at::kLong,     at::kBool};

/// What all ranks of a group call next. Drawn from a seed that they share.
struct Draw {
  enum What {
    kAllreduce,
    kBroadcast,
    kReduce,
    kAllgather,
    kGather,
    kScatter,
    kReduceScatter,
    kAlltoall,
    kBarrier,
    kSendAround,
    kCount
  };
  What what = kAllreduce;
  at::ScalarType dtype = at::kFloat;
  ReduceOp op = ReduceOp::kSum;
  std::int64_t elements = 0;
  int root = 0;
  bool exposed = false;
  unsigned seed = 0;
};

template <typename Random>
Draw draw(Random& random, int ranks, std::int64_t mostBytes) {
  Draw next;
  next.what = static_cast<Draw::What>(random() % Draw::kCount);
  next.dtype = kDtypes[random() % std::size(kDtypes)];
  do {
    next.op = static_cast<ReduceOp>(random() % 8);
  } while (!reduction::whyNot(next.dtype, next.op).empty());
  const bool many = next.what == Draw::kAllgather || next.what == Draw::kGather ||
                    next.what == Draw::kScatter || next.what == Draw::kReduceScatter;
  const std::int64_t most =
      mostBytes / static_cast<std::int64_t>(c10::elementSize(next.dtype)) / (many ? ranks : 1);
  // As many small ones as large ones.
  const double share =
      std::pow(static_cast<double>(most), static_cast<double>(random() % 1000) / 999);
  next.elements = random() % 10 == 0 ? 0 : static_cast<std::int64_t>(share);
  next.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
  next.exposed = random() % 2 == 0;
  next.seed = static_cast<unsigned>(random());
  return next;
}

at::Tensor memory(ProcessGroup& group, const Draw& next, std::int64_t elements) {
  const auto size = static_cast<std::int64_t>(c10::elementSize(next.dtype));
  return next.exposed ? group.allocate(elements * size).view(next.dtype)
                      : at::empty({elements}, next.dtype);
}

/// Small whole numbers, different on each rank.
at::Tensor input(ProcessGroup& group, const Draw& next, std::int64_t elements) {
  at::Generator generator = at::detail::createCPUGenerator(next.seed * 64 + group.rank());
  const at::Tensor numbers = at::randint(next.dtype == at::kBool ? 2 : 5, {elements}, generator);
  at::Tensor tensor = memory(group, next, elements);
  return tensor.copy_(numbers);
}

/// One operation in flight, and all that it writes.
struct Flight {
  ProcessGroup::WorkPtr work;
  ProcessGroup::WorkPtr other;
  std::vector<at::Tensor> results;
};

Flight start(ProcessGroup& group, const Draw& next) {
  const int ranks = group.size();
  const auto list = [&](bool filledIn) {
    std::vector<at::Tensor> tensors;
    for (int rank = 0; rank < ranks; ++rank) {
      tensors.push_back(filledIn ? input(group, next, next.elements)
                                 : memory(group, next, next.elements).zero_());
    }
    return tensors;
  };
  Flight flight;
  at::Tensor tensor = input(group, next, next.elements);
  const bool atRoot = group.rank() == next.root;
  switch (next.what) {
    case Draw::kAllreduce:
      flight.results = {tensor};
      flight.work = group.allreduce({tensor}, next.op);
      break;
    case Draw::kBroadcast:
      flight.results = {tensor, input(group, next, 3)};
      flight.work = group.broadcast(flight.results, next.root);
      break;
    case Draw::kReduce:
      flight.results = {tensor};
      flight.work = group.reduce(tensor, next.root, next.op);
      break;
    case Draw::kAllgather:
      flight.results = list(false);
      flight.work = group.allgather(flight.results, tensor);
      break;
    case Draw::kGather:
      flight.results = atRoot ? list(false) : std::vector<at::Tensor>{};
      flight.work = group.gather(flight.results, tensor, next.root);
      break;
    case Draw::kScatter:
      flight.results = {tensor};
      flight.work =
          group.scatter(tensor, atRoot ? list(true) : std::vector<at::Tensor>{}, next.root);
      break;
    case Draw::kReduceScatter:
      flight.results = {tensor};
      flight.work = group.reduceScatter(tensor, list(true), next.op);
      break;
    case Draw::kAlltoall: {
      const std::int64_t rows = next.elements / ranks * ranks;
      flight.results = {memory(group, next, rows).zero_()};
      flight.work = group.alltoall(flight.results[0], input(group, next, rows));
      break;
    }
    case Draw::kBarrier:
      flight.work = group.barrier();
      break;
    default:
      if (ranks > 1) {
        flight.results = {memory(group, next, next.elements).zero_()};
        flight.other = group.recv(flight.results[0], (group.rank() + ranks - 1) % ranks);
        flight.work = group.send(tensor, (group.rank() + 1) % ranks);
      }
  }
  return flight;
}

std::vector<at::Tensor> finish(Flight& flight, unsigned how) {
  if (flight.work != nullptr) {
    if (how % 3 == 0) {
      EXPECT_TRUE(flight.work->future().waitFor(std::chrono::seconds(60)));
    } else if (how % 3 == 1) {
      for (int i = 0; i < 3 && !flight.work->isCompleted(); ++i) {
      }
    }
    flight.work->wait();
  }
  if (flight.other != nullptr) {
    flight.other->wait();
  }
  return flight.results;
}

class RandomCollectives : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RandomCollectives, testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(RandomCollectives, GiveTheResultsOfGloo) {
  const int operations = numberFrom("LOCKSTEP_RANDOM_COLLECTIVES", 60);
  const int seed = numberFrom("LOCKSTEP_RANDOM_SEED", 20'240'607);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const auto store = std::make_shared<store::HashStore>();
  support::runRanks(GetParam(), [&](int rank) {
    std::mt19937 random(static_cast<unsigned>(seed + GetParam()));
    struct Pair {
      std::shared_ptr<ProcessGroup> ours;
      std::shared_ptr<ProcessGroup> peers;
    };
    std::vector<Pair> pairs;  // of all ranks, and of those but the first
    std::map<std::string, std::shared_ptr<ProcessGroup>> worlds;
    for (const char* backend : {"shared_memory", "gloo"}) {
      GroupOptions options = quickOptions(std::chrono::seconds(120));
      options.groupName = backend;
      auto made = makeProcessGroup(backend, store, rank, GetParam(), options);
      ASSERT_TRUE(made.ok()) << made.error().message();
      worlds[backend] = std::move(made).value();
    }
    pairs.push_back({worlds["shared_memory"], worlds["gloo"]});
    if (GetParam() > 2 && rank > 0) {
      Pair sub;
      for (const auto& [backend, group] :
           {std::pair{"shared_memory", &sub.ours}, std::pair{"gloo", &sub.peers}}) {
        GroupOptions options = quickOptions(std::chrono::seconds(120));
        options.groupName = std::string(backend) + "/sub";
        auto made = makeProcessGroup(backend, store, rank - 1, GetParam() - 1, options);
        ASSERT_TRUE(made.ok()) << made.error().message();
        *group = std::move(made).value();
      }
      pairs.push_back(sub);
    }
    for (int done = 0; done < operations;) {
      const int together = 1 + static_cast<int>(random() % 12);
      const bool inSub = GetParam() > 2 && random() % 4 == 0;
      std::vector<Draw> draws;
      std::vector<unsigned> hows;
      for (int i = 0; i < together; ++i) {
        draws.push_back(draw(random, GetParam() - (inSub ? 1 : 0), 8 << 20));
        hows.push_back(static_cast<unsigned>(random()));
      }
      done += together;
      if (inSub && rank == 0) {
        continue;
      }
      const Pair& pair = pairs[inSub ? 1 : 0];
      std::vector<Flight> flights;
      for (const Draw& next : draws) {
        flights.push_back(start(*pair.ours, next));
      }
      std::vector<std::vector<at::Tensor>> ours;
      for (std::size_t i = 0; i < flights.size(); ++i) {
        ours.push_back(finish(flights[i], hows[i]));
      }
      for (std::size_t i = 0; i < draws.size(); ++i) {
        Draw plain = draws[i];
        plain.exposed = false;
        Flight flight = start(*pair.peers, plain);
        const std::vector<at::Tensor> expected = finish(flight, 2);
        ASSERT_EQ(ours[i].size(), expected.size());
        for (std::size_t t = 0; t < expected.size(); ++t) {
          ASSERT_TRUE(at::equal(ours[i][t], expected[t]))
              << "operation " << draws[i].what << " of " << draws[i].elements << " "
              << draws[i].dtype << ", " << name(draws[i].op) << ", root " << draws[i].root
              << (draws[i].exposed ? ", exposed" : "");
        }
      }
    }
  });
}

}  // namespace
}  // namespace lockstep::process_group
