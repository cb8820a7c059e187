#include "engine/train/data/ReadDatasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/train/Files.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

using support::TemporaryFolder;
using testing::HasSubstr;

TEST(ReadMnist, NormalisesAsTorchvisionDoes) {
  const TemporaryFolder folder;
  writeStripedDigits(folder.path(), 20, 10);
  const auto sets = readMnist(folder.path());
  ASSERT_TRUE(sets.ok()) << sets.error().message();
  EXPECT_EQ(sets.value().train->size(), 20);
  EXPECT_EQ(sets.value().test->size(), 10);
  EXPECT_EQ(sets.value().train->shape().classes, 10);
  const Batch batch = sets.value().train->batch({3, 0});
  EXPECT_EQ(batch.input.sizes(), at::IntArrayRef({2, 1, 28, 28}));
  EXPECT_EQ(batch.target[0].item<int>(), 21 % 10);
  EXPECT_FLOAT_EQ(batch.input.min().item<float>(), -0.1307f / 0.3081f);
  // Sample 0 has label 0: rows 0 and 1 are lit, from 128 on.
  EXPECT_FLOAT_EQ(batch.input[1][0][0][0].item<float>(), (128 / 255.0f - 0.1307f) / 0.3081f);
}

TEST(ReadMnist, PrefersThePlainFileAndNamesAMissingOne) {
  const TemporaryFolder folder;
  writeStripedDigits(folder.path(), 20, 10);
  std::filesystem::remove(folder / "t10k-labels-idx1-ubyte.gz");
  const auto missing = readMnist(folder.path());
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message(),
              HasSubstr("neither t10k-labels-idx1-ubyte nor t10k-labels-idx1-ubyte.gz"));
  writeFile(folder / "t10k-labels-idx1-ubyte", idx({10}, std::string(10, '\x0B')));
  const auto sets = readMnist(folder.path());
  ASSERT_TRUE(sets.ok()) << sets.error().message();
  EXPECT_EQ(sets.value().test->shape().classes, 12);
}

TEST(ReadMnist, RefusesPicturesAndLabelsThatDifferInNumber) {
  const TemporaryFolder folder;
  writeStripedDigits(folder.path(), 20, 10);
  writeFile(folder / "train-labels-idx1-ubyte", idx({19}, std::string(19, '\1')));
  EXPECT_THAT(readMnist(folder.path()).error().what, HasSubstr("20 train pictures, but 19 labels"));
}

TEST(ReadMnist, NamesAFolderThatIsNotThere) {
  EXPECT_THAT(readMnist("/no/such/folder").error().message(),
              HasSubstr("/no/such/folder: data.folder: no such folder"));
}

}  // namespace
}  // namespace lockstep::train
