#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::trace {

/// Carries rows of other hosts to the tick axis of the recording host, as they are read. Rows of a
/// host whose clock, or the recording host's, is not known wait here. One thread at a time.
/// Note [One axis] in the .cpp.
class HostAxis {
 public:
  void setRanks(const std::vector<RankInfo>& ranks);
  void setTracks(const std::vector<TrackInfo>& tracks);
  /// The clocks in force, by host. Rows that were handed out are not touched.
  void setClocks(const std::map<int, HostClock>& clocks);

  /// Converts the rows from `first` on, and takes out those that have to wait.
  void place(std::vector<SpanRow>& rows, std::size_t first);
  void place(std::vector<MetricRow>& rows, std::size_t first);

  /// What a tick of a rank's host is on the axis; none while its clock is not known.
  [[nodiscard]] std::optional<double> rateOf(int rank) const;

  /// Adds rows that waited and need not any more, until there are `most`.
  void release(std::vector<SpanRow>& rows, std::size_t most);
  /// The same, all of them.
  void release(std::vector<MetricRow>& rows);

  /// How many spans and metrics wait, by host.
  [[nodiscard]] std::map<int, std::size_t> waiting() const;
  /// Forgets the rows that wait.
  void dropWaiting();

 private:
  /// Ticks of another host to ticks of the recording host:
  /// zeroTicks + (ticks - originTicks) * rate.
  struct Placement {
    std::uint64_t originTicks = 0;
    double zeroTicks = 0;
    double rate = 1;

    [[nodiscard]] std::uint64_t operator()(std::uint64_t ticks) const;
    void operator()(SpanRow& row) const;
    void operator()(MetricRow& row) const;
  };

  void findTracks();
  template <typename Row, typename HostOf>
  void placeRows(std::vector<Row>& rows, std::size_t first,
                 std::map<int, std::vector<Row>>& waiting, const HostOf& hostOf);
  template <typename Row>
  void releaseRows(std::vector<Row>& rows, std::size_t most,
                   std::map<int, std::vector<Row>>& waiting);

  std::vector<TrackInfo> tracks_;
  std::unordered_map<int, int> hostOfRank_;            // of ranks elsewhere
  std::unordered_map<std::int32_t, int> hostOfTrack_;  // of their tracks
  std::map<int, Placement> placements_;
  std::map<int, std::vector<SpanRow>> waitingSpans_;
  std::map<int, std::vector<MetricRow>> waitingMetrics_;
};

}  // namespace lockstep::trace
