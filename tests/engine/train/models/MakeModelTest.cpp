#include "engine/train/models/MakeModel.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace lockstep::train {
namespace {

using testing::HasSubstr;

const DataShape kMnist{{1, 28, 28}, c10::kFloat, 10};

std::shared_ptr<Model> make(const experiment::ModelConfig& config, const DataShape& data = kMnist) {
  auto model = makeModel(config, data);
  EXPECT_TRUE(model.ok()) << model.error().message();
  return std::move(model).value();
}

std::string refusal(const experiment::ModelConfig& config, const DataShape& data) {
  const auto model = makeModel(config, data);
  return model.ok() ? "accepted" : model.error().message();
}

std::int64_t count(const Model& model) {
  std::int64_t numel = 0;
  for (const auto& parameter : model.parameters()) {
    numel += parameter.numel();
  }
  return numel;
}

at::IntArrayRef outputSizes(Model& model, const at::Tensor& input, at::Tensor& keep) {
  keep = model.forward(input);
  return keep.sizes();
}

TEST(MakeModel, MakesAnMlpOfTheGivenSizes) {
  experiment::ModelConfig config;
  config.layers = {784, 100, 10};
  const auto model = make(config);
  EXPECT_EQ(count(*model), 784 * 100 + 100 + 100 * 10 + 10);
  EXPECT_EQ(model->named_parameters().keys(),
            (std::vector<std::string>{"layers.0.weight", "layers.0.bias", "layers.1.weight",
                                      "layers.1.bias"}));
  at::Tensor output;
  EXPECT_EQ(outputSizes(*model, at::zeros({3, 1, 28, 28}), output), at::IntArrayRef({3, 10}));
}

TEST(MakeModel, MakesANetworkOfLeNetsSize) {
  experiment::ModelConfig config;
  config.kind = "cnn";
  const auto model = make(config);
  EXPECT_EQ(count(*model), 61706);  // LeNet-5 as it is usually counted
  at::Tensor output;
  EXPECT_EQ(outputSizes(*model, at::zeros({2, 1, 28, 28}), output), at::IntArrayRef({2, 10}));
}

TEST(MakeModel, MakesTheResNet18ForSmallPictures) {
  experiment::ModelConfig config;
  config.kind = "resnet18";
  const auto colour = make(config, {{3, 32, 32}, c10::kFloat, 10});
  EXPECT_EQ(count(*colour), 11173962);
  EXPECT_EQ(colour->named_parameters().size(), 62u);
  EXPECT_EQ(colour->named_buffers().size(), 60u);  // 20 batch norms: mean, variance, batches
  EXPECT_TRUE(colour->named_parameters().contains("layer4.1.bn2.weight"));
  EXPECT_TRUE(colour->named_parameters().contains("layer2.0.downsample.0.weight"));
  const auto grey = make(config);
  EXPECT_EQ(count(*grey), 11173962 - 2 * 64 * 9);
  at::Tensor output;
  EXPECT_EQ(outputSizes(*colour, at::zeros({2, 3, 32, 32}), output), at::IntArrayRef({2, 10}));
  EXPECT_EQ(outputSizes(*grey, at::zeros({2, 1, 28, 28}), output), at::IntArrayRef({2, 10}));
}

TEST(MakeModel, MakesACharGptWhoseOutputDoesNotSeeTheFuture) {
  experiment::ModelConfig config;
  config.kind = "char_gpt";
  config.embedding = 32;
  config.heads = 4;
  config.depth = 2;
  config.context = 16;
  const auto model = make(config, {{16}, c10::kLong, 50});
  // Embeddings, two blocks of 12 e^2 + 13 e, the last norm and the head.
  EXPECT_EQ(count(*model), 50 * 32 + 16 * 32 + 2 * (12 * 32 * 32 + 13 * 32) + 64 + 50 * 32);
  at::Tensor input = at::randint(50, {2, 16}, at::kLong);
  const at::Tensor before = model->forward(input);
  EXPECT_EQ(before.sizes(), at::IntArrayRef({2, 16, 50}));
  input.slice(1, 10).fill_(1);
  const at::Tensor after = model->forward(input);
  EXPECT_TRUE(at::allclose(before.slice(1, 0, 10), after.slice(1, 0, 10), 1e-5, 1e-6));
  EXPECT_FALSE(at::allclose(before.slice(1, 10), after.slice(1, 10), 1e-5, 1e-6));
}

TEST(MakeModel, MakesFortyEightEqualLayersForDeepLinear) {
  experiment::ModelConfig config;
  config.kind = "deep_linear";
  const auto model = make(config, {{512}, c10::kFloat, 10});
  EXPECT_EQ(model->parameters().size(), 96u);
  EXPECT_EQ(count(*model), 48 * (512 * 512 + 512));
}

TEST(MakeModel, TakesTheMeanCrossEntropyOfLogitsWithAndWithoutATimeDimension) {
  experiment::ModelConfig config;
  config.layers = {784, 4};
  const auto model = make(config, {{784}, c10::kFloat, 4});
  const at::Tensor flat = model->loss(at::zeros({6, 4}), at::zeros({6}, at::kLong));
  EXPECT_NEAR(flat.item<double>(), std::log(4), 1e-6);
  const at::Tensor timed = model->loss(at::zeros({2, 3, 4}), at::zeros({2, 3}, at::kLong));
  EXPECT_NEAR(timed.item<double>(), std::log(4), 1e-6);
}

TEST(MakeModel, NamesTheKeyAndBothSizesWhenModelAndDataDoNotFit) {
  experiment::ModelConfig config;
  config.layers = {100, 10};
  EXPECT_EQ(
      refusal(config, kMnist),
      "model.layers: the first size is 100, a sample of the data has 784 numbers [1, 28, 28]; "
      "make them equal");
  config.layers = {784, 5};
  EXPECT_EQ(refusal(config, kMnist), "model.layers: the last size is 5, the data have 10 classes");
  config.layers = {784};
  EXPECT_THAT(refusal(config, kMnist), HasSubstr("at least two sizes"));
  config.kind = "cnn";
  EXPECT_THAT(refusal(config, {{1, 32, 32}, c10::kFloat, 10}), HasSubstr("use resnet18"));
  EXPECT_THAT(refusal(config, {{64}, c10::kLong, 90}), HasSubstr("cnn needs pictures"));
  config.classes = 3;
  EXPECT_EQ(refusal(config, kMnist), "model.classes: is 3, the data have 10 classes");
  config.kind = "char_gpt";
  EXPECT_THAT(refusal(config, kMnist), HasSubstr("data.kind = \"text\""));
  config.heads = 3;
  EXPECT_EQ(refusal(config, {{64}, c10::kLong, 90}),
            "model.heads: 3 does not divide model.embedding 128");
  config.kind = "deep_linear";
  EXPECT_THAT(refusal(config, kMnist), HasSubstr("model.width: is 512"));
}

TEST(MakeModel, GivesTheSameWeightsForTheSameSeed) {
  experiment::ModelConfig config;
  config.kind = "cnn";
  at::manual_seed(7);
  const auto a = make(config);
  at::manual_seed(7);
  const auto b = make(config);
  for (std::size_t i = 0; i < a->parameters().size(); ++i) {
    EXPECT_TRUE(a->parameters()[i].equal(b->parameters()[i]));
  }
}

TEST(DescribeModelJson, ListsNamesShapesDtypesAndBytes) {
  experiment::ModelConfig config;
  config.kind = "resnet18";
  const auto json = nlohmann::json::parse(
      describeModelJson("resnet18", *make(config, {{3, 32, 32}, c10::kFloat, 10})));
  EXPECT_EQ(json["model"], "resnet18");
  EXPECT_EQ(json["bytes"], 4 * 11173962);
  EXPECT_EQ(json["parameters"].size(), 62u);
  EXPECT_EQ(json["parameters"][0]["name"], "conv1.weight");
  EXPECT_EQ(json["parameters"][0]["shape"], nlohmann::json({64, 3, 3, 3}));
  EXPECT_EQ(json["parameters"][0]["dtype"], "float32");
  EXPECT_EQ(json["parameters"][0]["bytes"], 64 * 27 * 4);
  EXPECT_EQ(json["buffers"][2]["dtype"], "int64");
}

}  // namespace
}  // namespace lockstep::train
