#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/store/Store.h"

namespace lockstep::store::detail {

/// Writes keys for a message, each in quotes, long ones and long lists shortened.
std::string quoted(const std::vector<std::string>& keys);

/// Builds "<place>: <operation>: timeout after 250 ms; missing keys: "a", "b"".
StoreError timeoutError(const std::string& place, const std::string& operation,
                        std::chrono::milliseconds timeout, const std::vector<std::string>& missing);

/// Builds "<place>: add "a": the value "x" is not a number".
StoreError notANumber(const std::string& place, const std::string& key, const std::string& value);

/// Throws unless there is one value for each key of a multiSet.
void requirePairs(const std::string& place, const std::vector<std::string>& keys,
                  const std::vector<std::string>& values);

}  // namespace lockstep::store::detail
