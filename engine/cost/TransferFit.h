#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/Result.h"
#include "engine/cost/LinkModel.h"

namespace lockstep::cost {

// Note [What a transfer costs]
// The communication of a bucket takes a latency and a time a byte: a transfer. It is measured from
// when the last rank has come to it, or, where it had to wait for transfers before it, from when
// those were over: what it queued is not what it costs. Two things tell the cost:
//
//   the settings   A shaped link has a bandwidth and a latency by definition. What its transfers
//                  take beyond that is fitted: `overhead` of each, and `notice`, by which the end
//                  of a transfer is seen later than the link is free for the next one.
//   the run        Else the median slope between transfers of unlike sizes (Theil and Sen), and
//                  the median of what is left. Neither is below 0. Sizes that differ by less than
//                  a factor of 2 tell noise from noise: then the probe tells the slope (Note [The
//                  probe of a run]), and the run's own transfers what is left; without it there is
//                  no fit.
//
// Where transfers fit the run's own line clearly better than the settings, as over a backend that
// is slower than the link it is to behave like, the run counts.

/// One transfer as it was measured.
struct TransferSample {
  std::uint64_t bytes = 0;  ///< of the bucket, whatever its hook made of them
  double ns = 0;            ///< without what it waited for the last rank and for those before it
  bool queued = false;      ///< it began when another had ended, and not when the last rank came
};

/// An allreduce of a bucket as the settings of a run have it.
struct KnownTransfer {
  double nsPerByte = 0;  ///< above 0
  double latencyNs = 0;
};

/// What the settings say of an allreduce among `size` ranks that carries `share` of a bucket's
/// bytes; nothing where the link has no bandwidth of its own.
std::optional<KnownTransfer> knownTransfer(const LinkOptions& link, int size, double share = 1);

struct TransferCost {
  double latencyNs = 0;
  double nsPerByte = 0;
  double noticeNs = 0;

  /// How long the line is taken, latency included.
  [[nodiscard]] double ns(std::uint64_t bytes) const {
    return latencyNs + nsPerByte * static_cast<double>(bytes);
  }
};

struct TransferFit {
  TransferCost cost;
  bool bySettings = false;  ///< its time a byte is that of the link
  double errorPercent = 0;  ///< median of |measured - fitted| / measured
  std::size_t samples = 0;
  std::uint64_t leastBytes = 0;
  std::uint64_t mostBytes = 0;
};

/// Returns the line through times by bytes, by the median slope; where the sizes are alike, all is
/// put down to the bytes. None of none. [any-thread]
std::optional<TransferCost> lineThrough(const std::vector<TransferSample>& samples);

/// Error: a clause that ends "this run cannot tell, because ...". [any-thread]
base::Result<TransferFit> fitTransfers(const std::vector<TransferSample>& samples,
                                       const std::optional<KnownTransfer>& known,
                                       const std::vector<TransferSample>& probes = {});

}  // namespace lockstep::cost
