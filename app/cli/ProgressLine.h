#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "engine/launch/Supervisor.h"

namespace lockstep::cli {

/// A line that is drawn anew on a terminal, and gone in the end; nothing elsewhere.
class TerminalLine {
 public:
  explicit TerminalLine(std::FILE* stream = stderr) : stream_(stream) {}
  ~TerminalLine() { clear(); }
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;

  /// Draws as much of the text as the terminal is wide.
  void draw(std::string text);
  void clear();

 private:
  std::FILE* stream_;
  bool drawn_ = false;
};

/// Shows how a run gets on: one line that is drawn anew on a terminal, a plain line every few
/// seconds elsewhere. One thread.
class ProgressLine {
 public:
  enum class Style { kNone, kPlain, kTerminal };

  /// Chooses kTerminal where `stream` is one, else kPlain; kNone when `quiet`.
  static Style styleFor(std::FILE* stream, bool quiet);

  ProgressLine(std::FILE* stream, Style style) : stream_(stream), line_(stream), style_(style) {}
  void show(const launch::LaunchProgress& progress);

  /// Takes the terminal's line away, so that other text starts on a clean one.
  void clear() { line_.clear(); }

 private:
  std::FILE* stream_;
  TerminalLine line_;
  Style style_;
  std::string lastStage_;
  std::optional<std::chrono::milliseconds> nextPlain_;
  // Where the rate is measured from: the first look at a finished step, since start-up and
  // the first step are no measure of the rest.
  std::optional<std::chrono::milliseconds> rateFrom_;
  std::uint32_t rateFromStep_ = 0;
};

/// Returns the text of the line without its bar: "step 120/400  loss 0.3021  41.2 steps/s
/// ETA 0:07"; parts that are not known are left out.
std::string progressText(const launch::LaunchProgress& progress,
                         std::optional<double> stepsPerSecond);

/// Returns a bar of `width` characters between brackets for `done` of `planned`.
std::string progressBar(std::uint32_t done, std::uint32_t planned, int width);

}  // namespace lockstep::cli
