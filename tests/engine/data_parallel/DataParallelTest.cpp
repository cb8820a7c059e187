#include "engine/data_parallel/DataParallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "engine/data_parallel/DataParallelError.h"
#include "tests/engine/data_parallel/TestModels.h"

namespace lockstep::data_parallel {
namespace {

using test::make;
using test::Nested;
using test::Net;
using test::NormNet;
using test::numbers;
using test::Tied;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kTolerance = 1e-5;

template <typename M>
DataParallelOptions on(int devices) {
  DataParallelOptions options;
  options.devices = virtualDevices(devices);
  options.makeReplica = [] { return std::make_shared<M>(); };
  return options;
}

double largest(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return (a - b).abs().max().item<double>();
}

struct Size {
  int devices;
  std::int64_t batch;
};

void PrintTo(const Size& size, std::ostream* out) {
  *out << size.batch << " samples on " << size.devices;
}

std::string nameOf(const testing::TestParamInfo<Size>& info) {
  return std::to_string(info.param.batch) + "SamplesOn" + std::to_string(info.param.devices);
}

class Sizes : public testing::TestWithParam<Size> {};

// Even, uneven and too small batches; 5 on 4 uses three devices.
INSTANTIATE_TEST_SUITE_P(DataParallel, Sizes,
                         testing::Values(Size{1, 4}, Size{2, 8}, Size{2, 7}, Size{2, 1},
                                         Size{4, 16}, Size{4, 13}, Size{4, 5}, Size{4, 3},
                                         Size{4, 1}),
                         nameOf);

TEST_P(Sizes, OutputsAndGradientsEqualTheModuleAlone) {
  const auto [devices, batch] = GetParam();
  const auto alone = make<Net>();
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(devices));
  for (std::uint64_t step = 0; step < 3; ++step) {
    const at::Tensor input = numbers({batch, 6}, 50 + step);
    const at::Tensor expected = alone->forward(input);
    const at::Tensor output = parallel.forward<Net>(input);
    EXPECT_LE(largest(output, expected), kTolerance);
    expected.pow(2).sum().backward();
    output.pow(2).sum().backward();
    EXPECT_LE(test::difference(*model, *alone), kTolerance);
    EXPECT_FALSE(model->frozen.grad().defined());
    torch::NoGradGuard noGrad;
    for (const auto& module : {alone, model}) {
      for (auto& parameter : module->parameters()) {
        if (parameter.grad().defined()) {
          parameter.sub_(parameter.grad(), 0.1);  // replicas must see the step
        }
      }
    }
  }
}

TEST_P(Sizes, NestedInputsAndOutputsEqualTheModuleAlone) {
  const auto [devices, batch] = GetParam();
  for (const bool withMore : {false, true}) {
    const auto alone = make<Nested>();
    const auto model = make<Nested>();
    DataParallel parallel(model, on<Nested>(devices));
    const std::vector<at::Tensor> lists{numbers({batch, 4}, 1), numbers({batch, 3}, 2)};
    const Nested::Inputs named{{"mask", numbers({batch, 1}, 3)}};
    const std::optional<at::Tensor> more =
        withMore ? std::optional(numbers({batch, 5}, 4)) : std::nullopt;
    const auto expected = alone->forward(lists, named, 0.25, more);
    const auto output = parallel.forward<Nested>(lists, named, 0.25, more);
    at::Tensor expectedLoss = at::zeros({});
    at::Tensor loss = at::zeros({});
    for (const auto& [key, tensors] : expected) {
      ASSERT_EQ(output.at(key).size(), tensors.size());
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        EXPECT_LE(largest(output.at(key)[i], tensors[i]), kTolerance) << key << i;
        expectedLoss = expectedLoss + tensors[i].pow(2).sum();
        loss = loss + output.at(key)[i].pow(2).sum();
      }
    }
    expectedLoss.backward();
    loss.backward();
    EXPECT_LE(test::difference(*model, *alone), kTolerance);
  }
}

TEST_P(Sizes, GradientsReachInputsThatAskForThem) {
  const auto [devices, batch] = GetParam();
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(devices));
  const at::Tensor input = numbers({batch, 6}, 9);
  const at::Tensor alone = input.clone().requires_grad_(true);
  const at::Tensor spread = input.clone().requires_grad_(true);
  model->forward(alone * 2).sum().backward();
  parallel.forward<Net>(spread * 2).sum().backward();
  EXPECT_LE(largest(spread.grad(), alone.grad()), kTolerance);
}

TEST(DataParallel, SmallCopiesGiveTheSameAsOneBigCopy) {
  const auto alone = make<Net>();
  const auto model = make<Net>();
  auto options = on<Net>(4);
  options.coalesceBytes = 64;
  DataParallel parallel(model, options);
  const at::Tensor input = numbers({8, 6}, 5);
  alone->forward(input).sum().backward();
  parallel.forward<Net>(input).sum().backward();
  EXPECT_LE(test::difference(*model, *alone), kTolerance);
}

