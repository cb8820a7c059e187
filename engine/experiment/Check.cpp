#include <algorithm>
#include <set>

#include "engine/experiment/Parse.h"
#include "engine/experiment/detail/FaultRows.h"
#include "engine/experiment/detail/Rules.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment {

// For an experiment that is no text: the parser's rows and rules, without places.
std::vector<Mistake> check(const Experiment& experiment, const std::string& name) {
  std::vector<Mistake> mistakes;
  std::set<std::string> wrong;
  for (const detail::Row& row : detail::rows()) {
    const auto value = detail::read(row, experiment);
    if (!value || !applies(row.field, experiment)) {
      continue;
    }
    if (auto text = detail::violation(row.field, *value)) {
      mistakes.push_back({name, 0, 0, row.field.key, std::move(*text)});
      wrong.insert(row.field.key);
    }
  }
  for (auto& rule : detail::brokenRules(experiment)) {
    // A rule that compares a value which is out of its range says nothing that helps.
    if (std::none_of(rule.keys.begin(), rule.keys.end(),
                     [&wrong](const std::string& key) { return wrong.contains(key); })) {
      mistakes.push_back({name, 0, 0, rule.keys.front(), std::move(rule.text)});
    }
  }
  for (const FaultConfig& fault : experiment.faults) {
    std::vector<Mistake> own;
    for (const detail::FaultRow& row : detail::faultRows()) {
      const auto value = row.get(fault);
      // A key that was not written has its default, which need not be allowed when written: delays
      // of 0 ms.
      auto text = value && applies(row, fault) && detail::format(*value) != row.field.initial
                      ? detail::violation(row.field, *value)
                      : std::nullopt;
      if (text) {
        own.push_back({name, 0, 0, row.field.key, std::move(*text)});
      }
    }
    for (auto& rule :
         own.empty() ? detail::brokenRules(fault, experiment) : std::vector<detail::BrokenRule>{}) {
      own.push_back({name, 0, 0, rule.keys.front(), std::move(rule.text)});
    }
    mistakes.insert(mistakes.end(), own.begin(), own.end());
  }
  return mistakes;
}

}  // namespace lockstep::experiment
