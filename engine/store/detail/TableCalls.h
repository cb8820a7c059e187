#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/store/Store.h"
#include "engine/store/detail/Errors.h"
#include "engine/store/detail/KeyTable.h"

namespace lockstep::store::detail {

// Calls of a store whose keys stand in a table of this process, each with `prefix` before it.

/// The keys of a call that do not exist.
[[nodiscard]] inline std::vector<std::string> missing(const StoreCall& asked,
                                                      const std::string& prefix,
                                                      const KeyTable& table) {
  std::vector<std::string> result;
  for (const std::string& key : asked.keys) {
    if (table.find(prefix + key) == nullptr) {
      result.push_back(key);
    }
  }
  return result;
}

/// Carries out a call that finds the keys that it waits for. `writer` changes the table: it has
/// set(key, value), append(key, value) and erase(key). `place` opens the text of an error.
template <typename Writer>
StoreResult carryOut(const StoreCall& asked, const std::string& prefix, const KeyTable& table,
                     const std::string& place, Writer&& writer) {
  using Verb = StoreCall::Verb;
  const std::string key = prefix + (asked.keys.empty() ? "" : asked.keys.front());
  StoreResult result;
  switch (asked.verb) {
    case Verb::kSet:
    case Verb::kMultiSet:
      requirePairs(place, asked.keys, asked.values);
      for (std::size_t i = 0; i < asked.keys.size(); ++i) {
        writer.set(prefix + asked.keys[i], asked.values[i]);
      }
      break;
    case Verb::kGet:
    case Verb::kMultiGet:
      for (const std::string& each : asked.keys) {
        result.values.push_back(*table.find(prefix + each));
      }
      break;
    case Verb::kAdd: {
      const auto sum = table.sum(key, asked.amount);
      if (!sum) {
        throw notANumber(place, asked.keys.front(), *table.find(key));
      }
      result.number = *sum;
      writer.set(key, std::to_string(*sum));
      break;
    }
    case Verb::kCompareSet: {
      auto comparison = table.compare(key, asked.values[0], asked.values[1]);
      if (comparison.writes) {
        writer.set(key, asked.values[1]);
      }
      result.values.push_back(std::move(comparison.value));
      break;
    }
    case Verb::kDeleteKey:
      if (table.find(key) != nullptr) {
        result.number = 1;
        writer.erase(key);
      }
      break;
    case Verb::kCheck: result.number = missing(asked, prefix, table).empty() ? 1 : 0; break;
    case Verb::kGetNumKeys: result.number = static_cast<std::int64_t>(table.size()); break;
    case Verb::kAppend: writer.append(key, asked.values.front()); break;
    case Verb::kWait: break;
  }
  return result;
}

}  // namespace lockstep::store::detail
