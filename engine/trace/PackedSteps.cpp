#include "engine/trace/PackedSteps.h"

#include <algorithm>
#include <array>
#include <bit>

namespace lockstep::trace {
namespace {

constexpr std::size_t kNumbersOfAStep = 12;
using StepNumbers =
    std::array<std::uint64_t, kNumbersOfAStep>;  // in units; the first is where it begins

std::uint64_t lessBy(std::uint64_t from, std::uint64_t by) {
  return from - std::min(from, by);
}

StepNumbers numbersOf(const SummedStep& step, std::uint64_t unit) {
  const StepSumsRow& sums = step.sums;
  const std::uint64_t begin = step.startTicks / unit;
  return {begin,
          (step.startTicks + step.durationTicks) / unit - begin,
          sums.forward / unit,
          sums.backward / unit,
          sums.optimizer / unit,
          lessBy(sums.inFlight, sums.overlap) / unit,
          lessBy(sums.computing, sums.overlap) / unit,
          sums.overlap / unit,
          sums.offCore / unit,
          lessBy(sums.overlap, sums.overlapLeast) / unit,
          lessBy(sums.overlapMost, sums.overlap) / unit,
          sums.coreWait / unit};
}

SummedStep stepOf(const StepNumbers& numbers, std::uint64_t unit) {
  const auto ticks = [&](std::size_t i) { return numbers[i] * unit; };
  SummedStep step;
  step.startTicks = ticks(0);
  step.durationTicks = ticks(1);
  step.sums.kept = KeptDetail::kSums;
  step.sums.forward = ticks(2);
  step.sums.backward = ticks(3);
  step.sums.optimizer = ticks(4);
  step.sums.overlap = ticks(7);
  step.sums.inFlight = ticks(5) + step.sums.overlap;
  step.sums.computing = ticks(6) + step.sums.overlap;
  step.sums.offCore = ticks(8);
  step.sums.overlapLeast = lessBy(step.sums.overlap, ticks(9));
  step.sums.overlapMost = step.sums.overlap + ticks(10);
  step.sums.coreWait = ticks(11);
  return step;
}

/// What a step's numbers are told from: those of the step before it, and where that ended.
StepNumbers expectedAfter(const StepNumbers& before) {
  StepNumbers expected = before;
  expected[0] += before[1];
  return expected;
}

// LEB128 of the difference, its sign in the lowest bit: small ones of either sign are short.
void appendNumber(std::string& bytes, std::uint64_t number, std::uint64_t expected) {
  const auto difference = static_cast<std::int64_t>(number - expected);
  std::uint64_t rest =
      (static_cast<std::uint64_t>(difference) << 1) ^ static_cast<std::uint64_t>(difference >> 63);
  for (; rest >= 0x80; rest >>= 7) {
    bytes.push_back(static_cast<char>(0x80 | (rest & 0x7F)));
  }
  bytes.push_back(static_cast<char>(rest));
}

/// Takes a number off the front; none where the bytes end within it.
std::optional<std::uint64_t> takeNumber(std::string_view& bytes, std::uint64_t expected) {
  std::uint64_t folded = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    folded |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      return expected + ((folded >> 1) ^ (0 - (folded & 1)));
    }
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t unitOf(const std::vector<SummedStep>& steps) {
  std::uint64_t shortest = UINT64_MAX;
  for (const SummedStep& step : steps) {
    shortest = std::min(shortest, step.durationTicks);
  }
  return steps.empty() ? 1 : std::bit_floor(std::max<std::uint64_t>(shortest / kPartsOfAStep, 1));
}

std::string packSteps(const std::vector<SummedStep>& steps, std::uint64_t unit) {
  std::string bytes;
  StepNumbers before{};
  for (const SummedStep& step : steps) {
    const StepNumbers numbers = numbersOf(step, unit);
    const StepNumbers expected = expectedAfter(before);
    for (std::size_t i = 0; i < kNumbersOfAStep; ++i) {
      appendNumber(bytes, numbers[i], expected[i]);
    }
    before = numbers;
  }
  return bytes;
}

std::optional<std::vector<SummedStep>> unpackSteps(std::string_view bytes, int rank,
                                                   std::uint32_t first, std::uint64_t unit) {
  std::vector<SummedStep> steps;
  StepNumbers before{};
  while (!bytes.empty()) {
    const StepNumbers expected = expectedAfter(before);
    for (std::size_t i = 0; i < kNumbersOfAStep; ++i) {
      const std::optional<std::uint64_t> number = takeNumber(bytes, expected[i]);
      if (!number) {
        return std::nullopt;
      }
      before[i] = *number;
    }
    SummedStep& step = steps.emplace_back(stepOf(before, unit));
    step.sums.rank = rank;
    step.sums.step = first + static_cast<std::uint32_t>(steps.size()) - 1;
  }
  return steps;
}

}  // namespace lockstep::trace
