#include "engine/experiment/detail/SweepRules.h"

#include <fmt/format.h>

#include <set>

#include "engine/experiment/Sweep.h"

namespace lockstep::experiment::detail {
namespace {

Mistake at(const SweepEntry& axis, const Place& place, std::string text) {
  return {axis.file, place.line, place.column, "sweep." + axis.key, std::move(text)};
}

}  // namespace

std::vector<Mistake> brokenSweepRules(const std::vector<SweepEntry>& sweep) {
  std::vector<Mistake> mistakes;
  std::set<std::string> keys;
  std::size_t runs = 1;
  for (const SweepEntry& axis : sweep) {
    if (axis.key == "name" || axis.key == "shows" || axis.key.starts_with("sweep.")) {
      mistakes.push_back(at(axis, axis.keyPlace, "cannot be varied: it changes nothing in a run"));
      continue;
    }
    if (axis.key == "faults" || axis.key.starts_with("faults.")) {
      mistakes.push_back(at(axis, axis.keyPlace, "faults cannot be varied"));
      continue;
    }
    if (!keys.insert(axis.key).second) {
      mistakes.push_back(at(axis, axis.keyPlace, "is written twice"));
      continue;
    }
    if (!axis.isList || axis.values.empty()) {
      mistakes.push_back(at(axis, axis.valuePlace,
                            "must be a list of values to run the experiment with, as in [1, 5]"));
      continue;
    }
    std::set<std::string> values;
    for (const Entry& value : axis.values) {
      const std::string text = format(value.value);
      if (!values.insert(text).second) {
        mistakes.push_back(at(axis, value.valuePlace, fmt::format("has {} twice", text)));
      }
    }
    const std::size_t before = runs;
    runs *= axis.values.size();
    // Said at the key that goes beyond, and once.
    if (runs > kMostSweptRuns && before <= kMostSweptRuns) {
      mistakes.push_back(at(axis, axis.valuePlace,
                            fmt::format("makes {} runs with the keys above; a sweep has at most {}",
                                        runs, kMostSweptRuns)));
    }
  }
  return mistakes;
}

}  // namespace lockstep::experiment::detail
