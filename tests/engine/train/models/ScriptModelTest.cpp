#include "engine/train/models/ScriptModel.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "tests/engine/train/Files.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

using support::TemporaryFolder;
using testing::HasSubstr;

const DataShape kData{{4}, c10::kFloat, 3};

/// Writes a script with a child module "fc" and a buffer that counts training steps.
void save(const std::filesystem::path& path, const std::string& forward) {
  torch::jit::Module fc("fc");
  fc.register_parameter("weight", at::full({3, 4}, 0.5).requires_grad_(true), false);
  torch::jit::Module root("net");
  root.register_module("fc", fc);
  root.register_parameter("bias", at::zeros({3}).requires_grad_(true), false);
  root.register_buffer("steps", at::zeros({}));
  root.register_attribute("training", c10::BoolType::get(), true);
  fc.register_attribute("training", c10::BoolType::get(), true);
  root.define(forward);
  root.save(path.string());
}

constexpr const char* kForward = R"(
def forward(self, x):
    if self.training:
        self.steps.add_(1)
    return torch.matmul(x, self.fc.weight.t()) + self.bias
)";

std::string refusalOfFile(const std::filesystem::path& path) {
  const auto model = loadScriptModel(path, kData);
  return model.ok() ? "accepted" : model.error().message();
}

TEST(LoadScriptModel, RegistersParametersUnderTheirNamesAndTrainsThem) {
  const TemporaryFolder folder;
  save(folder / "net.pt", kForward);
  const auto loaded = loadScriptModel(folder / "net.pt", kData);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  Model& model = *loaded.value();
  EXPECT_THAT(model.named_parameters().keys(), testing::UnorderedElementsAre("bias", "fc.weight"));
  EXPECT_THAT(model.named_buffers().keys(), testing::ElementsAre("steps"));
  EXPECT_EQ(model.named_buffers()["steps"].item<float>(), 0) << "the trial run left a trace";

  const at::Tensor input = at::ones({2, 4});
  const at::Tensor target = at::zeros({2}, at::kLong);
  const at::Tensor before = model.loss(model.forward(input), target);
  before.backward();
  {
    at::NoGradGuard noGrad;
    for (auto& parameter : model.parameters()) {
      ASSERT_TRUE(parameter.grad().defined());
      parameter.sub_(parameter.grad());
    }
  }
  EXPECT_LT(model.loss(model.forward(input), target).item<float>(), before.item<float>());
  EXPECT_EQ(model.named_buffers()["steps"].item<float>(), 2);
  model.eval();
  model.forward(input);
  EXPECT_EQ(model.named_buffers()["steps"].item<float>(), 2);
}

TEST(LoadScriptModel, SaysWhatTheScriptGivesWhenTheDataNeedSomethingElse) {
  const TemporaryFolder folder;
  save(folder / "narrow.pt", "def forward(self, x):\n    return x[:, :2]\n");
  EXPECT_THAT(refusalOfFile(folder / "narrow.pt"),
              HasSubstr("gives Float [1, 2] for an input [1, 4]; the data need logits"));
  save(folder / "throws.pt", "def forward(self, x):\n    return torch.matmul(x, x)\n");
  EXPECT_THAT(refusalOfFile(folder / "throws.pt"), HasSubstr("does not take an input [1, 4]: "));
  EXPECT_THAT(refusalOfFile(folder / "throws.pt"), testing::Not(HasSubstr("\n")));
  save(folder / "tuple.pt", "def forward(self, x):\n    return (x, x)\n");
  EXPECT_THAT(refusalOfFile(folder / "tuple.pt"), HasSubstr("returns a Tuple"));
}

TEST(LoadScriptModel, NamesAFileThatIsMissingOrDamaged) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusalOfFile(folder / "none.pt"), HasSubstr("none.pt: model.file: no such file"));
  writeFile(folder / "text.pt", "this is no archive");
  EXPECT_THAT(refusalOfFile(folder / "text.pt"),
              HasSubstr("text.pt: model.file: not a TorchScript file"));
  EXPECT_THAT(refusalOfFile(folder / "text.pt"), testing::Not(HasSubstr("\n")));
  save(folder / "whole.pt", kForward);
  const std::string bytes = readFile(folder / "whole.pt");
  writeFile(folder / "half.pt", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(refusalOfFile(folder / "half.pt"), HasSubstr("not a TorchScript file"));
}

}  // namespace
}  // namespace lockstep::train