TEST(DataParallel, CutsAlongAnotherDimension) {
  struct Columns : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) { return at::matmul(weight, x); }
    at::Tensor weight = register_parameter("weight", at::ones({3, 4}));
  };
  const auto alone = make<Columns>();
  const auto model = make<Columns>();
  auto options = on<Columns>(2);
  options.dim = 1;
  DataParallel parallel(model, options);
  const at::Tensor input = numbers({4, 5}, 5);
  const at::Tensor expected = alone->forward(input);
  const at::Tensor output = parallel.forward<Columns>(input);
  EXPECT_LE(largest(output, expected), kTolerance);
  expected.pow(2).sum().backward();
  output.pow(2).sum().backward();
  EXPECT_LE(test::difference(*model, *alone), kTolerance);
}

TEST(DataParallel, ClonesModulesThatCanBeCloned) {
  torch::nn::Sequential model(torch::nn::Linear(6, 4), torch::nn::Tanh(), torch::nn::Linear(4, 2));
  DataParallelOptions options;
  options.devices = virtualDevices(4);
  torch::manual_seed(3);
  const at::Tensor undisturbed = at::rand({2});
  torch::manual_seed(3);
  DataParallel parallel(model.ptr(), options);
  EXPECT_TRUE(at::equal(at::rand({2}), undisturbed)) << "replicas drew random numbers";
  const at::Tensor input = numbers({7, 6}, 5);
  EXPECT_LE(largest(parallel.forward<torch::nn::SequentialImpl>(input), model->forward(input)),
            kTolerance);
}

TEST(DataParallel, BuffersKeepWhatReplicaZeroSaw) {
  const auto alone = make<NormNet>();
  const auto model = make<NormNet>();
  DataParallel parallel(model, on<NormNet>(4));
  for (std::uint64_t step = 0; step < 2; ++step) {
    const at::Tensor input = numbers({8, 4}, step);
    const at::Tensor output = parallel.forward<NormNet>(input);
    const at::Tensor expected = alone->forward(input.slice(0, 0, 2));
    EXPECT_LE(largest(output.slice(0, 0, 2), expected), kTolerance);
  }
  EXPECT_TRUE(at::allclose(model->norm->running_mean, alone->norm->running_mean));
  EXPECT_TRUE(at::allclose(model->norm->running_var, alone->norm->running_var));
  EXPECT_EQ(model->norm->num_batches_tracked.item<std::int64_t>(), 2);
  model->eval();
  alone->eval();
  const at::Tensor input = numbers({8, 4}, 7);
  EXPECT_LE(largest(parallel.forward<NormNet>(input), alone->forward(input)), kTolerance)
      << "every replica has the module's mode and running statistics";
}

TEST(DataParallel, UnusedParametersGetZerosAndSharedOnesTheirSum) {
  const auto alone = make<Tied>();
  const auto model = make<Tied>();
  DataParallel parallel(model, on<Tied>(2));
  const at::Tensor input = numbers({4, 4}, 5);
  alone->forward(input).sum().backward();
  parallel.forward<Tied>(input).sum().backward();
  EXPECT_LE(test::difference(*model, *alone), kTolerance);
  EXPECT_TRUE(at::equal(model->unused->weight.grad(), at::zeros({2, 2})));
}

TEST(DataParallel, SparseGradientsStaySparse) {
  struct Words : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) { return words(x); }
    torch::nn::Embedding words = register_module(
        "words", torch::nn::Embedding(torch::nn::EmbeddingOptions(9, 3).sparse(true)));
  };
  const auto alone = make<Words>();
  const auto model = make<Words>();
  DataParallel parallel(model, on<Words>(2));
  const at::Tensor input = at::tensor({1, 2, 2, 8});
  alone->forward(input).pow(2).sum().backward();
  parallel.forward<Words>(input).pow(2).sum().backward();
  ASSERT_TRUE(model->words->weight.grad().is_sparse());
  EXPECT_LE(largest(model->words->weight.grad().to_dense(), alone->words->weight.grad().to_dense()),
            kTolerance);
}

TEST(DataParallel, TwoForwardsBeforeTheirBackwardsDoNotDisturbEachOther) {
  const auto alone = make<Net>();
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(2));
  std::vector<at::Tensor> kept;
  for (std::uint64_t i = 0; i < 3; ++i) {
    alone->forward(numbers({4, 6}, i)).pow(2).sum().backward();
    kept.push_back(parallel.forward<Net>(numbers({4, 6}, i)).pow(2).sum());
  }
  for (const at::Tensor& loss : kept) {
    loss.backward();
  }
  EXPECT_LE(test::difference(*model, *alone), kTolerance);
}

