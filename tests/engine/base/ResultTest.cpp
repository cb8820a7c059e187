#include "engine/base/Result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace lockstep::base {
namespace {

Error someError() {
  return Error{ExitCode::kBadInput, "unknown key \"sped\"", "demo.toml:7:3"};
}

TEST(ResultTest, HoldsAValueThatCanBeMovedOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 5);
}

TEST(ResultTest, HoldsAnErrorWithItsPlaceAndCode) {
  const Result<int> result = someError();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ExitCode::kBadInput);
  EXPECT_EQ(result.error().message(), "demo.toml:7:3: unknown key \"sped\"");
}

TEST(ResultTest, KeepsTheLowerTextWhenContextIsAdded) {
  EXPECT_EQ(someError().within("rank 1").message(), "rank 1: demo.toml:7:3: unknown key \"sped\"");
  EXPECT_EQ((Error{ExitCode::kTimeout, "too slow", ""}).message(), "too slow");
  EXPECT_EQ((Error{ExitCode::kTimeout, "too slow", ""}).within("rank 1").message(),
            "rank 1: too slow");
}

TEST(ResultTest, TellsSuccessWithoutAValue) {
  const Status fine;
  EXPECT_TRUE(fine.ok());
  const Status failed = someError();
  EXPECT_FALSE(failed.ok());
}

TEST(ResultTest, SaysWhatTheSystemSaid) {
  errno = ENOENT;
  const Error error = systemError(ExitCode::kEnvironment, "cannot open", "a.txt");
  EXPECT_EQ(error.message(), "a.txt: cannot open: No such file or directory");
}

TEST(ResultDeathTest, EndsTheProcessWhenAnErrorIsTakenForAValue) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const Result<int> failed = someError();
  EXPECT_DEATH((void)failed.value(), "value\\(\\) of a failed Result: demo.toml:7:3");
  const Result<int> fine = 1;
  EXPECT_DEATH((void)fine.error(), "error\\(\\) of a successful Result");
}

}  // namespace
}  // namespace lockstep::base
