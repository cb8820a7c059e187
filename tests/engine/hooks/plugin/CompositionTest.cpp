// Every hook of the library together with what else DDP does, through the real Reducer: each is
// compared with a training that has the same gradients by plainer means, bit for bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/ddp/Join.h"
#include "engine/optim/ParameterOptimizer.h"
#include "engine/plugin/PluginLibrary.h"
#include "tests/engine/ddp/TestModels.h"
#include "tests/engine/hooks/plugin/LibraryHook.h"

namespace lockstep::hooks {
namespace {

using ddp::DistributedDataParallel;
using test::HookRank;
using test::libraryHook;
using test::runHooks;
using test::Values;
using testing::Each;

constexpr int kWorld = 2;
constexpr std::uint32_t kComposedSteps = 6;  // buckets are rebuilt after the first

struct Composed {
  const char* id;
  Values values;
  const char* optimizer = "sgd";
  bool joins = false;  ///< a rank may be without inputs
};

void PrintTo(const Composed& hook, std::ostream* out) {
  *out << hook.id;
}

/// Three layers that are used in another order than they are registered in, so that the rebuilt
/// buckets differ from the first ones.
struct Crossed : torch::nn::Module {
  Crossed() {
    for (const char* name : {"a", "b", "c"}) {
      layers.push_back(register_module(name, torch::nn::Linear(6, 6)));
    }
    ddp::test::fill(*this, 1);
  }
  at::Tensor forward(const at::Tensor& x) {
    return layers[1]->forward(layers[0]->forward(layers[2]->forward(x).tanh()).tanh());
  }
  std::vector<torch::nn::Linear> layers;
};

/// Positive, so that a product with zero is no negative zero, which has a sign to send.
at::Tensor rows(std::uint32_t step, int rank, std::int64_t width = 6) {
  return ddp::test::numbers({3, width}, 100 * step + static_cast<std::uint64_t>(rank)) + 0.6;
}

/// A rank's training with a hook, as app/rank does it.
class Trainer {
 public:
  Trainer(const Composed& composed, HookRank& rank, std::shared_ptr<torch::nn::Module> net,
          ddp::DdpOptions options)
      : hook_(*rank.hook), view_(options.gradientAsBucketView) {
    options.hook = std::shared_ptr<CommHook>(std::shared_ptr<void>(), rank.hook.get());
    ddp_ = std::make_unique<DistributedDataParallel>(net, rank.group, options);
    experiment::OptimizerConfig config;
    config.kind = composed.optimizer;
    config.learningRate = 0.05;
    config.momentum = 0;
    std::vector<std::string> names;
    std::vector<at::Tensor> tensors;
    for (const ddp::NamedTensor& parameter : ddp_->parameters()) {
      names.push_back(parameter.name);
      tensors.push_back(parameter.tensor);
    }
    optimizer_ = optim::ParameterOptimizer::make(config, tensors).value();
    hook_.setParameters(std::move(names), std::move(tensors));
    OptimizerFacts facts;
    facts.kind = config.kind;
    facts.learningRate = config.learningRate;
    facts.beta1 = config.beta1;
    facts.beta2 = config.beta2;
    facts.epsilon = config.epsilon;
    hook_.configure(facts);
  }

  [[nodiscard]] DistributedDataParallel& ddp() { return *ddp_; }

  /// `backward` makes the gradients of this step.
  void step(std::uint32_t number, const std::function<void(DistributedDataParallel&)>& backward) {
    hook_.beforeForward(number);
    ddp_->setStep(number);
    clearGradients();
    backward(*ddp_);
    ddp_->checkFinalized();
    if (hook_.ownsUpdate()) {
      hook_.update(number);
    } else {
      for (std::size_t i = 0; i < optimizer_->parameters().size(); ++i) {
        if (const at::Tensor& gradient = optimizer_->parameters()[i].grad(); gradient.defined()) {
          optimizer_->step(i, gradient);
        }
      }
    }
    hook_.afterOptimizer(number);
  }

