#include "engine/ddp/OutputTensors.h"

#include <gtest/gtest.h>

#include <array>
#include <list>
#include <string>

#include "tests/engine/ddp/TestModels.h"

namespace lockstep::ddp {
namespace {

struct Output {
  at::Tensor scores;
  std::vector<at::Tensor> states;
  double loss = 0;
};

template <typename F>
void visitTensors(Output& output, F& visit) {
  visit(output.scores);
  visit(output.states);
}

TEST(OutputTensors, AreFoundInContainersOfContainers) {
  at::Tensor one;
  EXPECT_EQ(tensorsIn(one), std::vector<at::Tensor*>{&one});

  std::tuple<at::Tensor, int, std::pair<std::string, at::Tensor>> mixed;
  EXPECT_EQ(tensorsIn(mixed),
            (std::vector<at::Tensor*>{&std::get<0>(mixed), &std::get<2>(mixed).second}));

  std::map<std::string, std::vector<at::Tensor>> dict{{"a", std::vector<at::Tensor>(2)},
                                                      {"b", std::vector<at::Tensor>(1)}};
  EXPECT_EQ(tensorsIn(dict),
            (std::vector<at::Tensor*>{&dict["a"][0], &dict["a"][1], &dict["b"][0]}));

  std::optional<std::array<at::Tensor, 2>> some(std::in_place);
  EXPECT_EQ(tensorsIn(some).size(), 2u);
  some.reset();
  EXPECT_TRUE(tensorsIn(some).empty());

  std::variant<int, std::list<at::Tensor>> either = std::list<at::Tensor>(3);
  EXPECT_EQ(tensorsIn(either).size(), 3u);
}

TEST(OutputTensors, AreFoundInAStructThatNamesThem) {
  std::vector<Output> outputs(2);
  outputs[1].states.resize(2);
  EXPECT_EQ(tensorsIn(outputs),
            (std::vector<at::Tensor*>{&outputs[0].scores, &outputs[1].scores, &outputs[1].states[0],
                                      &outputs[1].states[1]}));
}

TEST(OutputTensors, AreNotInNumbersAndTexts) {
  double number = 0;
  std::string text = "text";
  EXPECT_TRUE(tensorsIn(number).empty());
  EXPECT_TRUE(tensorsIn(text).empty());
}

}  // namespace
}  // namespace lockstep::ddp
