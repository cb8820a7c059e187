#pragma once

#include <string>

namespace lockstep::base {

inline constexpr double kKiB = 1024;
inline constexpr double kMiB = 1024 * kKiB;

/// Writes a size as people read it, with three digits: "512 B", "4 KiB", "25.3 MiB", "1.62 GiB".
/// All sizes are in powers of 1024, since experiments give them in MiB: a cap of 25 reads as 25.
std::string bytesText(double bytes);

}  // namespace lockstep::base
