#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::ui {

/// What ranks spend their time on, as an overview tells it apart. `kExposed` is waiting for a
/// bucket and lies within `kBackward`; `kCommunication` runs beside all others.
enum class Activity : std::uint8_t {
  kData,
  kForward,
  kBackward,
  kOptimizer,
  kEvaluate,
  kExposed,
  kCommunication,
};
inline constexpr std::size_t kActivities = 7;

/// Ticks of each activity, added up over all ranks, and events lost, in at most 2048 bins of
/// equal length over the whole run. When the run outgrows them, neighbours are joined: adding a
/// span costs the bins that it covers, and nothing is ever gone through again. [ui-thread]
class ActivityBins {
 public:
  static constexpr std::size_t kBins = 2048;

  struct Sums {
    std::array<double, kActivities> ticks{};
    double lostEvents = 0;

    [[nodiscard]] double of(Activity what) const { return ticks[static_cast<std::size_t>(what)]; }
  };

  void add(Activity what, std::uint64_t startTicks, std::uint64_t durationTicks);
  void addLost(std::uint64_t startTicks, std::uint64_t durationTicks, std::uint64_t events);

  [[nodiscard]] bool empty() const { return used_ == 0; }
  /// What happened from one tick to another; of a bin that lies partly within, its share.
  [[nodiscard]] Sums between(double fromTicks, double toTicks) const;

 private:
  struct Bin {
    std::array<std::uint64_t, kActivities> ticks{};
    std::uint64_t lostEvents = 0;
  };

  [[nodiscard]] std::uint64_t width() const { return std::uint64_t{1} << shift_; }
  /// Makes room for a stretch; false for times that no run has.
  bool cover(std::uint64_t startTicks, std::uint64_t endTicks);
  void halve();

  std::vector<Bin> bins_;
  std::uint64_t origin_ = 0;  // tick at which bin 0 begins
  unsigned shift_ = 14;       // a bin is 2^shift_ ticks long
  std::size_t used_ = 0;      // bins up to the last that holds something
};

}  // namespace lockstep::ui
