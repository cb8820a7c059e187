#include "engine/experiment/WrittenKeys.h"

#include <fmt/format.h>

#include "engine/experiment/detail/Document.h"

namespace lockstep::experiment {

std::map<std::string, std::string> writtenKeys(std::string_view toml) {
  const detail::Document document = detail::readDocument(toml, "");
  std::map<std::string, std::string> keys;
  for (const detail::Entry& entry : document.entries) {
    keys.emplace(entry.key, detail::format(entry.value));
  }
  // A list of tables, [[faults]], has its keys by element: "faults[0].kind". Elements are counted
  // in the order of the file, each list by itself.
  std::map<std::string, int> counts;
  for (const detail::ElementEntry& element : document.elements) {
    const std::string name = fmt::format("{}[{}]", element.list, counts[element.list]++);
    for (const detail::Entry& entry : element.entries) {
      const std::string key = entry.key.substr(element.list.size());  // with its dot
      keys.emplace(name + key, detail::format(entry.value));
    }
  }
  return keys;
}

}  // namespace lockstep::experiment
