#include "engine/process_group/ListCollectives.h"

#include <gmock/gmock.h>

#include "tests/engine/process_group/GroupThreads.h"

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

class ListCollectives : public testing::TestWithParam<int> {};

TEST_P(ListCollectives, AlltoallSwapsListsOfUnevenTensorsNoneAmongThem) {
  runGroup(GetParam(), [](ProcessGroup& group) {
    // Rank r sends a tensor of r * other elements to each other rank, all of them r.
    std::vector<at::Tensor> inputs;
    std::vector<at::Tensor> outputs;
    for (int other = 0; other < group.size(); ++other) {
      inputs.push_back(filled(group.rank() * other, group.rank()));
      outputs.push_back(filled(other * group.rank(), -1));
    }
    const auto work = alltoallLists(group, outputs, inputs);
    work->wait();
    for (int other = 0; other < group.size(); ++other) {
      EXPECT_TRUE(at::equal(outputs[static_cast<std::size_t>(other)],
                            filled(other * group.rank(), other)));
    }
    EXPECT_EQ(work->result().size(), static_cast<std::size_t>(group.size()));
    EXPECT_EQ(group.sequenceNumber(), 1u);
  });
}

TEST_P(ListCollectives, AllgatherOfListsOfMixedDtypesKeepsEachInItsPlace) {
  runGroup(GetParam(), [](ProcessGroup& group) {
    const auto listOf = [](int rank) {
      return std::vector<at::Tensor>{at::full({2, 3}, rank, at::kFloat),
                                     at::full({4}, rank, at::kLong), at::zeros({0}, at::kFloat),
                                     at::full({1}, rank + 0.5, at::kFloat)};
    };
    std::vector<std::vector<at::Tensor>> outputs;
    for (int rank = 0; rank < group.size(); ++rank) {
      outputs.push_back(listOf(-1));
    }
    allgatherCoalesced(group, outputs, listOf(group.rank()))->wait();
    for (int rank = 0; rank < group.size(); ++rank) {
      const auto expected = listOf(rank);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(at::equal(outputs[static_cast<std::size_t>(rank)][i], expected[i]));
      }
    }
    EXPECT_EQ(group.sequenceNumber(), 2u) << "one allgather a dtype";
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, ListCollectives, testing::Values(1, 2, 3));

TEST(ListCollectivesArguments, AreCheckedAtTheCallByName) {
  runGroup(2, [](ProcessGroup& group) {
    const at::Tensor tensor = filled(2, 1);
    const auto refusal = [](auto function) { return textOf<std::invalid_argument>(function); };
    EXPECT_EQ(refusal([&] { alltoallLists(group, {tensor}, {tensor, tensor}); }),
              "gloo::alltoall: outputs has 1 tensors; a group of 2 ranks needs 2");
    EXPECT_THAT(refusal([&] {
                  alltoallLists(group, {tensor, tensor}, {tensor, at::ones({2}, at::kInt)});
                }),
                HasSubstr("inputs[1] is Int and inputs[0] is Float"));
    EXPECT_EQ(refusal([&] { allgatherCoalesced(group, {{tensor}}, {tensor}); }),
              "gloo::allgather: outputs has 1 lists; a group of 2 ranks needs 2");
    EXPECT_EQ(refusal([&] { allgatherCoalesced(group, {{tensor}, {filled(3, 1)}}, {tensor}); }),
              "gloo::allgather: outputs[1][0] is not like inputs[0] in dtype and shape");
    EXPECT_EQ(group.sequenceNumber(), 0u);
  });
}

TEST(ListCollectivesFailure, HandOnTheErrorOfTheirCollective) {
  runGroup(2, [](ProcessGroup& group) {
    const auto rows = [&](int wrong) { return filled(group.rank() == 0 ? 2 : wrong, 1); };
    const auto work = alltoallLists(group, {filled(2, 0), filled(2, 0)}, {rows(3), rows(2)});
    EXPECT_THAT(textOf<CommError>([&] { work->wait(); }),
                HasSubstr("rank 1 sends 12 bytes to rank 0, which expects 8"));
  });
}

}  // namespace
}  // namespace lockstep::process_group
