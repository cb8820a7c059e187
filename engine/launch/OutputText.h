#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep::launch {

/// Cuts a stream of bytes into lines. A line longer than kMaxLineBytes is handed on in pieces,
/// cut between characters of UTF-8, so that a rank that never ends its line costs no memory.
class LineSplitter {
 public:
  static constexpr std::size_t kMaxLineBytes = 4096;
  using Sink = std::function<void(std::string_view line)>;

  /// Calls `sink` for each line that is complete now, without its end ("\n" or "\r\n").
  void feed(std::string_view bytes, const Sink& sink);

  /// Hands on what came after the last line end; for the end of the stream.
  void flush(const Sink& sink);

 private:
  std::string pending_;
};

/// Bounds how much of what a process writes is kept: its first lines, kMaxBytes in all. Those after
/// are counted.
class LineBudget {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

  /// Returns whether the line is among those that are kept.
  bool take(std::string_view line);

  [[nodiscard]] std::uint64_t leftOut() const { return lines_; }
  /// "12000000 lines (604 MiB) after the first 4 MiB were left out"; "" where none were.
  [[nodiscard]] std::string text() const;

 private:
  std::size_t kept_ = 0;     // bytes, with the lines' ends
  std::uint64_t lines_ = 0;  // left out
  std::uint64_t bytes_ = 0;  // of these
};

/// Keeps the last kMaxBytes of a stream.
class OutputTail {
 public:
  static constexpr std::size_t kMaxBytes = 4096;

  void feed(std::string_view bytes);

  /// Returns what is kept; starts at a line's beginning where something was cut off.
  [[nodiscard]] std::string text() const;

  /// Returns the last line that is not blank, or "".
  [[nodiscard]] std::string lastLine() const;

  /// Returns the first line kept that has a letter in it, or "": what a program says that explains
  /// itself at length, between rules.
  [[nodiscard]] std::string firstWords() const;

 private:
  std::string bytes_;
  bool cut_ = false;
};

}  // namespace lockstep::launch
