#include "engine/ddp/CheckpointPrefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "engine/ddp/DdpError.h"

namespace lockstep::ddp {
namespace {

using testing::ElementsAre;

std::vector<std::string> keysOf(const StateDict& state) {
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : state) {
    keys.push_back(key);
  }
  return keys;
}

TEST(CheckpointPrefix, GoesOnAndComesOffWithTheSameTensors) {
  const StateDict state{{"fc.weight", at::ones({2})}, {"module", at::zeros({1})}};
  const StateDict wrapped = withPrefix(state);
  EXPECT_THAT(keysOf(wrapped), ElementsAre("module.fc.weight", "module.module"));
  const StateDict back = withoutPrefix(wrapped);
  EXPECT_THAT(keysOf(back), ElementsAre("fc.weight", "module"));
  EXPECT_TRUE(back.at("fc.weight").is_same(state.at("fc.weight")));
}

TEST(CheckpointPrefix, ComesOffOnceAndOnlyInFront) {
  const StateDict state{{"module.module.a", {}}, {"a.module.b", {}}, {"modules.c", {}}};
  EXPECT_THAT(keysOf(withoutPrefix(state)), ElementsAre("a.module.b", "module.a", "modules.c"));
  EXPECT_THAT(keysOf(withoutPrefix(state, "a.")),
              ElementsAre("module.b", "module.module.a", "modules.c"));
}

TEST(CheckpointPrefix, NamesTwoKeysThatWouldBecomeOne) {
  const StateDict state{{"module.a", {}}, {"a", {}}};
  try {
    static_cast<void>(withoutPrefix(state));
    ADD_FAILURE() << "no error";
  } catch (const DdpError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("both 'a' and 'module.a'"));
  }
}

}  // namespace
}  // namespace lockstep::ddp
