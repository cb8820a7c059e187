#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/Result.h"
#include "engine/cost/LinkModel.h"
#include "engine/process_group/ProcessGroup.h"
#include "engine/process_group/shaped/LinkClock.h"
#include "engine/process_group/shaped/Traffic.h"
#include "engine/store/Store.h"

namespace lockstep::process_group {

struct ShapedOptions {
  cost::LinkOptions link;
  /// Takes a link that the backend is hardly faster than, too: its figures then tell how the link
  /// would order things, not how long they took.
  bool simulateAnyway = false;
  /// A group of the same backend and ranks to measure on, so that the bytes and events of the
  /// measurement are not those of the run; null measures on the inner group.
  std::shared_ptr<ProcessGroup> measuredOn;
  /// For events; as GroupOptions.
  std::uint8_t groupNumber = 0;
  /// Outlives the group; null records nothing.
  trace::Tracer* tracer = nullptr;
  /// The rank's link, when another group shares it; null makes one.
  std::shared_ptr<LinkClock> clock;
};

/// What allreduces over a group reach, measured on it.
struct MeasuredLink {
  double bandwidthGbps = 0;  ///< of the link in the ring model that would be as fast
  double smallUs = 0;        ///< an allreduce of 1 KB
};

/// Measures with allreduces of 8 MB and 1 KB, best of several: 50 ms or so. All ranks call it and
/// get the same figures. Throws CommError.
[[nodiscard]] MeasuredLink measureLink(ProcessGroup& group);

/// A group over another one that behaves as if its ranks were on a slower network. Needs no
/// rights: the operation runs on the group below, and its Work completes when the modelled
/// network would have been done.
///
/// An operation of cost (link, latency; cost::LinkModel) that the last rank called at `t` ends at
///
///   max(backend's end, max(t, link free) + link) + latency + jitter
///
/// and the link is free again after max(t, link free) + link: operations of a group are
/// transferred one after the other in the order of their calls, however many run below. Of a
/// group's collectives, at most cost::LinkOptions::inFlight travel: for the next, `t` is no earlier
/// than the end of the one that many before it. Groups do not wait for each other's latency. So the
/// bandwidth is the link's as long as the backend is faster, and the latency comes on top of what
/// the backend needs for the smallest message.
///
/// Nobody waits for it but those who wait for the Work: its future completes on the link's
/// thread. The added time is a kShaped span on the lane "shaped link", from the backend's end to
/// the Work's. An operation whose end would be past its time limit fails (CommError, timed out).
///
/// When the ranks do not share a host, an operation counts from this rank's call instead of the
/// last rank's. A receive counts from when its message came in.
class ShapedGroup final : public ProcessGroup {
 public:
  /// Collective over `inner`'s ranks, which share `store`. Error (kBadInput): the slowest link of
  /// the ring has more than half the bandwidth that was measured, with both figures. Throws
  /// StoreError, CommError.
  static base::Result<std::shared_ptr<ProcessGroup>> make(std::shared_ptr<ProcessGroup> inner,
                                                          store::Store& store,
                                                          ShapedOptions options);
  ~ShapedGroup() override;

  [[nodiscard]] std::string backendName() const override { return inner_->backendName(); }
  at::Tensor allocate(std::int64_t bytes) override { return inner_->allocate(bytes); }
  [[nodiscard]] std::uint64_t sequenceNumber() const override { return inner_->sequenceNumber(); }
  [[nodiscard]] std::chrono::milliseconds timeout() const override { return inner_->timeout(); }
  void setTimeout(std::chrono::milliseconds timeout) override { inner_->setTimeout(timeout); }
  void abort(const std::string& reason) override;
  [[nodiscard]] GroupState state() const override { return inner_->state(); }

 protected:
  WorkPtr start(Request request) override;

 private:
  ShapedGroup(std::shared_ptr<ProcessGroup> inner, std::shared_ptr<Traffic> traffic);

  std::shared_ptr<ProcessGroup> inner_;
  std::shared_ptr<Traffic> traffic_;  // shared with operations in flight
};

}  // namespace lockstep::process_group
