#include "engine/train/data/ReadDatasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/train/Files.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

using support::TemporaryFolder;
using testing::HasSubstr;

TEST(TextDatasets, CutTheTextIntoWindowsWhoseTargetsAreOneCharacterLater) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += static_cast<char>('a' + i % 5);
  }
  const auto sets = textDatasets(text, 4, "abc");
  ASSERT_TRUE(sets.ok()) << sets.error().message();
  EXPECT_EQ(sets.value().train->size(), 22);  // 90 characters: 89 / 4
  EXPECT_EQ(sets.value().test->size(), 2);    // 10 characters: 9 / 4
  EXPECT_EQ(sets.value().train->shape().classes, 5);
  const Batch batch = sets.value().train->batch({1});
  EXPECT_TRUE(batch.input.equal(at::tensor({4, 0, 1, 2}, at::kLong).unsqueeze(0)));
  EXPECT_TRUE(batch.target.equal(at::tensor({0, 1, 2, 3}, at::kLong).unsqueeze(0)));
}

TEST(TextDatasets, ShareOneVocabularyEvenWhenACharacterStandsInTheTestPartOnly) {
  std::string text(98, 'b');
  text += '\xE9';
  text += 'a';
  const auto sets = textDatasets(text, 2, "x");
  ASSERT_TRUE(sets.ok());
  EXPECT_EQ(sets.value().train->shape().classes, 3);
  EXPECT_EQ(sets.value().train->batch({0}).input[0][0].item<int>(), 1);
  EXPECT_EQ(sets.value().test->batch({3}).target[0][1].item<int>(), 2);
}

TEST(TextDatasets, SayHowLongATextMustBe) {
  const auto sets = textDatasets("short", 64, "poem.txt");
  ASSERT_FALSE(sets.ok());
  EXPECT_EQ(sets.error().message(),
            "poem.txt: data.file: 5 characters; with model.context 64 at least 650 are needed");
}

TEST(ReadText, ReadsGzip) {
  const TemporaryFolder folder;
  writeGzip(folder / "t.gz", std::string(1000, 'x'));
  const auto sets = readText(folder / "t.gz", 8);
  ASSERT_TRUE(sets.ok()) << sets.error().message();
  EXPECT_EQ(sets.value().train->size(), 112);
  EXPECT_THAT(readText(folder / "none", 8).error().message(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace lockstep::train
