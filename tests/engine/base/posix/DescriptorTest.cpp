#include "engine/base/posix/Descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <utility>

#include "engine/base/posix/Mapping.h"

namespace lockstep::posix {
namespace {

bool isOpen(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

Descriptor anyFile() {
  return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

TEST(DescriptorTest, ClosesWhatItOwnsOnce) {
  int fd = -1;
  {
    Descriptor first = anyFile();
    fd = first.get();
    const Descriptor second = std::move(first);
    EXPECT_FALSE(first.open());
    EXPECT_EQ(second.get(), fd);
    EXPECT_TRUE(isOpen(fd));
  }
  EXPECT_FALSE(isOpen(fd));
}

TEST(DescriptorTest, ClosesWhatItOwnedWhenItIsGivenAnother) {
  Descriptor one = anyFile();
  const int before = one.get();
  one = anyFile();
  EXPECT_FALSE(isOpen(before));
  EXPECT_TRUE(isOpen(one.get()));
}

TEST(DescriptorTest, LeavesOpenWhatItReleases) {
  Descriptor one = anyFile();
  const Descriptor other(one.release());
  EXPECT_FALSE(one.open());
  EXPECT_TRUE(isOpen(other.get()));
}

TEST(DescriptorTest, KeepsTheReasonOfAFailureWhenItCloses) {
  Descriptor one = anyFile();
  ::close(one.get());  // closing it again fails with EBADF
  errno = ENOENT;
  one.reset();
  EXPECT_EQ(errno, ENOENT);
}

TEST(MappingTest, TwoMappingsOfAFileShareItsMemory) {
  Descriptor file(memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), 4096), 0);
  Mapping one(file.get(), 4096);
  const Mapping other(file.get(), 4096);
  file.reset();
  const Mapping moved = std::move(one);
  EXPECT_EQ(one.data(), nullptr);
  std::strcpy(static_cast<char*>(moved.data()), "written");
  EXPECT_STREQ(static_cast<const char*>(other.data()), "written");
}

TEST(MappingTest, SaysWhyThereIsNone) {
  const Mapping none(-1, 4096);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(none.data(), nullptr);
}

}  // namespace
}  // namespace lockstep::posix
