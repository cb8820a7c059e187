#include "engine/trace/Segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
  const int fd = memfd_create("lockstep-trace", MFD_CLOEXEC);
  if (fd < 0) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot create the event memory", "");
  }
  // Reserved in full, so that a lack of memory is an error here and no SIGBUS later.
  if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes)); error != 0) {
    close(fd);
    errno = error;
    return base::systemError(base::ExitCode::kEnvironment,
                             fmt::format("cannot reserve {} bytes of event memory", bytes), "");
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    const auto error =
        base::systemError(base::ExitCode::kEnvironment, "cannot map the event memory", "");
    close(fd);
    return error;
  }
  Segment segment(fd, memory, bytes);
  auto* header = new (memory) SegmentHeader{};
  header->magic = kSegmentMagic;
  header->version = kSegmentVersion;
  header->lanes = options.lanes;
  header->eventsPerLane = options.eventsPerLane;
  header->messageRingBytes = options.messageRingBytes;
  header->captureEnabled.store(1, std::memory_order_relaxed);
  new (static_cast<char*>(memory) + kHeaderBytes) LastWords{};
  segment.lastWords().bucket.store(kNoBucket, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < options.lanes; ++i) {
    new (&segment.lane(i)) LaneHeader{};
  }
  return segment;
}

base::Result<Segment> Segment::attach(int fd) {
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
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) {
    return base::systemError(base::ExitCode::kEnvironment, "cannot map the event memory",
                             fmt::format("descriptor {}", fd));
  }
  Segment segment(fd, memory, bytes);
  const SegmentHeader& header = segment.header();
  if (header.magic != kSegmentMagic) {
    return refuse("this is no event memory of lockstep");
  }
  if (header.version != kSegmentVersion) {
    return refuse(fmt::format("event memory of version {}, this rank understands version {}",
                              header.version, kSegmentVersion));
  }
  if (bytes != segmentBytes(header.lanes, header.eventsPerLane, header.messageRingBytes)) {
    return refuse("its size does not fit its header");
  }
  return segment;
}

Segment::Segment(Segment&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  if (this != &other) {
    release();
    fd_ = std::exchange(other.fd_, -1);
    memory_ = std::exchange(other.memory_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Segment::~Segment() { release(); }

void Segment::release() {
  if (memory_ != nullptr) {
    munmap(memory_, bytes_);
    close(fd_);
    memory_ = nullptr;
  }
}

SegmentHeader& Segment::header() const { return *static_cast<SegmentHeader*>(memory_); }

LastWords& Segment::lastWords() const {
  return *reinterpret_cast<LastWords*>(static_cast<char*>(memory_) + kHeaderBytes);
}

char* Segment::messageRing() const {
  return static_cast<char*>(memory_) + kHeaderBytes + kLastWordsBytes;
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
