#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "engine/experiment/Parse.h"
#include "engine/experiment/detail/ParseRun.h"

namespace lockstep::experiment {

Mistake ParseOutcome::at(const std::string& key, std::string text, bool atName) const {
  const auto found = written.find(key);
  if (found == written.end()) {
    return {file, 0, 0, key, std::move(text)};
  }
  const WrittenKey& place = found->second;
  return {place.file, atName ? place.line : place.valueLine,
          atName ? place.column : place.valueColumn, key, std::move(text)};
}

void ParseOutcome::add(std::vector<Mistake> found) {
  if (found.empty()) {
    return;
  }
  mistakes.insert(mistakes.end(), std::make_move_iterator(found.begin()),
                  std::make_move_iterator(found.end()));
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const Mistake& a, const Mistake& b) {
    return std::tuple(a.file == detail::kOverride, a.line, a.column) <
           std::tuple(b.file == detail::kOverride, b.line, b.column);
  });
  Experiment unusable;
  unusable.name = std::move(experiment.name);
  unusable.shows = std::move(experiment.shows);
  unusable.launch.nnodes = experiment.launch.nnodes;
  experiment = std::move(unusable);
}

std::string Mistake::message() const {
  std::string text = file;
  if (line > 0) {
    text += fmt::format(":{}:{}", line, column);
  }
  text += text.empty() ? "" : ": ";
  return text + (key.empty() ? "" : key + ": ") + this->text;
}

}  // namespace lockstep::experiment
