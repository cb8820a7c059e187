#include "engine/process_group/gloo/Inbox.h"

#include <cstring>
#include <utility>

#include "engine/process_group/gloo/Transport.h"

namespace lockstep::process_group::gloo {
namespace {

constexpr std::size_t kAhead = 4;
constexpr std::size_t kAreaBytes = sizeof(ControlHeader) + kInlineBytes;

}  // namespace

Inbox::Inbox(::gloo::Context& context, std::vector<int> sources) : sources_(std::move(sources)) {
  while (areas_.size() < (sources_.size() == 1 ? kAhead : 1)) {
    areas_.emplace_back(context, kAreaBytes);
  }
}

std::optional<Arrived> Inbox::wait() {
  // From the next on, so that they are filled in the order in which they are looked at.
  for (std::size_t i = 0; i < areas_.size(); ++i) {
    Parcel& area = areas_[(next_ + i) % areas_.size()];
    try {
      if (!area.posted && sources_.size() == 1) {
        area.buffer->recv(sources_.front(), kControlSlot, 0, kAreaBytes);
      } else if (!area.posted) {
        area.buffer->recv(sources_, kControlSlot, 0, kAreaBytes);
      }
      area.posted = true;
    } catch (const std::exception&) {
      if (i == 0) {
        throw;
      }
      break;  // closed; all that came before is taken first
    }
  }
  Parcel& area = areas_[next_];
  Arrived arrived;
  if (!waited([&] { return area.buffer->waitRecv(&arrived.source, kForever); })) {
    return std::nullopt;
  }
  area.posted = false;
  next_ = (next_ + 1) % areas_.size();
  std::memcpy(&arrived.header, area.memory.get(), sizeof(arrived.header));
  arrived.data = area.memory.get() + sizeof(arrived.header);
  return arrived;
}

void Inbox::wake() {
  for (Parcel& area : areas_) {  // which of them is waited for changes meanwhile
    area.buffer->abortWaitRecv();
  }
}

}  // namespace lockstep::process_group::gloo
