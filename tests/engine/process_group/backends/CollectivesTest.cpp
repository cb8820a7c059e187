// What every collective computes and moves, over one to four ranks of each backend.

#include <gmock/gmock.h>

#include "tests/engine/process_group/Backends.h"

namespace lockstep::process_group {
namespace {

using Collectives = BackendRanksTest;
LOCKSTEP_OVER_BACKENDS_AND_RANKS(Collectives, 1, 2, 3, 4);
LOCKSTEP_AND_IN_PROCESS(Collectives, 1, 2, 3, 4);

// 1 + 2 + ... + n
double sumOfRanks(const ProcessGroup& group) { return group.size() * (group.size() + 1) / 2.0; }

TEST_P(Collectives, BroadcastBringsTheRootsTensorsToAll) {
  runGroup(ranks(), [](ProcessGroup& group) {
    for (int root = 0; root < group.size(); ++root) {
      // Different dtypes and an empty tensor in one call.
      std::vector<at::Tensor> tensors = {filled(1000, group.rank()),
                                         at::full({7}, group.rank(), at::kLong), at::ones({0})};
      group.broadcast(tensors, root)->wait();
      EXPECT_TRUE(at::equal(tensors[0], filled(1000, root)));
      EXPECT_TRUE(at::equal(tensors[1], at::full({7}, root, at::kLong)));
    }
  });
}

// Sizes round the borders of the algorithms. Gloo: whole blocks up to 512 KB received, then pieces
// in segments of 2 MB with eight in flight. Shared memory: on the board, then in chunks.
TEST_P(Collectives, AllreduceSumsAtEverySize) {
  runGroup(ranks(), [](ProcessGroup& group) {
    for (const std::int64_t elements :
         {0, 1, 2, 3, 100, 65'537, 131'072, 131'073, 1'000'003, 10'000'001}) {
      at::Tensor tensor = at::arange(elements, at::kFloat).remainder(1000) + group.rank();
      group.allreduce({tensor})->wait();
      const double ranks = group.size() * (group.size() - 1) / 2.0;
      const at::Tensor expected =
          at::arange(elements, at::kFloat).remainder(1000) * group.size() + ranks;
      EXPECT_TRUE(at::equal(tensor, expected)) << elements << " elements";
    }
  });
}

TEST_P(Collectives, AllreduceTakesSeveralTensorsAsOne) {
  runGroup(ranks(), [](ProcessGroup& group) {
    std::vector<at::Tensor> tensors = {filled(10, group.rank() + 1), at::ones({2, 3}),
                                       at::ones({0}), filled(100'000, 2)};
    const auto work = group.allreduce(tensors);
    work->wait();
    EXPECT_TRUE(at::equal(tensors[0], filled(10, sumOfRanks(group))));
    EXPECT_TRUE(at::equal(tensors[1], at::ones({2, 3}) * group.size()));
    EXPECT_TRUE(at::equal(tensors[3], filled(100'000, 2.0 * group.size())));
    EXPECT_EQ(work->result().size(), 4u);
    EXPECT_TRUE(work->result()[1].is_same(tensors[1]));
  });
}

TEST_P(Collectives, AllreduceGivesAllRanksTheSameBits) {
  constexpr std::int64_t kElements = 300'000;
  std::vector<at::Tensor> results(static_cast<std::size_t>(ranks()));
  std::vector<at::Tensor> inputs(static_cast<std::size_t>(ranks()));
  at::manual_seed(3);
  for (at::Tensor& input : inputs) {
    input = at::randn({kElements});
  }
  runGroup(ranks(), [&](ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    results[rank] = inputs[rank].clone();
    group.allreduce({results[rank]})->wait();
    // A part of it, reduced by the other algorithm, has the same bits.
    at::Tensor part = inputs[rank].narrow(0, 1'001, 500).clone();
    group.allreduce({part})->wait();
    EXPECT_TRUE(at::equal(part, results[rank].narrow(0, 1'001, 500)));
  });
  at::Tensor inRankOrder = inputs[0].clone();
  for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
    inRankOrder += inputs[rank];
  }
  for (const at::Tensor& result : results) {
    EXPECT_TRUE(at::equal(result, inRankOrder));
  }
}

TEST_P(Collectives, ReduceFillsTheRootAndLeavesTheOthersAlone) {
  runGroup(ranks(), [](ProcessGroup& group) {
    for (const std::int64_t elements : {5, 500'003}) {
      for (int root = 0; root < group.size(); ++root) {
        at::Tensor tensor = filled(elements, group.rank() + 1);
        group.reduce(tensor, root)->wait();
        const double expected = group.rank() == root ? sumOfRanks(group) : group.rank() + 1;
        EXPECT_TRUE(at::equal(tensor, filled(elements, expected)));
      }
    }
  });
}

TEST_P(Collectives, AllgatherCollectsEveryRanksInput) {
  runGroup(ranks(), [](ProcessGroup& group) {
    for (const std::int64_t elements : {1, 300'000}) {
      std::vector<at::Tensor> outputs;
      for (int rank = 0; rank < group.size(); ++rank) {
        outputs.push_back(at::empty({elements}));
      }
      group.allgather(outputs, filled(elements, group.rank()))->wait();
      for (int rank = 0; rank < group.size(); ++rank) {
        EXPECT_TRUE(at::equal(outputs[static_cast<std::size_t>(rank)], filled(elements, rank)));
      }
    }
  });
}

TEST_P(Collectives, GatherAndScatterAreEachOthersReverse) {
  runGroup(ranks(), [](ProcessGroup& group) {
    for (int root = 0; root < group.size(); ++root) {
      std::vector<at::Tensor> parts;
      if (group.rank() == root) {
        for (int rank = 0; rank < group.size(); ++rank) {
          parts.push_back(at::empty({100}));
        }
      }
      group.gather(parts, filled(100, group.rank() * 10), root)->wait();
      for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        EXPECT_TRUE(at::equal(parts[rank], filled(100, static_cast<double>(rank) * 10)));
        parts[rank] += 1;
      }
      at::Tensor back = at::empty({100});
      group.scatter(back, parts, root)->wait();
      EXPECT_TRUE(at::equal(back, filled(100, group.rank() * 10 + 1)));
    }
  });
}

TEST_P(Collectives, ReduceScatterLeavesEachRankItsPiece) {
  runGroup(ranks(), [](ProcessGroup& group) {
    for (const std::int64_t elements : {3, 700'001}) {
      std::vector<at::Tensor> inputs;
      for (int rank = 0; rank < group.size(); ++rank) {
        inputs.push_back(filled(elements, 10 * rank + group.rank() + 1));
      }
      at::Tensor output = at::empty({elements});
      group.reduceScatter(output, inputs)->wait();
      const double expected = 10.0 * group.rank() * group.size() + sumOfRanks(group);
      EXPECT_TRUE(at::equal(output, filled(elements, expected)));
      group.reduceScatter(output, inputs, ReduceOp::kMax)->wait();
      EXPECT_TRUE(at::equal(output, filled(elements, 10.0 * group.rank() + group.size())));
    }
  });
}

TEST_P(Collectives, AlltoallSwapsEqualParts) {
  runGroup(ranks(), [](ProcessGroup& group) {
    // Two rows for each rank; the value says from whom to whom.
    at::Tensor input = at::empty({2 * group.size(), 3});
    at::Tensor expected = at::empty_like(input);
    for (int other = 0; other < group.size(); ++other) {
      input.narrow(0, 2 * other, 2).fill_(group.rank() * 100 + other);
      expected.narrow(0, 2 * other, 2).fill_(other * 100 + group.rank());
    }
    at::Tensor output = at::empty_like(input);
    group.alltoall(output, input)->wait();
    EXPECT_TRUE(at::equal(output, expected));
  });
}

TEST_P(Collectives, AlltoallSwapsUnevenPartsNoneAmongThem) {
  runGroup(ranks(), [](ProcessGroup& group) {
    // Rank r sends r + s rows to rank s, so rank 0 keeps none for itself.
    std::vector<std::int64_t> splits;
    std::vector<at::Tensor> sent;
    std::vector<at::Tensor> wanted;
    for (int other = 0; other < group.size(); ++other) {
      const std::int64_t rows = group.rank() + other;
      splits.push_back(rows);
      sent.push_back(at::full({rows, 5}, group.rank() * 100 + other, at::kInt));
      wanted.push_back(at::full({rows, 5}, other * 100 + group.rank(), at::kInt));
    }
    const at::Tensor input = at::cat(sent);
    at::Tensor output = at::empty_like(input);
    group.alltoall(output, input, splits, splits)->wait();
    EXPECT_TRUE(at::equal(output, at::cat(wanted)));
  });
}

TEST_P(Collectives, FlattenAndRefillTensorsThatAreNotContiguous) {
  runGroup(ranks(), [](ProcessGroup& group) {
    const auto strided = [&](double value) { return at::full({4, 6}, value).t(); };
    const at::Tensor sum = at::full({6, 4}, sumOfRanks(group));

    at::Tensor reduced = strided(group.rank() + 1);
    ASSERT_FALSE(reduced.is_contiguous());
    group.allreduce({reduced})->wait();
    EXPECT_TRUE(at::equal(reduced, sum));

    at::Tensor copied = strided(group.rank());
    group.broadcast({copied}, group.size() - 1)->wait();
    EXPECT_TRUE(at::equal(copied, at::full({6, 4}, group.size() - 1)));

    at::Tensor rooted = strided(group.rank() + 1);
    group.reduce(rooted, 0)->wait();
    EXPECT_TRUE(at::equal(rooted, group.rank() == 0 ? sum : at::full({6, 4}, group.rank() + 1)));

    std::vector<at::Tensor> outputs(static_cast<std::size_t>(group.size()));
    for (at::Tensor& output : outputs) {
      output = strided(-1);
    }
    group.allgather(outputs, strided(group.rank()))->wait();
    for (int rank = 0; rank < group.size(); ++rank) {
      EXPECT_TRUE(at::equal(outputs[static_cast<std::size_t>(rank)], at::full({6, 4}, rank)));
    }

    at::Tensor piece = strided(0);
    std::vector<at::Tensor> inputs(static_cast<std::size_t>(group.size()), strided(2));
    group.reduceScatter(piece, inputs)->wait();
    EXPECT_TRUE(at::equal(piece, at::full({6, 4}, 2.0 * group.size())));
  });
}

TEST_P(Collectives, CompleteOnEmptyTensors) {
  runGroup(ranks(), [](ProcessGroup& group) {
    const at::Tensor none = at::empty({0});
    const std::vector<at::Tensor> each(static_cast<std::size_t>(group.size()), none);
    const std::vector<at::Tensor> atRoot = group.rank() == 0 ? each : std::vector<at::Tensor>{};
    group.broadcast({none}, 0)->wait();
    group.allreduce({none})->wait();
    group.reduce(none, 0)->wait();
    group.allgather(each, none)->wait();
    group.gather(atRoot, none, 0)->wait();
    group.scatter(none, atRoot, 0)->wait();
    group.reduceScatter(none, each)->wait();
    group.alltoall(none, none)->wait();
  });
}

TEST_P(Collectives, WorkOverSeveralContexts) {
  GroupOptions options = quickOptions();
  options.interfaces = {"lo", "127.0.0.1", "lo"};
  runGroup(
      ranks(),
      [](ProcessGroup& group) {
        std::vector<ProcessGroup::WorkPtr> works;
        std::vector<at::Tensor> tensors;
        for (int i = 0; i < 12; ++i) {
          tensors.push_back(filled(1000, group.rank() + i));
          works.push_back(group.allreduce({tensors.back()}, ReduceOp::kMax));
        }
        for (int i = 0; i < 12; ++i) {
          works[static_cast<std::size_t>(i)]->wait();
          EXPECT_TRUE(
              at::equal(tensors[static_cast<std::size_t>(i)], filled(1000, group.size() - 1 + i)));
        }
      },
      options);
}

TEST_P(Collectives, WriteIntoParametersWithoutAGraph) {
  runGroup(ranks(), [](ProcessGroup& group) {
    at::Tensor parameter = filled(10, group.rank()).requires_grad_();
    at::Tensor strided = at::full({3, 2}, group.rank(), at::kFloat).t().requires_grad_();
    group.broadcast({parameter, strided}, 0)->wait();
    EXPECT_TRUE(at::equal(parameter, filled(10, 0)));
    EXPECT_TRUE(at::equal(strided, at::zeros({2, 3})));
    EXPECT_TRUE(parameter.is_leaf() && strided.is_leaf());
  });
}

}  // namespace
}  // namespace lockstep::process_group
