#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/experiment/detail/Rows.h"

namespace lockstep::experiment::detail {

/// What there is to say of a key beside its name, type and meaning, as Field has it.
struct More {
  std::string unit{};
  std::optional<double> from{}, above{}, to{}, below{};
  std::vector<std::string> choices{};
  std::vector<std::string> each{};  ///< of each element of a list of texts
  std::string onlyFor{};
  bool path = false;
  bool advanced = false;
};

/// The rows of the experiment file, in the order in which they are added.
class Table {
 public:
  void add(std::string key, Member member, std::string label, std::string help, More more = {});

  std::vector<Row> rows;
};

using E = Experiment;

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

}  // namespace lockstep::experiment::detail