TEST(DataParallel, ARetainedGraphCanBeRunAgainAndAReleasedOneSaysSo) {
  const auto alone = make<Net>();
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(2));
  const at::Tensor input = numbers({4, 6}, 5);
  const at::Tensor expected = alone->forward(input).sum();
  const at::Tensor loss = parallel.forward<Net>(input).sum();
  expected.backward({}, /*retain_graph=*/true);
  loss.backward({}, /*retain_graph=*/true);
  expected.backward();
  loss.backward();
  EXPECT_LE(test::difference(*model, *alone), kTolerance);
  EXPECT_ANY_THROW(loss.backward());
  const at::Tensor output = parallel.forward<Net>(input);
  output.backward(at::ones_like(output));
  EXPECT_THAT([&] { output.backward(at::ones_like(output)); },
              ThrowsMessage<DataParallelError>(HasSubstr("retain_graph")));
}

TEST(DataParallel, RefusesGradientsOfGradients) {
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(2));
  const at::Tensor loss = parallel.forward<Net>(numbers({4, 6}, 5)).sum();
  EXPECT_THAT([&] { loss.backward({}, /*retain_graph=*/true, /*create_graph=*/true); },
              ThrowsMessage<DataParallelError>(HasSubstr("create_graph")));
}

TEST(DataParallel, AutogradGradGivesTheSameWithoutTouchingGradients) {
  const auto alone = make<Net>();
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(4));
  const at::Tensor input = numbers({8, 6}, 5);
  const auto expected =
      torch::autograd::grad({alone->forward(input).sum()}, {alone->first->weight});
  const auto mine =
      torch::autograd::grad({parallel.forward<Net>(input).sum()}, {model->first->weight});
  EXPECT_LE(largest(mine[0], expected[0]), kTolerance);
  EXPECT_FALSE(model->first->weight.grad().defined());
}

TEST(DataParallel, RunsWithoutGradientsInEveryThread) {
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(2));
  torch::NoGradGuard noGrad;
  const Tree output =
      parallel.run(numbers({4, 6}, 5), [](torch::nn::Module& replica, const Tree& input) -> Tree {
        EXPECT_FALSE(torch::GradMode::is_enabled());
        for (const at::Tensor& parameter : replica.parameters()) {
          EXPECT_FALSE(parameter.requires_grad());
        }
        return static_cast<Net&>(replica).forward(input.tensor());
      });
  EXPECT_FALSE(output.tensor().requires_grad());
}

TEST(DataParallel, EachReplicaGetsItsOwnCopyOfAValue) {
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(4));
  const std::string word = "a word too long for the string's own memory, so that it is shared";
  std::mutex mutex;
  std::set<const void*> places;
  parallel.run(Tree(Tree::List{Tree(numbers({4, 6}, 1)), Tree::value(word)}),
               [&](torch::nn::Module&, const Tree& input) {
                 const auto& mine = std::any_cast<const std::string&>(*input.at(1).ifValue());
                 EXPECT_EQ(mine, word);
                 std::lock_guard lock(mutex);
                 places.insert(mine.data());
                 return Tree(input.at(std::size_t{0}).tensor() * 1);
               });
  EXPECT_EQ(places.size(), 4u);
}

TEST(DataParallel, NoInputsRunOnTheFirstDeviceAlone) {
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(4));
  const Tree output = parallel.run(Tree(), [](torch::nn::Module&, const Tree& input) -> Tree {
    EXPECT_TRUE(input.isNone());
    return at::ones({2});
  });
  EXPECT_EQ(output.tensor().size(0), 2);
}

TEST(DataParallel, ScalarsBecomeAVectorWithOneElementADevice) {
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(4));
  const at::Tensor input = numbers({8, 6}, 5);
  const Tree output = parallel.run(input, [](torch::nn::Module& replica, const Tree& mine) -> Tree {
    return static_cast<Net&>(replica).forward(mine.tensor()).mean();
  });
  ASSERT_EQ(output.tensor().sizes(), at::IntArrayRef({4}));
  const auto alone = make<Net>();
  const at::Tensor expected = alone->forward(input).mean();
  EXPECT_NEAR(output.tensor().mean().item<double>(), expected.item<double>(), kTolerance);
  expected.backward();
  output.tensor().mean().backward();
  EXPECT_LE(test::difference(*model, *alone), kTolerance);
}

