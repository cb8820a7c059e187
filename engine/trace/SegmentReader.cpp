#include "engine/trace/SegmentReader.h"

#include <algorithm>
#include <cstring>

namespace lockstep::trace {

SegmentReader::SegmentReader(Segment& segment) : segment_(segment) {}

std::uint32_t SegmentReader::lanes() const {
  const SegmentHeader& header = segment_.header();
  return std::min(header.lanesInUse.load(std::memory_order_acquire), header.lanes);
}

std::string SegmentReader::laneName(std::uint32_t lane) const {
  const auto& name = segment_.lane(lane).name;
  return std::string(name.data(), strnlen(name.data(), name.size()));
}

std::uint64_t SegmentReader::waiting(std::uint32_t lane) const {
  const LaneHeader& header = segment_.lane(lane);
  const std::uint64_t tail = header.tail.load(std::memory_order_relaxed);
  return header.head.load(std::memory_order_acquire) - tail;
}

std::uint64_t SegmentReader::dropped(std::uint32_t lane) const {
  return segment_.lane(lane).dropped.load(std::memory_order_relaxed);
}

double SegmentReader::messagesFill() const {
  const SegmentHeader& header = segment_.header();
  const std::uint64_t waiting = header.messageHead.load(std::memory_order_acquire) -
                                header.messageTail.load(std::memory_order_relaxed);
  return std::min(1.0, static_cast<double>(waiting) / header.messageRingBytes);
}

bool SegmentReader::drainMessages(const std::function<void(std::string_view)>& take) {
  SegmentHeader& header = segment_.header();
  const std::uint64_t size = header.messageRingBytes;
  const char* ring = segment_.messageRing();
  const auto get = [&](std::uint64_t at, char* bytes, std::size_t count) {
    const std::uint64_t offset = at & (size - 1);
    const std::size_t first = std::min<std::size_t>(count, size - offset);
    std::memcpy(bytes, ring + offset, first);
    std::memcpy(bytes + first, ring, count - first);
  };
  const std::uint64_t head = header.messageHead.load(std::memory_order_acquire);
  std::uint64_t tail = header.messageTail.load(std::memory_order_relaxed);
  // The rank can write anywhere in its mapping, also by mistake and while it dies. No number found
  // there is used before it is seen to fit what lies between tail and head.
  bool sound = head - tail <= size;
  while (sound && tail != head) {
    std::uint32_t length = 0;
    if (head - tail >= sizeof(length)) {
      get(tail, reinterpret_cast<char*>(&length), sizeof(length));
    }
    sound = head - tail >= sizeof(length) + length;
    if (sound) {
      frame_.resize(length);
      get(tail + sizeof(length), frame_.data(), length);
      tail += sizeof(length) + length;
      header.messageTail.store(tail, std::memory_order_release);
      take(frame_);
    }
  }
  // Equal to tail already, unless a frame was unsound: then the end of no further frame is known.
  header.messageTail.store(head, std::memory_order_release);
  return sound;
}

}  // namespace lockstep::trace
