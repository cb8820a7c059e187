#include "engine/trace/Segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bit>
#include <new>
#include <utility>

namespace lockstep::trace {
namespace {

constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kLastWordsBytes = 4096;
static_assert(sizeof(SegmentHeader) <= kHeaderBytes);

std::size_t laneBytes(std::uint32_t eventsPerLane) {
  return sizeof(LaneHeader) + sizeof(Event) * eventsPerLane;
}

std::size_t segmentBytes(std::uint32_t lanes, std::uint32_t eventsPerLane,
                         std::uint32_t messageRingBytes) {
  return kHeaderBytes + kLastWordsBytes + messageRingBytes + lanes * laneBytes(eventsPerLane);
}

}  // namespace

base::Result<Segment> Segment::create(const SegmentOptions& options) {
  LOCKSTEP_CHECK(std::has_single_bit(options.eventsPerLane), "eventsPerLane = {}",
                 options.eventsPerLane);
  LOCKSTEP_CHECK(std::has_single_bit(options.messageRingBytes), "messageRingBytes = {}",
                 options.messageRingBytes);
  const std::size_t bytes =
      segmentBytes(options.lanes, options.eventsPerLane, options.messageRingBytes);
  posix::Descriptor file(memfd_create("lockstep-trace", MFD_CLOEXEC));
  if (!file.open()) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot create the event memory", "");
  }
  // Reserved in full, so that a lack of memory is an error here and no SIGBUS later.
  if (const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    errno = error;
    return base::systemError(base::ExitCode::kEnvironment,
                             fmt::format("cannot reserve {} bytes of event memory", bytes), "");
  }
  posix::Mapping memory(file.get(), bytes);
  if (memory.data() == nullptr) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot map the event memory", "");
  }
  Segment segment(std::move(file), std::move(memory));
  // Made in place, so that the atomics begin their life in the memory that both processes map.
  auto* header = new (segment.memory_.data()) SegmentHeader{};
  header->magic = kSegmentMagic;
  header->version = kSegmentVersion;
  header->lanes = options.lanes;
  header->eventsPerLane = options.eventsPerLane;
  header->messageRingBytes = options.messageRingBytes;
  // On from the start: what a rank does before the supervisor's first word is part of the run.
  header->captureEnabled.store(1, std::memory_order_relaxed);
  new (&segment.lastWords()) LastWords{};
  segment.lastWords().bucket.store(kNoBucket, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < options.lanes; ++i) {
    new (&segment.lane(i)) LaneHeader{};
  }
  return segment;
}

base::Result<Segment> Segment::attach(int fd) {
  posix::Descriptor file(fd);
  struct stat status {};
  if (fstat(fd, &status) != 0) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot open the event memory",
                             fmt::format("descriptor {}", fd));
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  const auto refuse = [&](std::string what) {
    return base::Error{base::ExitCode::kEnvironment, std::move(what),
                       fmt::format("event memory, descriptor {}", fd)};
  };
  if (bytes < kHeaderBytes) {
    return refuse("too small to be event memory of lockstep");
  }
  posix::Mapping memory(fd, bytes);
  if (memory.data() == nullptr) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot map the event memory",
                             fmt::format("descriptor {}", fd));
  }
  Segment segment(std::move(file), std::move(memory));
  const SegmentHeader& header = segment.header();
  if (header.magic != kSegmentMagic) {
    return refuse("this is no event memory of lockstep");
  }
  if (header.version != kSegmentVersion) {
    return refuse(fmt::format("event memory of version {}, this rank understands version {}",
                              header.version, kSegmentVersion));
  }
  // Its numbers place everything else: one that does not fit would send writes out of the mapping.
  if (bytes != segmentBytes(header.lanes, header.eventsPerLane, header.messageRingBytes)) {
    return refuse("its size does not fit its header");
  }
  return segment;
}

SegmentHeader& Segment::header() const {
  return *static_cast<SegmentHeader*>(memory_.data());
}

LastWords& Segment::lastWords() const {
  return *reinterpret_cast<LastWords*>(static_cast<char*>(memory_.data()) + kHeaderBytes);
}

char* Segment::messageRing() const {
  return static_cast<char*>(memory_.data()) + kHeaderBytes + kLastWordsBytes;
}

LaneHeader& Segment::lane(std::uint32_t index) const {
  LOCKSTEP_CHECK(index < header().lanes, "lane {} of {}", index, header().lanes);
  return *reinterpret_cast<LaneHeader*>(messageRing() + header().messageRingBytes +
                                        index * laneBytes(header().eventsPerLane));
}

Event* Segment::events(std::uint32_t lane_) const {
  return reinterpret_cast<Event*>(&lane(lane_) + 1);
}

}  // namespace lockstep::trace