TEST(DataParallel, NamesReplicaAndDeviceOfAFailedForward) {
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(4));
  const auto fail = [&] {
    parallel.run(at::arange(4), [](torch::nn::Module&, const Tree& input) -> Tree {
      if (input.tensor().item<std::int64_t>() >= 2) {
        throw std::runtime_error("no such word");
      }
      return input;
    });
  };
  EXPECT_THAT(fail, ThrowsMessage<ReplicaError>(
                        AllOf(HasSubstr("replica 2 on device cpu 2"), HasSubstr("no such word"))));
  try {
    fail();
  } catch (const ReplicaError& error) {
    EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error);
  }
  const at::Tensor input = numbers({8, 6}, 5);
  EXPECT_LE(largest(parallel.forward<Net>(input), model->forward(input)), kTolerance)
      << "the next forward runs";
}

struct Fails : public torch::autograd::Function<Fails> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x, bool) {
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list) {
    throw std::runtime_error("no way back");
  }
};

TEST(DataParallel, NamesReplicaAndDeviceOfAFailedBackward) {
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(2));
  const Tree output =
      parallel.run(numbers({2, 6}, 5), [&](torch::nn::Module& replica, const Tree& input) -> Tree {
        const at::Tensor result = static_cast<Net&>(replica).forward(input.tensor());
        const bool second = &static_cast<Net&>(replica).first->weight.data_ptr<float>()[0] !=
                            &model->first->weight.data_ptr<float>()[0];
        return second ? Fails::apply(result, true) : result;
      });
  EXPECT_THAT([&] { output.tensor().sum().backward(); },
              ThrowsMessage<ReplicaError>(AllOf(HasSubstr("replica 1 on device cpu 1, backward"),
                                                HasSubstr("no way back"))));
}

TEST(DataParallel, NamesAParameterOnTheWrongDevice) {
  struct Elsewhere : torch::nn::Module {
    torch::nn::Linear near = register_module("near", torch::nn::Linear(2, 2));
    at::Tensor far = register_parameter("far", at::empty({2}, at::kMeta));
  };
  EXPECT_THAT([] { DataParallel(std::make_shared<Elsewhere>(), on<Elsewhere>(2)); },
              ThrowsMessage<DataParallelError>(
                  AllOf(HasSubstr("must have its parameters and buffers on device cpu"),
                        HasSubstr("'far' is on meta"))));
}

TEST(DataParallel, NamesWhatAReplicaLacks) {
  auto options = on<NormNet>(2);
  const auto model = make<Net>();
  EXPECT_THAT(
      [&] {
        DataParallel parallel(model, options);
        parallel.forward<Net>(numbers({2, 6}, 1));
      },
      ThrowsMessage<DataParallelError>(AllOf(HasSubstr("'wide'"), HasSubstr("'fc.weight'"))));
}

TEST(DataParallel, AModuleThatCannotBeClonedAsksForAMaker) {
  DataParallelOptions options;
  EXPECT_THAT([&] { DataParallel(make<Net>(), options); },
              ThrowsMessage<DataParallelError>(HasSubstr("makeReplica")));
}

TEST(DataParallel, RefusesNoDeviceAndOneDeviceTwice) {
  auto options = on<Net>(0);
  EXPECT_THAT([&] { DataParallel(make<Net>(), options); },
              ThrowsMessage<DataParallelError>(HasSubstr("at least one device")));
  options.devices = {{}, {}};
  EXPECT_THAT([&] { DataParallel(make<Net>(), options); },
              ThrowsMessage<DataParallelError>(HasSubstr("cpu 0 stands twice")));
}

TEST(DataParallel, OneDeviceRunsTheModuleItself) {
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(1));
  parallel.run(numbers({2, 6}, 5), [&](torch::nn::Module& module, const Tree& input) -> Tree {
    EXPECT_EQ(&module, model.get());
    return input;
  });
}

TEST(DataParallel, AGraphOutlivesItsDataParallel) {
  const auto alone = make<Net>();
  const auto model = make<Net>();
  const at::Tensor input = numbers({4, 6}, 5);
  at::Tensor loss;
  {
    DataParallel parallel(model, on<Net>(2));
    loss = parallel.forward<Net>(input).sum();
  }
  loss.backward();
  alone->forward(input).sum().backward();
  EXPECT_LE(test::difference(*model, *alone), kTolerance);
}

TEST(DataParallel, FollowsAModuleThatChangesItsDtype) {
  const auto model = make<Net>();
  DataParallel parallel(model, on<Net>(2));
  parallel.forward<Net>(numbers({4, 6}, 5));
  model->first->to(at::kDouble);
  const Tree output = parallel.run(numbers({4, 6}, 5).to(at::kDouble),
                                   [](torch::nn::Module& replica, const Tree& input) -> Tree {
                                     return static_cast<Net&>(replica).first(input.tensor());
                                   });
  EXPECT_EQ(output.tensor().scalar_type(), at::kDouble);
}

}  // namespace
}  // namespace lockstep::data_parallel
