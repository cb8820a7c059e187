#include "engine/train/Checkpoint.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include "engine/train/Fingerprint.h"
#include "engine/train/MakeOptimizer.h"
#include "engine/train/Safetensors.h"
#include "engine/train/models/MakeModel.h"
#include "tests/engine/train/Files.h"
#include "tests/engine/train/Python.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

using support::TemporaryFolder;
using testing::HasSubstr;

struct Trainee {
  std::shared_ptr<Model> model;
  std::unique_ptr<torch::optim::Optimizer> optimizer;

  explicit Trainee(const std::string& kind, const std::string& optimizerKind = "sgd",
                   std::vector<std::int64_t> layers = {784, 8, 10}) {
    experiment::ModelConfig model;
    model.kind = kind;
    model.layers = std::move(layers);
    this->model = makeModel(model, {{1, 28, 28}, c10::kFloat, 10}).value();
    experiment::OptimizerConfig config;
    config.kind = optimizerKind;
    optimizer = makeOptimizer(config, this->model->parameters()).value();
  }

  void step(int number) {
    at::manual_seed(static_cast<std::uint64_t>(number));
    const at::Tensor input = at::randn({4, 1, 28, 28});
    const at::Tensor target = at::randint(10, {4}, at::kLong);
    optimizer->zero_grad();
    model->loss(model->forward(input), target).backward();
    optimizer->step();
  }
};

class CheckpointOf
    : public testing::TestWithParam<std::tuple<const char* /*model*/, const char* /*optimizer*/>> {
};