  void end(std::uint32_t step) { hook_.endOfRun(step); }

 private:
  void clearGradients() const {
    at::NoGradGuard noGrad;
    for (at::Tensor parameter : optimizer_->parameters()) {
      if (view_ && parameter.grad().defined()) {
        parameter.mutable_grad().zero_();
      } else {
        parameter.mutable_grad().reset();
      }
    }
  }

  PluginHook& hook_;
  const bool view_;
  std::unique_ptr<DistributedDataParallel> ddp_;
  std::unique_ptr<optim::ParameterOptimizer> optimizer_;
};

using Weights = std::vector<at::Tensor>;

class Composition : public testing::TestWithParam<Composed> {
 protected:
  /// Runs `body` on two ranks with the hook; returns each rank's weights, which `body` does.
  static std::vector<Weights> train(const std::function<Weights(HookRank&)>& body) {
    std::vector<Weights> weights(kWorld);
    const auto errors = runHooks(
        kWorld, libraryHook(GetParam().id, GetParam().values),
        [&](HookRank& rank) { weights[static_cast<std::size_t>(rank.rank)] = body(rank); });
    EXPECT_THAT(errors, Each(""));
    return weights;
  }

  static void expectSame(const std::vector<Weights>& own, const std::vector<Weights>& expected) {
    for (std::size_t rank = 0; rank < own.size(); ++rank) {
      EXPECT_FALSE(own[rank].empty());
      EXPECT_TRUE(ddp::test::equal(own[rank], expected[rank]))
          << "rank " << rank << ": " << ddp::test::largestDifference(own[rank], expected[rank])
          << " apart";
    }
  }

  /// A bucket a parameter.
  static ddp::DdpOptions finely() {
    auto options = ddp::test::withCaps(1, 1);
    options.bucketRule = "c10d-1.9";  // from the first step on
    return options;
  }
  /// Several parameters in most buckets.
  static ddp::DdpOptions coarsely(bool view = false) { return ddp::test::withCaps(200, 400, view); }

  static void backward(DistributedDataParallel& ddp, std::uint32_t step, int rank) {
    ddp.forward<Crossed>(rows(step, rank)).square().mean().backward();
  }

