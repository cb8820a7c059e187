#include "engine/launch/Obituary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/trace/Event.h"

namespace lockstep::launch {
namespace {

using trace::EventKind;

/// Reads a text that another process may have left unfinished, on one line.
template <std::size_t size>
// The memory is shared with the rank, which may be writing, or may have died while it did: no byte
// of it is trusted to end the text.
std::string boundedText(const std::array<char, size>& chars) {
  std::string text(chars.data(), strnlen(chars.data(), size));
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string openOperation(const trace::LastWords& words) {
  const auto operation =
      static_cast<trace::Operation>(words.operation.load(std::memory_order_relaxed));
  if (operation == trace::Operation::kNone) {
    return "";
  }
  std::string text(trace::name(operation));
  if (const auto bucket = words.bucket.load(std::memory_order_relaxed);
      bucket != trace::kNoBucket) {
    text += fmt::format(" of bucket {}", bucket);
  }
  text += fmt::format(" (sequence {}", words.sequence.load(std::memory_order_relaxed));
  if (const std::string hook = boundedText(words.hook); !hook.empty()) {
    text += fmt::format(", hook {}", hook);
  }
  return text + ")";
}

}  // namespace

Obituary readLastWords(const trace::LastWords& words, const base::ClockCalibration& clock,
                       std::uint64_t nowTicks) {
  Obituary result;
  const auto phase = static_cast<EventKind>(words.phase.load(std::memory_order_relaxed));
  const auto since = words.sinceTicks.load(std::memory_order_relaxed);
  result.step = words.step.load(std::memory_order_relaxed);
  result.phase = phase;
  result.sinceTicks = since;
  result.finished = words.finished.load(std::memory_order_relaxed) != 0;
  result.error = boundedText(words.error);
  result.fault = static_cast<trace::Fault>(words.fault.load(std::memory_order_relaxed));
  // 0 is an empty place: the words hold rank + 1.
  for (const std::int32_t culprit : words.culprits) {
    if (culprit > 0) {
      result.culprits.push_back(culprit - 1);
    }
  }
  result.inputsEnded = words.inputsEnded.load(std::memory_order_relaxed) != 0;
  result.spoke = since != 0;
  // Kinds below kStep are those of the start-up. In step 0 only the phase tells.
  result.training = result.step > 0 || phase >= EventKind::kStep || result.finished;
  if (!result.spoke) {
    result.lastIn = "before its start-up began";
    result.diedIn = result.lastIn;
    return result;
  }

  // What was open, from the outside in; the age is of the innermost.
  std::vector<std::string> open;
  bool inside = true;  // and not between two
  if (result.training) {
    open.push_back(fmt::format("iteration {}", result.step));
    if (phase >= EventKind::kData) {
      open.emplace_back(trace::name(phase));
    }
  } else {
    open.emplace_back(trace::name(
        static_cast<trace::StartupStage>(words.startupStage.load(std::memory_order_relaxed))));
    inside = phase == EventKind::kStartup;
  }
  const std::string start = result.training ? "" : "during start-up, ";
  const std::string in = inside ? "in " : "last stage ";
  const std::string operation = openOperation(words);
  // Between two phases there is nothing that the time could be of. The words may be newer than
  // `nowTicks`, which was read before them.
  const bool hasAge = (!operation.empty() || phase != EventKind{}) && nowTicks > since;
  const std::string spent = hasAge ? base::durationText(clock.durationNs(nowTicks - since)) : "";
  result.lastIn =
      fmt::format("{}{}{}{}{}{}", start, in, fmt::join(open, ", in "),
                  operation.empty() ? "" : ": ", operation, hasAge ? " for " + spent : "");
  if (!operation.empty()) {
    open.push_back(operation);
  }
  // "30 ms into backward" of the innermost, "in iteration 312" of what is around it.
  const std::string innermost = std::exchange(open.back(), "");
  open.pop_back();
  for (const std::string& outer : open) {
    result.diedIn += in + outer + ", ";
  }
  result.diedIn = start + result.diedIn + (hasAge ? spent + " into " : in) + innermost;
  return result;
}

Obituary readLastWords(const trace::LastWords& words, const base::ClockReading& start) {
  const auto now = base::readClock();
  return readLastWords(words, base::calibrate(start, now), now.ticks);
}

std::string signalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace lockstep::launch
