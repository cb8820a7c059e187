#include "engine/experiment/detail/TextKeys.h"

#include <algorithm>

#include "engine/experiment/detail/Nearest.h"
#include "engine/experiment/detail/Rows.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment::detail {
namespace {

constexpr std::string_view kSweep = "sweep";
constexpr double kBehindAll = 1000;

std::string written(std::string_view leaf) {
  constexpr const char* kBare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const bool bare = !leaf.empty() && leaf.find_first_not_of(kBare) == std::string_view::npos;
  return bare ? std::string(leaf) : format(Value(std::string(leaf)));
}

}  // namespace

TextKey textKey(std::string_view key) {
  const KeyParts parts = splitKey(key);
  if (parts.table != "hook" && parts.table != kSweep) {
    return {std::string(parts.table), written(parts.leaf)};
  }
  // A key of [sweep] is a whole key in quotes: "ddp.bucket_cap_mb".
  if (parts.table == kSweep) {
    return {std::string(kSweep), written(parts.leaf)};
  }
  const auto dot = key.rfind('.');
  return {std::string(key.substr(0, dot)), written(key.substr(dot + 1))};
}

double tableOrder(std::string_view table) {
  if (table.empty()) {
    return -1;
  }
  if (table == kSweep) {
    return kBehindAll;
  }
  const auto names = tableNames();
  const std::string_view outer = table.substr(0, table.find('.'));
  const auto found = std::find(names.begin(), names.end(), outer);
  if (found == names.end()) {
    return table == "faults" ? kBehindAll + 1 : kBehindAll + 2;
  }
  // [hook.inner.inner] stands after [hook.inner], and both before the table that follows [hook].
  // A fraction, which never reaches the next table's number.
  const double depth = static_cast<double>(std::count(table.begin(), table.end(), '.'));
  return static_cast<double>(found - names.begin()) + depth / kBehindAll;
}

}  // namespace lockstep::experiment::detail
