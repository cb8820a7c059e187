#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/experiment/Experiment.h"

namespace lockstep::experiment {

enum class FieldType {
  kBool,
  kInteger,
  kReal,
  kText,
  kChoice,
  kPath,
  kIntegerList,
  kRealList,
  kTextList
};

/// Describes one key once: for the parser, the checker, `lockstep run --help` and the form.
struct Field {
  std::string key;  ///< "ddp.bucket_cap_mb"
  FieldType type{};
  std::string label;          ///< "Bucket cap"
  std::string unit;           ///< "MiB", "s", "steps", ""
  std::string help;           ///< a sentence
  std::string initial;        ///< default as TOML text; empty for optional keys
  std::optional<double> min;  ///< inclusive unless minExclusive; of each element of a list
  std::optional<double> max;
  bool minExclusive = false;
  bool maxExclusive = false;
  std::vector<std::string> choices;  ///< of a list of texts: of each element
  std::string onlyFor;  ///< "model.kind=cnn,resnet18": the key has a meaning only for these
                        ///< values of another key; empty = always
  bool advanced = false;
};

/// Returns every field, in the order of the form; keys of one table stand together.
const std::vector<Field>& schema();

/// Returns the fields of one element of [[faults]], keys as "faults.kind"; `onlyFor` names the
/// kinds.
const std::vector<Field>& faultSchema();

/// Returns the field of `key`, of a fault too, or nullptr.
const Field* findField(std::string_view key);

/// Returns whether the key has a meaning in `experiment`, by its `onlyFor`.
bool applies(const Field& field, const Experiment& experiment);

/// Returns whether the key has a meaning where the key its `onlyFor` names has this value.
bool appliesFor(const Field& field, std::string_view value);

/// Says what a value must be: "an integer from 1 to 64", "one of sgd, adam, adamw".
std::string allowedValues(const Field& field);

/// Returns what is wrong with the type or the range of a value of a field that is none of the
/// schema's (a hook's parameter), or nothing.
std::optional<std::string> violation(const Field& field, const HookValue& value);

/// Returns the value of `field` in `experiment` as TOML text; empty for an optional key
/// that is not set.
std::string valueText(const Field& field, const Experiment& experiment);

/// Returns the text of `lockstep run --help`'s experiment keys, grouped by table.
std::string describeSchema();

}  // namespace lockstep::experiment
