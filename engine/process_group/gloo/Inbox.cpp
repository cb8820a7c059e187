#include "engine/process_group/gloo/Inbox.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "engine/process_group/gloo/Wait.h"

namespace lockstep::process_group::gloo {
namespace {

constexpr std::size_t kAhead = 4;
constexpr std::size_t kAreaBytes = sizeof(ControlHeader) + kInlineBytes;
constexpr std::chrono::milliseconds kNoLimit = std::chrono::hours(24 * 365);

}  // namespace

Inbox::Inbox(::gloo::Context& context, std::vector<int> sources)
    : sources_(std::move(sources)), areas_(sources_.size() == 1 ? kAhead : 1) {
  for (Area& area : areas_) {
    area.memory = std::make_unique_for_overwrite<std::byte[]>(kAreaBytes);
    area.buffer = context.createUnboundBuffer(area.memory.get(), kAreaBytes);
  }
}

bool Inbox::serves(int source) const {
  return std::find(sources_.begin(), sources_.end(), source) != sources_.end();
}

void Inbox::post(Area& area) {
  if (sources_.size() == 1) {
    area.buffer->recv(sources_.front(), kControlSlot, 0, kAreaBytes);
  } else {
    area.buffer->recv(sources_, kControlSlot, 0, kAreaBytes);
  }
  area.posted = true;
}

std::optional<Inbox::Arrived> Inbox::wait() {
  // From the next on, so that they are filled in the order in which they are looked at.
  for (std::size_t i = 0; i < areas_.size(); ++i) {
    Area& area = areas_[(next_ + i) % areas_.size()];
    if (!area.posted && closed_ == nullptr) {
      try {
        post(area);
      } catch (const std::exception&) {
        closed_ = std::current_exception();
      }
    }
  }
  Area& area = areas_[next_];
  if (!area.posted) {
    std::rethrow_exception(closed_);
  }
  Arrived arrived;
  if (!waited([&] { return area.buffer->waitRecv(&arrived.source, kNoLimit); })) {
    return std::nullopt;
  }
  area.posted = false;
  next_ = (next_ + 1) % areas_.size();
  std::memcpy(&arrived.header, area.memory.get(), sizeof(arrived.header));
  arrived.data = area.memory.get() + sizeof(arrived.header);
  return arrived;
}

void Inbox::wake() {
  for (Area& area : areas_) {  // which of them is waited for changes meanwhile
    area.buffer->abortWaitRecv();
  }
}

}  // namespace lockstep::process_group::gloo
