#include "engine/process_group/shared_memory/Segment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <limits>

#include "tests/support/ChildProcess.h"
#include "tests/support/ChildRole.h"

namespace lockstep::process_group::shared_memory {
namespace {

using testing::AllOf;
using testing::HasSubstr;

posix::Descriptor copyOf(const Segment& segment) {
  return posix::Descriptor(fcntl(segment.file(), F_DUPFD_CLOEXEC, 0));
}

TEST(Segment, IsZeroedAlignedAndAsLargeAsAskedFor) {
  for (const std::uint64_t bytes : {1u, 4096u, 4097u, 3u << 20}) {
    const auto made = Segment::create(bytes);
    ASSERT_TRUE(made.ok()) << made.error().message();
    const Segment& segment = *made.value();
    EXPECT_GE(segment.bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(segment.data()) % 4096, 0u);
    for (const std::uint64_t offset : {std::uint64_t{0}, bytes - 1, segment.bytes() - 1}) {
      EXPECT_EQ(segment.data()[offset], std::byte{0});
    }
  }
}

TEST(Segment, IsFoundByEveryAddressInItAsLongAsItLives) {
  auto made = Segment::create(10'000);
  ASSERT_TRUE(made.ok());
  std::shared_ptr<Segment> segment = std::move(made).value();
  const std::byte* data = segment->data();
  const std::uint64_t bytes = segment->bytes();
  EXPECT_EQ(Segment::holding(data, bytes), segment);
  EXPECT_EQ(Segment::holding(data + bytes - 1, 1), segment);
  EXPECT_EQ(Segment::holding(data + bytes - 1, 2), nullptr);
  EXPECT_EQ(Segment::holding(data + bytes, 1), nullptr);
  const std::uint64_t own = 0;
  EXPECT_EQ(Segment::holding(&own, sizeof(own)), nullptr);
  segment.reset();
  EXPECT_EQ(Segment::holding(data, 1), nullptr);
}

TEST(Segment, IsGivenBackWhenItsLastUserGoesWhoIsTold) {
  const std::size_t before = Segment::count();
  std::uint64_t gone = 0;
  {
    auto made = Segment::create(4096);
    ASSERT_TRUE(made.ok());
    const std::uint64_t id = made.value()->id();
    made.value()->whenGone([&](std::uint64_t which) { gone = which; });
    EXPECT_EQ(Segment::count(), before + 1);
    EXPECT_EQ(gone, 0u);
    gone = 0;
    made.value().reset();
    EXPECT_EQ(gone, id);
  }
  EXPECT_EQ(Segment::count(), before);
}

TEST(Segment, RefusesMoreThanThereIsAndSaysWhy) {
  const auto refused = Segment::create(std::uint64_t{1} << 50);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::ExitCode::kEnvironment);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("cannot reserve 1125899906842624 bytes of shared memory: "),
                    testing::AnyOf(HasSubstr("the host has "), HasSubstr("the control group "))));
}

// In a process of its own, since the limit holds for all of it.
int reserveBeyondFileLimit(const std::vector<std::string>&) {
  const rlimit limit{1 << 20, RLIM_INFINITY};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
    return 3;
  }
  const auto refused = Segment::create(2u << 20);
  std::printf("%s\n", refused.ok() ? "it was made" : refused.error().message().c_str());
  return Segment::create(1u << 19).ok() ? 0 : 4;
}
const support::RegisterChildRole limited("reserve-beyond-file-limit", reserveBeyondFileLimit);

TEST(Segment, RefusesMoreThanTheLimitOnFilesInsteadOfDyingOfIt) {
  auto child = support::ChildProcess::self("reserve-beyond-file-limit");
  EXPECT_EQ(child.readLine(),
            "cannot reserve 2097152 bytes of shared memory: the limit on file "
            "size (ulimit -f) is 1048576 bytes");
  EXPECT_EQ(child.wait(), support::ExitStatus{}) << child.errors();
}

TEST(Segment, CannotBeCutShortByWhoHoldsItsFile) {
  const auto made = Segment::create(8192);
  ASSERT_TRUE(made.ok());
  EXPECT_NE(ftruncate(made.value()->file(), 4096), 0);
}

TEST(Segment, AdoptsWhatAnotherProcessHasMadeAndNothingElse) {
  // This process's own comes back as it is.
  const auto made = Segment::create(4096);
  ASSERT_TRUE(made.ok());
  const auto same = Segment::adopt(copyOf(*made.value()), made.value()->bytes());
  ASSERT_TRUE(same.ok()) << same.error().message();
  EXPECT_EQ(same.value(), made.value());

  EXPECT_FALSE(Segment::adopt(posix::Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC)), 1).ok());
  EXPECT_FALSE(Segment::adopt(copyOf(*made.value()), made.value()->bytes() + 1).ok());
  posix::Descriptor unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  const auto refused = Segment::adopt(std::move(unsealed), 4096);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), HasSubstr("not sealed"));

  // Another's is mapped.
  posix::Descriptor other(memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(other.get(), 4096), 0);
  ASSERT_EQ(pwrite(other.get(), "hello", 5, 100), 5);
  ASSERT_EQ(fcntl(other.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const auto adopted = Segment::adopt(std::move(other), 4096);
  ASSERT_TRUE(adopted.ok()) << adopted.error().message();
  EXPECT_EQ(std::memcmp(adopted.value()->data() + 100, "hello", 5), 0);
}

}  // namespace
}  // namespace lockstep::process_group::shared_memory
