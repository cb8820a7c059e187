#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::trace {

// Note [Packed steps]
// A step of which nothing but its span and its sums is kept would take two rows, some 80 bytes. Of
// a model whose steps have 40 events that is more than 5 % of what all of them take. So such steps
// of a rank, one after the other, share a row, in which a step takes about 20 bytes: twelve
// numbers, each as how far it is from that of the step before. Their unit is a power of two of
// ticks, at most a part in kPartsOfAStep of the shortest of them. All are rounded down, and
// computing and in flight are the sums of their parts, so that what added up before still does.

/// One of them: its `step` span, and what it comes to.
struct SummedStep {
  std::uint64_t startTicks = 0;
  std::uint64_t durationTicks = 0;
  StepSumsRow sums;
};

inline constexpr std::uint64_t kPartsOfAStep = 8192;
/// How many share a row at most: larger rows would leave holes in the pages of the file.
inline constexpr std::size_t kPackedTogether = 32;

/// The unit that suits steps, in ticks: 1 or more.
std::uint64_t unitOf(const std::vector<SummedStep>& steps);

/// The bytes of steps that follow one another. FORMAT.md describes them.
std::string packSteps(const std::vector<SummedStep>& steps, std::uint64_t unit);

/// The steps of a row: of this rank, from `first` on. None: its bytes are damaged.
std::optional<std::vector<SummedStep>> unpackSteps(std::string_view bytes, int rank,
                                                   std::uint32_t first, std::uint64_t unit);

}  // namespace lockstep::trace
