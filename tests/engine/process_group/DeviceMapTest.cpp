#include <gmock/gmock.h>

#include "engine/process_group/DeviceGroup.h"

namespace lockstep::process_group {
namespace {

using testing::HasSubstr;

std::string refusalOfMap(const std::string& text) {
  const auto map = parseDeviceMap(text);
  return map.ok() ? "accepted" : map.error().message();
}

TEST(DeviceMap, ReadsPairsOfDeviceAndBackend) {
  const auto map = parseDeviceMap("cpu:gloo,cuda:nccl");
  ASSERT_TRUE(map.ok()) << map.error().message();
  ASSERT_EQ(map.value().size(), 2u);
  EXPECT_EQ(map.value()[0].device, c10::DeviceType::CPU);
  EXPECT_EQ(map.value()[0].backend, "gloo");
  EXPECT_EQ(map.value()[1].device, c10::DeviceType::CUDA);
  EXPECT_EQ(map.value()[1].backend, "nccl");
}

TEST(DeviceMap, TakesAPlainNameForEveryDevice) {
  const auto map = parseDeviceMap("gloo");
  ASSERT_TRUE(map.ok());
  ASSERT_EQ(map.value().size(), 1u);
  EXPECT_EQ(map.value()[0].backend, "gloo");
}

TEST(DeviceMap, NamesThePartThatIsWrong) {
  EXPECT_THAT(refusalOfMap(""), HasSubstr("the name is empty"));
  EXPECT_THAT(refusalOfMap("cpu:gloo,"), HasSubstr("\"\" is no pair of a device and a backend"));
  EXPECT_THAT(refusalOfMap("cpu:"), HasSubstr("\"cpu:\" is no pair"));
  EXPECT_THAT(refusalOfMap("cpu:gloo,nccl"), HasSubstr("\"nccl\" is no pair"));
  EXPECT_THAT(refusalOfMap("gpu:nccl"), HasSubstr("there is no device type \"gpu\""));
  EXPECT_THAT(refusalOfMap("cpu:gloo,cpu:mpi"), HasSubstr("device cpu stands in it twice"));
}

}  // namespace
}  // namespace lockstep::process_group
