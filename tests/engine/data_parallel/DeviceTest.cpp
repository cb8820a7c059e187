#include "engine/data_parallel/Device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::data_parallel {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

std::vector<Device> sized(std::vector<std::uint64_t> memory, std::vector<std::uint32_t> cores) {
  auto devices = virtualDevices(static_cast<int>(memory.size()));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].memoryBytes = memory[i];
    devices[i].cores = cores[i];
  }
  return devices;
}

TEST(Device, WarnsOfADeviceWithLessThanThreeQuartersOfTheMemory) {
  EXPECT_THAT(imbalance(sized({1000, 749}, {4, 4})),
              Optional(AllOf(HasSubstr("device cpu 1"), HasSubstr("memory"),
                             HasSubstr("of device cpu 0 (749 against 1000)"))));
  EXPECT_EQ(imbalance(sized({1000, 750}, {4, 4})), std::nullopt);
}

TEST(Device, WarnsOfADeviceWithLessThanThreeQuartersOfTheCores) {
  EXPECT_THAT(imbalance(sized({8, 8, 8}, {4, 2, 4})),
              Optional(AllOf(HasSubstr("device cpu 1"), HasSubstr("cores"))));
  EXPECT_EQ(imbalance(sized({8, 8, 8}, {4, 3, 4})), std::nullopt);
}

TEST(Device, SaysNothingOfWhatItDoesNotKnow) {
  EXPECT_EQ(imbalance(virtualDevices(4)), std::nullopt);
  EXPECT_EQ(imbalance(sized({0, 1000}, {0, 4})), std::nullopt);
}

TEST(Device, NamesVirtualDevicesByNumberAndOthersByPlace) {
  EXPECT_EQ(virtualDevices(3).back().name(), "cpu 2");
  EXPECT_EQ((Device{c10::Device(c10::kCUDA, 1)}).name(), "cuda:1");
}

}  // namespace
}  // namespace lockstep::data_parallel
