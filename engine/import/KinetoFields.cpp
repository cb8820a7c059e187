#include "engine/import/KinetoFields.h"

#include <charconv>
#include <cstdlib>
#include <map>
#include <unordered_map>

namespace lockstep::imports {
namespace {

const std::unordered_map<std::string, Field>& eventFields() {
  static const std::unordered_map<std::string, Field> kFields = {
      {"ph", Field::kPhase},     {"cat", Field::kCategory},  {"name", Field::kName},
      {"pid", Field::kProcess},  {"tid", Field::kThread},    {"ts", Field::kBegin},
      {"dur", Field::kDuration}, {"args", Field::kArguments}};
  return kFields;
}

const std::unordered_map<std::string, Field>& argumentFields() {
  static const std::unordered_map<std::string, Field> kFields = {
      {"External id", Field::kExternalId},
      {"external id", Field::kExternalId},
      {"correlation", Field::kCorrelation},
      {"stream", Field::kStream},
      {"Input Dims", Field::kShapes},
      {"Input type", Field::kTypes},
      {"Collective name", Field::kCollective},
      {"In msg nelems", Field::kElementsIn},
      {"Out msg nelems", Field::kElementsOut},
      {"dtype", Field::kDtype},
      {"Process Group Name", Field::kGroupName},
      {"Process Group Ranks", Field::kGroupRanks},
      {"Process Group Description", Field::kGroupDescription},
      {"Seq", Field::kSequence},
      {"step", Field::kStep},
      {"bucket", Field::kBucket}};
  return kFields;
}

Field named(const std::unordered_map<std::string, Field>& fields, const std::string& key) {
  const auto found = fields.find(key);
  return found == fields.end() ? Field::kNone : found->second;
}

}  // namespace

Field eventFieldNamed(const std::string& key) {
  return named(eventFields(), key);
}

Field argumentNamed(const std::string& key) {
  return named(argumentFields(), key);
}

void setNumber(KinetoEvent& event, Field argument, std::int64_t number) {
  using E = KinetoEvent;
  static const std::map<Field, std::optional<std::int64_t> E::*> kNumbers = {
      {Field::kExternalId, &E::externalId},
      {Field::kCorrelation, &E::correlation},
      {Field::kStream, &E::stream},
      {Field::kSequence, &E::sequence},
      {Field::kStep, &E::step},
      {Field::kBucket, &E::bucket}};
  if (argument == Field::kElementsIn || argument == Field::kElementsOut) {
    (argument == Field::kElementsIn ? event.elementsIn : event.elementsOut) = number;
  } else if (const auto member = kNumbers.find(argument); member != kNumbers.end()) {
    event.*(member->second) = number;
  }
}

void setText(KinetoEvent& event, Field argument, const std::string& text) {
  using E = KinetoEvent;
  static const std::map<Field, std::string E::*> kTexts = {
      {Field::kCollective, &E::collective},
      {Field::kDtype, &E::dtype},
      {Field::kGroupName, &E::groupName},
      {Field::kGroupRanks, &E::groupRanks},
      {Field::kGroupDescription, &E::groupDescription}};
  if (const auto member = kTexts.find(argument); member != kTexts.end()) {
    event.*(member->second) = text;
  }
}

std::optional<std::int64_t> nanoseconds(std::string_view text) {
  std::int64_t whole = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), whole);
  const std::string_view after(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  // Written as 1.7e15, or more digits than 64 bits: a double is as good as the text.
  if (code != std::errc() || after.find_first_of("eE") != std::string_view::npos) {
    const double microseconds = std::strtod(std::string(text).c_str(), nullptr);
    const double ns = microseconds * 1000;
    if (!(ns > -static_cast<double>(kLatestNs) && ns < static_cast<double>(kLatestNs))) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(ns);
  }
  std::int64_t fraction = 0;
  for (std::size_t i = 1; i <= 3; ++i) {
    // after[0] is the point. What is below a ns is cut off.
    fraction = fraction * 10 + (i < after.size() ? after[i] - '0' : 0);
  }
  if (whole > kLatestNs / 1000 || whole < -kLatestNs / 1000) {
    return std::nullopt;
  }
  // By the text: -0.5 has no sign left in `whole`.
  return whole * 1000 + (text.front() == '-' ? -fraction : fraction);
}

}  // namespace lockstep::imports
