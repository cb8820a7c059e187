#include "engine/export/Selection.h"

#include <fmt/format.h>

#include <charconv>

namespace lockstep::exports {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = failure == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

base::Result<StepRange> parseStepRange(const std::string& text) {
  const auto refused = [&](const char* why) {
    return base::Error{base::ExitCode::kBadInput, why, fmt::format("range \"{}\"", text)};
  };
  constexpr const char* kForm = "write iterations as 7, 3..9, 3.. or ..9";
  const std::size_t dots = text.find("..");
  // Not at the front, where it would be a sign.
  const std::size_t dash = text.find('-', 1);
  const std::size_t at = dots != std::string::npos ? dots : dash;
  const std::string_view whole(text);
  if (at == std::string::npos) {
    const auto step = number(whole);
    return step ? base::Result<StepRange>(StepRange{*step, *step}) : refused(kForm);
  }
  const std::string_view from = whole.substr(0, at);
  const std::string_view to = whole.substr(at + (at == dots ? 2 : 1));
  StepRange range;
  const auto first = number(from);
  const auto last = number(to);
  if ((!first && !from.empty()) || (!last && !to.empty()) || (from.empty() && to.empty())) {
    return refused(kForm);
  }
  range.first = first.value_or(range.first);
  range.last = last.value_or(range.last);
  return range.first <= range.last ? base::Result<StepRange>(range)
                                   : refused("the first iteration comes after the last");
}

}  // namespace lockstep::exports
