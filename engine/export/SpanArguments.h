#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/export/Survey.h"

namespace lockstep::exports {

/// Names and arguments of spans as they stand in a trace. The survey outlives it.
class SpanArguments {
 public:
  explicit SpanArguments(const Survey& survey);

  /// Appends the name as a JSON string. An iteration is a ProfilerStep, as Kineto has it.
  void appendName(std::string& out, const trace::SpanRow& span) const;

  /// Appends the arguments as members of a JSON object, without its braces.
  void appendArguments(std::string& out, const trace::SpanRow& span) const;

  /// Appends a collective's fields under Kineto's names: "Collective name", "In msg nelems", ...
  void appendCollective(std::string& out, const trace::SpanRow& span) const;

  /// The process groups under the names of c10d's configuration, as a JSON array.
  [[nodiscard]] std::string groupsAsJson() const;

 private:
  struct Elements {
    std::string_view dtype;
    std::uint64_t count = 0;
    bool known = false;
  };
  [[nodiscard]] Elements elementsOf(const trace::SpanRow& span) const;
  [[nodiscard]] std::size_t groupSize(std::uint8_t group) const;

  const Survey& survey_;
  std::string backend_;
  std::vector<std::string> parameters_;           // names, quoted
  std::map<std::uint8_t, std::string> ofGroups_;  // the members that are the same for all calls
};

}  // namespace lockstep::exports
