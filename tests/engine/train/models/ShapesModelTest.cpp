#include "engine/train/models/ShapesModel.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/engine/train/Files.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

using support::TemporaryFolder;
using testing::HasSubstr;

std::string refusalOfShapes(const std::string& json) {
  const TemporaryFolder folder;
  writeFile(folder / "shapes.json", json);
  const auto layers = readShapes(folder / "shapes.json");
  return layers.ok() ? "accepted" : layers.error().what;
}

TEST(ShapesModel, GivesGradientsOfTheRightShapeAndDtypeInBackwardOrder) {
  ShapesModel model({{"a.weight", {3, 4}, c10::kFloat, 0, 0},
                     {"a.bias", {3}, c10::kDouble, 0, 0},
                     {"b", {2, 2, 2}, c10::kBFloat16, 0, 0}});
  const at::Tensor output = model.forward(at::full({5, 7}, 2.0));
  model.loss(output, at::Tensor()).backward();
  EXPECT_EQ(model.named_parameters().keys(), (std::vector<std::string>{"b", "a.weight", "a.bias"}));
  for (const auto& parameter : model.named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_EQ(parameter.value().grad().sizes(), parameter.value().sizes());
    EXPECT_EQ(parameter.value().grad().scalar_type(), parameter.value().scalar_type());
    // The mean of the batch.
    EXPECT_TRUE(parameter.value().grad().eq(2.0).all().item<bool>());
  }
}

TEST(ShapesModel, TakesTheTimesOfItsLayers) {
  ShapesModel model({{"a", {1000}, c10::kFloat, 3000, 8000}, {"b", {10}, c10::kFloat, 2000, 7000}});
  const auto start = std::chrono::steady_clock::now();
  const at::Tensor output = model.forward(at::ones({1}));
  const auto middle = std::chrono::steady_clock::now();
  output.backward();
  const auto end = std::chrono::steady_clock::now();
  EXPECT_GE(middle - start, std::chrono::microseconds(5000));
  EXPECT_GE(end - middle, std::chrono::microseconds(15000));
}

TEST(ReadShapes, ReadsNamesShapesDtypesAndTimes) {
  const TemporaryFolder folder;
  writeFile(folder / "shapes.json", R"({"layers": [
    {"name": "fc.weight", "shape": [10, 5], "dtype": "float16", "forward_us": 1.5, "backward_us": 3},
    {"name": "fc.bias", "shape": []}]})");
  const auto layers = readShapes(folder / "shapes.json");
  ASSERT_TRUE(layers.ok()) << layers.error().message();
  ASSERT_EQ(layers.value().size(), 2u);
  EXPECT_EQ(layers.value()[0].name, "fc.weight");
  EXPECT_EQ(layers.value()[0].shape, (std::vector<std::int64_t>{10, 5}));
  EXPECT_EQ(layers.value()[0].dtype, c10::kHalf);
  EXPECT_EQ(layers.value()[0].forwardUs, 1.5);
  EXPECT_EQ(layers.value()[0].backwardUs, 3);
  EXPECT_EQ(layers.value()[1].dtype, c10::kFloat);
}

TEST(ReadShapes, NamesTheLayerAndTheMemberThatIsWrong) {
  EXPECT_EQ(refusalOfShapes(R"({"layers":[{"name":"a","shape":[1]},{"name":"b","shape":[0]}]})"),
            "model.file: layers[1]: shape has 0; sizes are whole numbers from 1");
  EXPECT_EQ(
      refusalOfShapes(R"({"layers":[{"name":"a","shape":[1],"dtype":"int8"}]})"),
      "model.file: layers[0]: dtype is \"int8\"; allowed: float32, float64, float16, bfloat16");
  EXPECT_EQ(refusalOfShapes(R"({"layers":[{"name":"a","shape":[1],"forward_us":-1}]})"),
            "model.file: layers[0]: forward_us is -1; a time in microseconds, 0 to 60,000,000");
  EXPECT_THAT(refusalOfShapes(R"({"layers":[{"name":"a","shape":[1],"time":1}]})"),
              HasSubstr("unknown member time; known: name"));
  EXPECT_EQ(refusalOfShapes(R"({"layers":[{"name":"a"}]})"), "model.file: layers[0]: shape is missing");
  EXPECT_THAT(refusalOfShapes(R"({"layers":[{"shape":[1]}]})"), HasSubstr("name is \"\""));
  EXPECT_THAT(refusalOfShapes(R"({"layers":[{"name":"a","shape":[4000000,4000000]}]})"),
              HasSubstr("more than 2^40 elements"));
}

TEST(ReadShapes, RefusesNamesThatCannotStandTogether) {
  for (const char* pair : {R"("a"},{"shape":[1],"name":"a")", R"("a"},{"shape":[1],"name":"a.b")",
                           R"("a.b"},{"shape":[1],"name":"a")"}) {
    EXPECT_THAT(refusalOfShapes(std::string(R"({"layers":[{"shape":[1],"name":)") + pair + "}]}"),
                HasSubstr("layers[1]: the name a"))
        << pair;
  }
}

TEST(ReadShapes, SaysWhereAFileIsNoJsonAndWhatItMustHold) {
  EXPECT_EQ(refusalOfShapes("{\"layers\": ["), "model.file: not JSON at byte 13");
  EXPECT_THAT(refusalOfShapes("{}"), HasSubstr("needs a member \"layers\""));
  EXPECT_THAT(refusalOfShapes(R"({"layers":[]})"), HasSubstr("at least one layer"));
  EXPECT_THAT(readShapes("/no/such.json").error().message(), HasSubstr("/no/such.json"));
}

}  // namespace
}  // namespace lockstep::train