TEST_P(CheckpointOf, GoesOnBitForBitAsIfItHadNeverStopped) {
  const auto [kind, optimizerKind] = GetParam();
  const TemporaryFolder folder;
  Trainee whole(kind, optimizerKind);
  for (int i = 0; i < 2; ++i) whole.step(i);
  const Position position{2, 1, 128, -7};
  ASSERT_TRUE(saveCheckpoint(folder / "c", *whole.model, *whole.optimizer, position).ok());
  for (int i = 2; i < 4; ++i) whole.step(i);

  Trainee resumed(kind, optimizerKind);
  const auto loaded = loadCheckpoint(folder / "c", *resumed.model, *resumed.optimizer);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  EXPECT_EQ(loaded.value(), position);
  for (int i = 2; i < 4; ++i) resumed.step(i);
  EXPECT_EQ(parameterHash(*resumed.model), parameterHash(*whole.model));
  const auto expected = whole.model->named_buffers();
  for (const auto& buffer : resumed.model->named_buffers()) {
    EXPECT_TRUE(buffer.value().equal(expected[buffer.key()])) << buffer.key();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CheckpointOf,
                         testing::Combine(testing::Values("mlp", "resnet18"),
                                          testing::Values("sgd", "adam", "adamw")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

TEST(Checkpoint, CanBeLoadedIntoAPyTorchModel) {
  const TemporaryFolder folder;
  Trainee trainee("mlp", "adam");
  trainee.step(0);
  ASSERT_TRUE(saveCheckpoint(folder / "c", *trainee.model, *trainee.optimizer, {1, 0, 4, 5}).ok());
  const auto seen = runPython(R"(
import json, struct, sys
import numpy, torch
data = open(sys.argv[1], 'rb').read()
length, = struct.unpack('<Q', data[:8])
header = json.loads(data[8:8 + length])
meta = header.pop('__metadata__')
types = {'F32': 'float32', 'I64': 'int64'}
state = {}
for name, t in header.items():
  begin, end = t['data_offsets']
  array = numpy.frombuffer(data[8 + length:][begin:end], types[t['dtype']])
  state[name] = torch.from_numpy(array.reshape(t['shape']).copy())
class Net(torch.nn.Module):
  def __init__(self):
    super().__init__()
    self.layers = torch.nn.ModuleList([torch.nn.Linear(784, 8), torch.nn.Linear(8, 10)])
  def forward(self, x):
    return self.layers[1](torch.relu(self.layers[0](x.flatten(1))))
net = Net()
net.load_state_dict({k[6:]: v for k, v in state.items() if k.startswith('model.')})
print(json.dumps({'meta': meta, 'out': net(torch.ones(1, 784))[0].tolist(),
                  'step': state['optimizer.layers.0.bias.step'].item(),
                  'm': list(state['optimizer.layers.1.weight.exp_avg'].shape)}))
)",
                              {(folder / "c").string()});
  EXPECT_EQ(seen["meta"]["step"], "1");
  EXPECT_EQ(seen["meta"]["samples"], "4");
  EXPECT_EQ(seen["meta"]["optimizer"], "adam");
  EXPECT_EQ(seen["step"], 1);
  EXPECT_EQ(seen["m"], nlohmann::json({10, 8}));
  const at::Tensor ours = trainee.model->forward(at::ones({1, 784}));
  for (int i = 0; i < 10; ++i) {
    EXPECT_NEAR(ours[0][i].item<double>(), seen["out"][static_cast<std::size_t>(i)].get<double>(),
                1e-5);
  }
}

class BadCheckpoint : public testing::Test {
 protected:
  BadCheckpoint() {
    trainee_.step(0);
    EXPECT_TRUE(saveCheckpoint(path_, *trainee_.model, *trainee_.optimizer, {1, 0, 4, 0}).ok());
  }

  std::string load(Trainee& into) {
    const auto before = parameterHash(*into.model);
    const auto loaded = loadCheckpoint(path_, *into.model, *into.optimizer);
    EXPECT_EQ(parameterHash(*into.model), before) << "a refused checkpoint changed the model";
    return loaded.ok() ? "loaded" : loaded.error().message();
  }

  void rewrite(const std::function<void(Safetensors&)>& change) {
    auto content = readSafetensors(path_).value();
    change(content);
    ASSERT_TRUE(writeSafetensors(path_, content).ok());
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "c";
  Trainee trainee_{"mlp"};
};

TEST_F(BadCheckpoint, NamesTheTensorWithExpectedAndFoundShapes) {
  Trainee wider("mlp", "sgd", {784, 9, 10});
  EXPECT_EQ(load(wider), path_.string() +
                             ": tensor model.layers.0.weight: expected float32 [9, 784], found "
                             "float32 [8, 784]");
  rewrite([](Safetensors& content) {
    auto& momentum = content.tensors.at("optimizer.layers.1.bias.momentum_buffer");
    momentum = momentum.to(at::kDouble);
  });
  EXPECT_THAT(load(trainee_),
              HasSubstr("tensor optimizer.layers.1.bias.momentum_buffer: expected float32 [10], "
                        "found float64 [10]"));
}

TEST_F(BadCheckpoint, NamesTensorsThatAreMissingOrTooMany) {
  Trainee deeper("mlp", "sgd", {784, 8, 10, 10});
  EXPECT_THAT(load(deeper), HasSubstr("tensor model.layers.2.weight: expected float32 [10, 10], "
                                      "not in the file"));
  rewrite([](Safetensors& content) { content.tensors["model.extra"] = at::ones({2}); });
  EXPECT_THAT(load(trainee_),
              HasSubstr("tensor model.extra, float32 [2]: this model has no such tensor"));
}

TEST_F(BadCheckpoint, NamesBothOptimizersWhenTheyDiffer) {
  Trainee adam("mlp", "adam");
  EXPECT_THAT(load(adam), HasSubstr("was written with optimizer.kind = \"sgd\", this run has "
                                    "\"adam\""));
}

TEST_F(BadCheckpoint, RefusesOtherFilesAndDamagedNumbers) {
  rewrite([](Safetensors& content) { content.metadata["epoch"] = "-1"; });
  EXPECT_THAT(load(trainee_), HasSubstr("metadata epoch is missing or no whole number"));
  rewrite([](Safetensors& content) { content.metadata["format"] = "pt"; });
  EXPECT_THAT(load(trainee_), HasSubstr("no checkpoint of Lockstep"));
}

TEST_F(BadCheckpoint, RefusesOneWithAFlippedBitWhereverItIs) {
  const std::string whole = readFile(path_);
  // The header's texts (a digit of the step among them) and the tensors' bytes.
  for (const std::size_t at : {whole.find("\"step\":\"1\"") + 8, whole.find("\"seed\":\"0\"") + 8,
                               whole.size() / 2, whole.size() - 1}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    writeFile(path_, damaged);
    EXPECT_THAT(load(trainee_), HasSubstr("its checksum differs")) << "byte " << at;
  }
}

TEST_F(BadCheckpoint, OfTheFirstFormatHasNoChecksumAndIsRead) {
  rewrite([](Safetensors& content) {
    content.metadata["format"] = "lockstep-checkpoint-1";
    content.metadata.erase("checksum");
  });
  Trainee into("mlp");
  EXPECT_TRUE(loadCheckpoint(path_, *into.model, *into.optimizer).ok());
}

TEST_F(BadCheckpoint, SaysExpectedAndFoundBytesWhenCutOff) {
  const std::string whole = readFile(path_);
  writeFile(path_, whole.substr(0, whole.size() - 100));
  EXPECT_THAT(load(trainee_), HasSubstr("cut off: "));
}

}  // namespace
}  // namespace lockstep::train
