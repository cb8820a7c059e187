#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Numbers as people read them, the same in every locale, on the command line and in the studio
// (ui/model/Format.h). tests/architecture refuses a second way to write one.
namespace lockstep::base {

inline constexpr double kKiB = 1024;
inline constexpr double kMiB = 1024 * kKiB;

/// Writes a size with three digits: "512 B", "4 KiB", "25.3 MiB", "1.62 GiB".
/// All sizes are in powers of 1024, since experiments give them in MiB: a cap of 25 reads as 25.
std::string bytesText(double bytes);

/// Writes a time with three digits in the unit that fits it: "870 ns", "85.0 µs", "7.20 ms".
std::string durationText(double ns);

/// Writes milliseconds without their unit, for columns whose title says it: "12.30", "126.4", and
/// with more digits what would be nothing but zeros, "0.0042".
std::string msText(double ms);

/// "1.20 to 1.60": an interval of milliseconds, likewise without their unit.
std::string msRangeText(double lowMs, double highMs);

/// "12.3 %".
std::string percentText(double percent, int decimals = 1);

/// "73 % (70 to 76 %)": a percentage and the interval in which it lies.
std::string percentRangeText(double percent, double low, double high);

/// "12,345".
std::string countText(std::uint64_t count);

/// "1 rank", "12,345 ranks"; `many` where the plural is more than an "s": "2 batches".
std::string countedText(std::uint64_t count, std::string_view one, std::string_view many = {});

/// "bucket 3", "buckets 0, 2, 5", "buckets 0, 1 and 7 more" where more than `most` are to be named.
std::string numberedText(std::string_view noun, const std::vector<int>& numbers,
                         std::size_t most = std::string::npos);

/// "rank 3", "ranks 0, 2, 5".
std::string ranksText(const std::vector<int>& ranks, std::size_t most = std::string::npos);

}  // namespace lockstep::base