  /// Trains Crossed for the steps from `first` to `end`.
  static Weights trainCrossed(HookRank& rank, const std::shared_ptr<Crossed>& net,
                              const ddp::DdpOptions& options, std::uint32_t first,
                              std::uint32_t end) {
    Trainer trainer(GetParam(), rank, net, options);
    for (std::uint32_t step = first; step < end; ++step) {
      trainer.step(step, [&](auto& ddp) { backward(ddp, step, rank.rank); });
    }
    EXPECT_EQ(trainer.ddp().hasRebuiltBuckets(), !options.findUnusedParameters && end > first + 1);
    trainer.end(end);
    return ddp::test::weights(*net);
  }
  static Weights trainCrossed(HookRank& rank, const ddp::DdpOptions& options) {
    return trainCrossed(rank, std::make_shared<Crossed>(), options, 0, kComposedSteps);
  }
};

TEST_P(Composition, UnderNoSyncSendsTheSumOfWhatWasAccumulated) {
  const auto run = [](bool accumulate) {
    return train([accumulate](HookRank& rank) {
      auto net = std::make_shared<Crossed>();
      Trainer trainer(GetParam(), rank, net, coarsely());
      for (std::uint32_t step = 0; step < kComposedSteps; ++step) {
        trainer.step(step, [&](DistributedDataParallel& ddp) {
          if (accumulate) {
            {
              const DistributedDataParallel::NoSync local(ddp);
              backward(ddp, 2 * step, rank.rank);
            }
            backward(ddp, 2 * step + 1, rank.rank);
          } else {
            const at::Tensor loss = ddp.run([&] {
              return net->forward(rows(2 * step, rank.rank)).square().mean() +
                     net->forward(rows(2 * step + 1, rank.rank)).square().mean();
            });
            loss.backward();
          }
        });
      }
      trainer.end(kComposedSteps);
      return ddp::test::weights(*net);
    });
  };
  expectSame(run(true), run(false));
}

TEST_P(Composition, GivesViewsOfItsBucketsTheSameGradients) {
  expectSame(train([](HookRank& rank) { return trainCrossed(rank, coarsely(true)); }),
             train([](HookRank& rank) { return trainCrossed(rank, coarsely(false)); }));
}

TEST_P(Composition, KeepsToItsParametersWhenBucketsAreRebuilt) {
  // With findUnusedParameters they never are.
  ddp::DdpOptions asTheyWere = finely();
  asTheyWere.findUnusedParameters = true;
  expectSame(train([](HookRank& rank) { return trainCrossed(rank, finely()); }),
             train([&](HookRank& rank) { return trainCrossed(rank, asTheyWere); }));
}

TEST_P(Composition, TakesZerosFromARankThatDidNotUseAParameter) {
  const auto run = [](bool zeros) {
    return train([zeros](HookRank& rank) {
      auto net = std::make_shared<ddp::test::TwoHeads>();
      auto options = coarsely();
      options.findUnusedParameters = true;
      Trainer trainer(GetParam(), rank, net, options);
      for (std::uint32_t step = 0; step < kComposedSteps; ++step) {
        trainer.step(step, [&](DistributedDataParallel& ddp) {
          const auto [left, right] = ddp.forward<ddp::test::TwoHeads>(rows(step, rank.rank, 4));
          at::Tensor loss = left.square().mean();
          if (rank.rank == 0) {
            loss = loss + right.square().mean();
          } else if (zeros) {
            loss = loss + 0 * right.mean();
          }
          loss.backward();
        });
      }
      trainer.end(kComposedSteps);
      return ddp::test::weights(*net);
    });
  };
  expectSame(run(false), run(true));
}

TEST_P(Composition, LeavesAParameterThatNoRankUsedAsItWas) {
  const auto weights = train([](HookRank& rank) {
    auto net = std::make_shared<ddp::test::TwoHeads>();
    auto options = coarsely();
    options.findUnusedParameters = true;
    Trainer trainer(GetParam(), rank, net, options);
    for (std::uint32_t step = 0; step < kComposedSteps; ++step) {
      trainer.step(step, [&](DistributedDataParallel& ddp) {
        const auto [left, right] = ddp.forward<ddp::test::TwoHeads>(rows(step, rank.rank, 4));
        left.square().mean().backward();
      });
    }
    trainer.end(kComposedSteps);
    return ddp::test::weights(*net);
  });
  const auto before = ddp::test::weights(ddp::test::TwoHeads());
  for (const Weights& own : weights) {
    ASSERT_EQ(own.size(), 4U);
    EXPECT_FALSE(at::equal(own[0], before[0])) << "left.weight was not trained";
    EXPECT_TRUE(at::equal(own[2], before[2])) << "right.weight";
    EXPECT_TRUE(at::equal(own[3], before[3])) << "right.bias";
  }
}

TEST_P(Composition, GoesOnFromACheckpointOfAnotherReducer) {
  std::vector<std::string> states(kWorld);
  const auto half = train([&](HookRank& rank) {
    auto net = std::make_shared<Crossed>();
    Trainer trainer(GetParam(), rank, net, finely());
    for (std::uint32_t step = 0; step < kComposedSteps / 2; ++step) {
      trainer.step(step, [&](auto& ddp) { backward(ddp, step, rank.rank); });
    }
    states[static_cast<std::size_t>(rank.rank)] = rank.hook->save();
    Weights weights = ddp::test::weights(*net);
    trainer.end(kComposedSteps / 2);
    return weights;
  });
  const auto resumed = train([&](HookRank& rank) {
    const auto own = static_cast<std::size_t>(rank.rank);
    auto net = std::make_shared<Crossed>();
    {
      at::NoGradGuard noGrad;
      for (std::size_t i = 0; i < half[own].size(); ++i) {
        net->parameters()[i].copy_(half[own][i]);
      }
    }
    if (!states[own].empty()) {
      rank.hook->load(states[own], kWorld);
    }
    auto options = finely();
    options.initSync = false;  // replicas that differ on purpose stay as they were saved
    return trainCrossed(rank, net, options, kComposedSteps / 2, kComposedSteps);
  });
  expectSame(resumed, train([](HookRank& rank) { return trainCrossed(rank, finely()); }));
}

TEST_P(Composition, TrainsOnWithoutARankThatHasNoInputsOrSaysThatItCannot) {
  const auto choice = libraryHook(GetParam().id);
  const auto library = plugin::PluginLibrary::open(choice[0].library);
  ASSERT_TRUE(library.ok()) << library.error().message();
  const bool says = (library.value()->find(GetParam().id)->caps & LOCKSTEP_CAP_JOIN) != 0;
  ASSERT_EQ(says, GetParam().joins);
  if (!says) {
    return;  // an experiment is refused: tests/engine/plugin/ResolveHooksTest.cpp
  }
  constexpr std::uint32_t kInputsOfRank1 = 3;
  const auto joined = train([](HookRank& rank) {
    auto net = std::make_shared<Crossed>();
    Trainer trainer(GetParam(), rank, net, coarsely());
    ddp::Join join({&trainer.ddp()});
    std::uint32_t step = 0;
    join.run(step, [&] {
      for (; step < (rank.rank == 1 ? kInputsOfRank1 : kComposedSteps); ++step) {
        trainer.step(step, [&](auto& ddp) { backward(ddp, step, rank.rank); });
      }
    });
    return ddp::test::weights(*net);
  });
  const auto zeros = train([](HookRank& rank) {
    auto net = std::make_shared<Crossed>();
    Trainer trainer(GetParam(), rank, net, coarsely());
    for (std::uint32_t step = 0; step < kComposedSteps; ++step) {
      trainer.step(step, [&](DistributedDataParallel& ddp) {
        const at::Tensor loss = ddp.forward<Crossed>(rows(step, rank.rank)).square().mean();
        (rank.rank == 1 && step >= kInputsOfRank1 ? 0 * loss : loss).backward();
      });
    }
    return ddp::test::weights(*net);
  });
  expectSame({joined[0]}, {zeros[0]});
  EXPECT_TRUE(ddp::test::equal(joined[1], joined[0])) << "the end gives all the last one's model";
}

INSTANTIATE_TEST_SUITE_P(
    Hooks, Composition,
    testing::Values(Composed{"allreduce", {}, "sgd", true}, Composed{"bf16", {}, "sgd", true},
                    Composed{"delayed", {}}, Composed{"dgc", {{"density", 0.2}}},
                    Composed{"ef_sign", {}}, Composed{"fp16", {}, "sgd", true},
                    Composed{"gossip", {{"mix", std::string("gradients")}}},
                    Composed{"hierarchical", {{"ranks_per_node", 2.0}}},
                    Composed{"int8", {}, "sgd", true}, Composed{"noop", {}, "sgd", true},
                    Composed{"onebit", {{"warmup", 2.0}}, "adam"},
                    Composed{"post_local_sgd", {{"start", 2.0}, {"period", 2.0}}},
                    Composed{"powersgd", {{"start", 2.0}}}, Composed{"qsgd", {}, "sgd", true},
                    Composed{"randomk", {{"density", 0.2}}}, Composed{"sign", {}},
                    Composed{"topk", {{"density", 0.2}}}, Composed{"zero_rs", {}, "adam"}),
    [](const auto& info) { return std::string(info.param.id); });

}  // namespace
}  // namespace lockstep::hooks
