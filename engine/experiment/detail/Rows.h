#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/experiment/Schema.h"

namespace lockstep::experiment::detail {

/// Reaches the member of an Experiment that a key stands for.
using Member =
    std::variant<bool& (*)(Experiment&), int& (*)(Experiment&), std::int64_t& (*)(Experiment&),
                 double& (*)(Experiment&), std::string& (*)(Experiment&),
                 std::vector<std::int64_t>& (*)(Experiment&), std::vector<double>& (*)(Experiment&),
                 std::vector<std::string>& (*)(Experiment&),
                 std::optional<std::int64_t>& (*)(Experiment&)>;

/// One key: its description for people and its place in the struct.
struct Row {
  Field field;
  Member member;
};

/// Returns the one table that parser, checker, writer, help and form are driven by.
const std::vector<Row>& rows();

/// Returns the row of `key`, or nullptr.
const Row* findRow(std::string_view key);

/// Splits "ddp.bucket_cap_mb" into table and leaf; a top-level key has an empty table.
struct KeyParts {
  std::string_view table;
  std::string_view leaf;
};
KeyParts splitKey(std::string_view key);

}  // namespace lockstep::experiment::detail
