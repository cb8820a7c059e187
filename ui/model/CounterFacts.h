#pragma once

#include <QString>
#include <string>
#include <vector>

namespace lockstep::ui {

enum class CounterUnit { kNumber, kBytes, kPercent, kBytesPerSecond, kNanoseconds };

/// What a counter is about, in the order in which views list them.
enum class CounterGroup { kProcess, kWire, kTraining, kHook, kDdp, kOther };

/// What is shown of a counter. Those of hooks, and others that the studio does not know, have their
/// own names and no unit.
struct CounterFacts {
  QString title;    ///< "Memory": short enough for the label of a lane
  QString meaning;  ///< one sentence, with its unit
  CounterUnit unit = CounterUnit::kNumber;
  CounterGroup group = CounterGroup::kOther;
  /// A value speaks of the time since the one before; else it holds from its own time on.
  bool overInterval = false;
};

/// `name` as the run file has it. [any-thread]
CounterFacts counterFacts(const std::string& name);

/// Whether it says something over time: not the result of a whole run, nor a time of day.
bool isPlotted(const std::string& name);

/// Sorts names as views list them: by group, memory before processor.
std::vector<std::string> inListedOrder(std::vector<std::string> names);

/// "Process", "On the wire".
QString titleOf(CounterGroup group);

/// "201 MiB", "38.2 %", "41.2 MiB/s", "12.3 ms", "618".
QString counterText(CounterUnit unit, double value);

/// The ends of a value axis.
struct CounterScale {
  double low = 0;
  double high = 1;
  bool operator==(const CounterScale&) const = default;
};

/// An axis that holds these values and zero, with ends that are round in the unit.
CounterScale counterScale(CounterUnit unit, double minimum, double maximum);

}  // namespace lockstep::ui
