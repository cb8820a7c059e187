#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/experiment/detail/Rows.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment::detail {

using Table = std::vector<Row>;

// One function a table of the experiment file; each adds its rows in the order of the form.
void addModel(Table& table);
void addData(Table& table);
void addProcesses(Table& table);
void addDdp(Table& table);
void addHook(Table& table);
void addOptimizer(Table& table);
void addTrain(Table& table);
void addCapture(Table& table);
void addLink(Table& table);
void addLaunch(Table& table);
void addSweep(Table& table);

/// Reaches a member of the Experiment, or of one of its tables.
template <auto Leaf>
Member at() {
  return +[](Experiment& e) -> decltype(auto) { return (e.*Leaf); };
}

template <auto Group, auto Leaf>
Member at() {
  return +[](Experiment& e) -> decltype(auto) { return ((e.*Group).*Leaf); };
}

inline FieldType typeOf(const Member& member) {
  return std::visit(
      [](auto access) {
        using T = std::remove_cvref_t<std::invoke_result_t<decltype(access), Experiment&>>;
        if constexpr (std::is_same_v<T, bool>) {
          return FieldType::kBool;
        } else if constexpr (std::is_same_v<T, double>) {
          return FieldType::kReal;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return FieldType::kText;
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return FieldType::kIntegerList;
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return FieldType::kRealList;
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return FieldType::kTextList;
        } else {
          return FieldType::kInteger;
        }
      },
      member);
}

/// Builds a row; a table of them reads as one sentence a key.
class RowBuilder {
 public:
  RowBuilder(std::string key, Member member, std::string label, std::string help) {
    row_.member = member;
    row_.field.key = std::move(key);
    row_.field.type = typeOf(member);
    row_.field.label = std::move(label);
    row_.field.help = std::move(help);
    if (const auto value = read(row_, Experiment{})) {
      row_.field.initial = format(*value);
    }
  }
  RowBuilder& unit(std::string unit) { return row_.field.unit = std::move(unit), *this; }
  RowBuilder& from(double min) { return row_.field.min = min, *this; }
  RowBuilder& to(double max) { return row_.field.max = max, *this; }
  RowBuilder& above(double min) { return row_.field.minExclusive = true, from(min); }
  RowBuilder& below(double max) { return row_.field.maxExclusive = true, to(max); }
  RowBuilder& path() { return row_.field.type = FieldType::kPath, *this; }
  RowBuilder& choices(std::vector<std::string> choices) {
    row_.field.type = FieldType::kChoice;
    row_.field.choices = std::move(choices);
    return *this;
  }
  /// Of each element of a list of texts.
  RowBuilder& each(std::vector<std::string> choices) {
    return row_.field.choices = std::move(choices), *this;
  }
  RowBuilder& onlyFor(std::string condition) {
    return row_.field.onlyFor = std::move(condition), *this;
  }
  RowBuilder& advanced() { return row_.field.advanced = true, *this; }
  operator Row() const { return row_; }

 private:
  Row row_;
};

}  // namespace lockstep::experiment::detail
