#include "tests/mistakes/ErringTraining.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "engine/ddp/DistributedDataParallel.h"
#include "engine/hooks/AllreduceHook.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/store/FileStore.h"
#include "tests/engine/ddp/TestModels.h"
#include "tests/support/ChildRole.h"

namespace lockstep::mistakes {
namespace {

using ddp::test::Net;
using process_group::ReduceOp;
using Group = std::shared_ptr<process_group::ProcessGroup>;

constexpr int kSteps = 4;
const std::vector<std::int64_t> kSizes{8, 8, 8, 8};

/// An allreduce that goes wrong in one step, if it is told to.
class SpoiledHook final : public hooks::CommHook {
 public:
  SpoiledHook(Group group, std::optional<Mistake> mistake)
      : inner_(std::move(group), nullptr), mistake_(mistake) {}
  [[nodiscard]] std::string name() const override { return "mine"; }
  [[nodiscard]] bool takesShares() const override { return true; }

  base::Future<at::Tensor> run(hooks::GradBucket& bucket) override {
    if (bucket.step() != kPlantedStep || !mistake_.has_value()) {
      return inner_.run(bucket);
    }
    if (*mistake_ == Mistake::kHookThrows) {
      throw std::runtime_error("no memory left");
    }
    return inner_.run(bucket).then([mistake = *mistake_](const at::Tensor& sum) {
      return mistake == Mistake::kHookResultShort          ? sum.narrow(0, 0, sum.numel() - 1)
             : mistake == Mistake::kHookResultOfWrongDtype ? sum.to(at::kDouble)
                                                           : sum;
    });
  }

 private:
  hooks::AllreduceHook inner_;
  std::optional<Mistake> mistake_;
};

class Training {
 public:
  Training(Group group, Mistake mistake)
      : group_(std::move(group)),
        mistake_(mistake),
        errs_(group_->rank() == group_->size() - 1),
        net_(std::make_shared<Net>(kSizes)),
        optimizer_(net_->parameters(), 0.1) {}

  void construct() {
    if (makes(Mistake::kDtypeDiffers)) {
      net_->layers[1]->to(at::kDouble);
    }
    ddp::ModelState state = ddp::ModelState::of(net_);
    if (makes(Mistake::kOrderSwapped)) {
      std::swap(state.parameters[0], state.parameters[2]);  // of one shape
    }
    ddp::DdpOptions options;
    options.firstBucketMb = 200.0 / 1048576;
    options.bucketCapMb = (makes(Mistake::kCapDiffers) ? 300.0 : 600.0) / 1048576;
    options.findUnusedParameters = mistake_ == Mistake::kCapDiffers;
    options.hook =
        std::make_shared<SpoiledHook>(group_, errs_ ? std::optional(mistake_) : std::nullopt);
    ddp_ = std::make_unique<ddp::DistributedDataParallel>(std::move(state), group_, options);
  }

  void step(int index) {
    planted_ = index == kPlantedStep;
    ddp_->setStep(static_cast<std::uint32_t>(index));
    if (makesNow(Mistake::kModuleMoved)) {
      net_->to(at::kDouble);
    }
    const at::Tensor input = at::full({2, 8}, group_->rank() + 1.0);
    const std::size_t first = makesNow(Mistake::kParameterUnused) ? 1 : 0;
    at::Tensor output = ddp_->run([&] {
      at::Tensor x = input;
      for (std::size_t i = first; i < net_->layers.size(); ++i) {
        x = net_->layers[i]->forward(x.tanh());
      }
      return x;
    });
    if (makesNow(Mistake::kPeerKilled)) {
      raise(SIGKILL);
    }
    if (makesNow(Mistake::kPeerStopped)) {
      raise(SIGSTOP);
    }
    optimizer_.zero_grad();
    if (!makesNow(Mistake::kBackwardSkipped)) {
      output.square().mean().backward();
    }
    ddp_->checkFinalized();
    optimizer_.step();
    if (planted_) {
      collectives();
    }
  }

 private:
  /// The loop's own collectives, as for a metric over all ranks.
  void collectives() {
    process_group::CallOptions options;
    options.step = kPlantedStep;
    if (mistake_ == Mistake::kReduceOperationDiffers) {
      group_->allreduce({at::ones({4})}, errs_ ? ReduceOp::kMax : ReduceOp::kSum, options)->wait();
    } else if (mistake_ == Mistake::kRootDiffers) {
      group_->broadcast({at::ones({4})}, errs_ ? group_->rank() : 0, options)->wait();
    } else if (mistake_ == Mistake::kSizeDiffers) {
      group_->allreduce({at::ones({errs_ ? 5 : 4})}, ReduceOp::kSum, options)->wait();
    }
  }

  [[nodiscard]] bool makes(Mistake mistake) const { return errs_ && mistake_ == mistake; }
  [[nodiscard]] bool makesNow(Mistake mistake) const { return planted_ && makes(mistake); }

  const Group group_;
  const Mistake mistake_;
  const bool errs_;
  const std::shared_ptr<Net> net_;
  torch::optim::SGD optimizer_;
  std::unique_ptr<ddp::DistributedDataParallel> ddp_;
  bool planted_ = false;
};

int number(const char* variable) {
  return std::atoi(std::getenv(variable));
}

int train(const std::vector<std::string>& arguments) {
  at::set_num_threads(1);
  store::FileStoreOptions file;
  file.path = arguments.at(0);
  file.worldSize = number("WORLD_SIZE");
  process_group::GroupOptions options;
  options.timeout = std::chrono::milliseconds(std::stoi(arguments.at(2)));
  options.interfaces = {"127.0.0.1"};
  options.check = process_group::CheckMode::kFirst;  // as a rank of an experiment
  auto group = process_group::makeProcessGroup("gloo", std::make_shared<store::FileStore>(file),
                                               number("RANK"), file.worldSize, options);
  if (!group.ok()) {
    std::fprintf(stderr, "%s\n", group.error().message().c_str());
    return 1;
  }
  std::string place = "construction";
  try {
    Training training(group.value(), static_cast<Mistake>(std::stoi(arguments.at(1))));
    training.construct();
    for (int step = 0; step < kSteps; ++step) {
      place = fmt::format("step {}", step);
      training.step(step);
    }
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", place.c_str(), error.what());
    return kErrorSeen;
  }
  return 0;
}

const support::RegisterChildRole training(kTrainingRole, train);

}  // namespace
}  // namespace lockstep::mistakes
