// The exit code and the line that a rank ends with.

#include "app/rank/Ending.h"

#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <new>

#include "engine/data_parallel/DataParallelError.h"
#include "engine/hooks/HookError.h"
#include "tests/app/CommandLine.h"

namespace lockstep::rank {
namespace {

using base::ExitCode;
using testing::AllOf;
using testing::HasSubstr;

/// What a replica ends with when `cause` was thrown in it.
template <typename Cause>
base::Error errorOfReplica(const Cause& cause) {
  try {
    try {
      throw cause;
    } catch (...) {
      std::throw_with_nested(
          data_parallel::ReplicaError("replica 1 on device cpu 1, forward: it broke"));
    }
  } catch (...) {
    return errorOf(std::current_exception());
  }
}

TEST(Ending, OfAReplicaHasTheCodeOfWhatWentWrongInItAndSaysWhere) {
  for (const auto& [error, code] :
       {std::pair{errorOfReplica(hooks::HookError("no hook")), ExitCode::kHookFailed},
        std::pair{errorOfReplica(std::bad_alloc()), ExitCode::kEnvironment},
        std::pair{errorOfReplica(data_parallel::DataParallelError("no device")),
                  ExitCode::kBadInput},
        std::pair{errorOfReplica(std::runtime_error("no idea")), ExitCode::kUnexpected}}) {
    EXPECT_EQ(error.code, code) << error.message();
    EXPECT_EQ(error.message(), "replica 1 on device cpu 1, forward: it broke");
  }
}

TEST(Ending, OfAReplicaThatDoesNotSayWhyIsUnexpected) {
  const auto error = errorOf(
      std::make_exception_ptr(data_parallel::ReplicaError("replica 0 on device cpu 0, backward")));
  EXPECT_EQ(error.code, ExitCode::kUnexpected);
  EXPECT_EQ(error.message(), "replica 0 on device cpu 0, backward");
}

class EndingOfARun : public cli::CommandLineTest {
 protected:
  /// A model that refuses a batch of one sample while it trains.
  std::string modelThatRefusesOneSample() const {
    torch::jit::Module model("Picky");
    model.register_parameter("weight", at::zeros({10, 784}).set_requires_grad(true), false);
    model.register_attribute("training", c10::BoolType::get(), true);
    model.define(R"(
def forward(self, x):
    assert not (self.training and x.size(0) == 1), "one sample is too few"
    return torch.matmul(x.flatten(1), self.weight.t())
)");
    const std::string path = (folder / "picky.pt").string();
    model.save(path);
    return path;
  }
};

TEST_F(EndingOfARun, WhoseReplicaFailedNamesTheReplicaInOneLine) {
  // Of the 35 samples 32 come in the first step; three are two for one replica and one for the
  // other.
  const auto ended = lockstep(
      {"run", experiment(), "--quiet", "--out", "r.lockstep", "--set", "model.kind=torchscript",
       "--set", "model.file=" + modelThatRefusesOneSample(), "--set",
       "processes.strategy=data_parallel", "--set", "processes.world_size=1", "--set",
       "processes.devices=2", "--set", "data.samples=35"});
  EXPECT_EQ(ended.exitCode, static_cast<int>(ExitCode::kUnexpected)) << ended.err;
  EXPECT_EQ(cli::lineCount(ended.err), 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("rank 0"), HasSubstr("replica 1 on device cpu 1, forward"),
                               HasSubstr("one sample is too few")));
}

}  // namespace
}  // namespace lockstep::rank
