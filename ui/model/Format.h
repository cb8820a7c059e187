#pragma once

#include <QString>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::ui {

// Numbers as the studio writes them, after engine/base/NumberText.h.

/// "870 ns", "12.3 µs", "4.56 ms", "1.23 s".
QString formatDuration(double ns);
/// The same of milliseconds, in which the analysis counts.
QString formatMs(double ms);
/// A point in time with enough digits to tell it from its neighbours `stepNs` away. The unit
/// fits `largestNs`, so that all labels of an axis share it; 0: fits the time itself.
QString formatTime(double ns, double stepNs, double largestNs = 0);
/// "512 B", "4 KiB", "2.05 MiB".
QString formatBytes(double bytes);
/// "1.62 GiB/s"; bytes over ns.
QString formatRate(double bytes, double ns);
/// "12.3 %".
QString formatPercent(double percent, int decimals = 1);
/// "2.303", "0.1182", "0.00044", "3.1e-07": of a loss, which may come down to next to nothing.
QString formatLoss(double loss);
/// "12,345".
QString formatCount(std::uint64_t count);
/// "1 rank", "12,345 ranks"; `many` where the plural is more than an "s": "2 matches".
QString formatCounted(std::uint64_t count, const char* one, const char* many = "");
/// "rank 2", "ranks 0, 3".
QString formatRanks(const std::vector<int>& ranks);
/// "1st", "2nd", "11th".
QString formatOrdinal(std::size_t place);
/// "64 × 784", "scalar".
QString formatShape(const std::vector<std::int64_t>& shape);

}  // namespace lockstep::ui
