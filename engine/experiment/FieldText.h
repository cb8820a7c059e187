#pragma once

#include <string>
#include <vector>

#include "engine/experiment/Schema.h"

namespace lockstep::experiment {

// Between a value as it stands in a file and as people type it into a form: no quotes around a
// text, no brackets around a list. [any-thread]

/// Returns what a form shows for a value written in TOML; the TOML itself when it is of another
/// type than the field's.
std::string typedText(const Field& field, const std::string& toml);

/// Returns the TOML of what was typed. Always a value in TOML: what the field does not take
/// becomes a text in quotes, for the parser to refuse. Empty for an empty number.
std::string tomlText(const Field& field, const std::string& typed);

/// Returns whether two values written in TOML are the same to the field ("1e-3" and "0.001").
bool sameValue(const Field& field, const std::string& a, const std::string& b);

/// Splits a list in TOML ("[1, 5]") into its elements, each in TOML; empty for what is none.
std::vector<std::string> listElements(const std::string& toml);

}  // namespace lockstep::experiment
