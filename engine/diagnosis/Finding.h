#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cost/BlockBootstrap.h"

namespace lockstep::diagnosis {

/// What a finding says of a run. In this order they are told.
enum class Weight : std::uint8_t {
  kWrong,  ///< what was computed, or how the run ended, is not what was asked for
  kCost,   ///< it takes time that could be saved
  kNote,   ///< something a reader should know; nothing is at fault
};
/// "wrong", "cost", "note".
std::string_view name(Weight weight);

/// What a saving must be above, at the low end of its interval, to be spoken of: a share of the
/// step.
inline constexpr double kWorthSpeakingOf = 0.03;

/// What the interval of a finding that rests on a run's own steps leaves out on either side: it is
/// one of 99 %.
inline constexpr double kIntervalTail = 0.005;

/// Where to look at it.
struct Place {
  std::optional<int> rank{};
  std::optional<std::uint32_t> step{};
  std::optional<std::uint16_t> bucket{};
  std::optional<std::uint32_t> parameter{};  ///< index
  std::string parameterName{};               ///< of it; filled in by diagnose()
  std::string phase{};                       ///< "data", "forward", ...; empty: of none
  std::uint64_t ticks = 0;                   ///< a moment; 0: of none
};

/// A key of an experiment and the value that it should have, as TOML.
struct Setting {
  std::string key;
  std::string value;

  bool operator==(const Setting&) const = default;
};

struct Finding {
  std::string_view rule;  ///< Rule::name
  Weight weight = Weight::kNote;
  std::string title;     ///< a few words: "rank 2 is late"
  std::string sentence;  ///< what was found, with its figures
  std::string remedy;    ///< a sentence: what to do about it; empty: nothing is known
  /// What the step would take less, in ms, and where that lies; none: it is not known, or the
  /// finding is not about time.
  std::optional<cost::MeanInterval> savingMs;
  bool atMost = false;            ///< no replay told the saving: it is not more than this
  std::vector<Setting> settings;  ///< the remedy, where keys of the experiment can be it
  Place place;
};

}  // namespace lockstep::diagnosis
