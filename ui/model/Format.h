#pragma once

#include <QString>
#include <cstdint>

namespace lockstep::ui {

// Numbers as people read them, the same in every locale (a dot, an SI unit, a thin rounding).

/// "870 ns", "12.3 µs", "4.56 ms", "1.23 s".
QString formatDuration(double ns);
/// A point in time with enough digits to tell it from its neighbours `stepNs` away. The unit
/// fits `largestNs`, so that all labels of an axis share it; 0: fits the time itself.
QString formatTime(double ns, double stepNs, double largestNs = 0);
/// "512 B", "4 KiB", "2.05 MiB" (engine/base/NumberText.h).
QString formatBytes(double bytes);
/// "1.62 GiB/s"; bytes over ns.
QString formatRate(double bytes, double ns);
/// "12,345".
QString formatCount(std::uint64_t count);

}  // namespace lockstep::ui
