#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Parse.h"
#include "engine/experiment/detail/Values.h"

namespace lockstep::experiment::detail {

struct Place {
  int line = 0;
  int column = 0;
};

/// One `key = value` as written, the key with its table: "ddp.bucket_cap_mb".
struct Entry {
  std::string key;
  Value value;
  std::string file;  ///< "--set" for an override
  Place keyPlace;
  Place valuePlace;
};

struct TableEntry {
  std::string name;
  Place place;
};

/// One element of an array of tables, [[faults]]; its keys are "faults.kind".
struct ElementEntry {
  std::string list;
  Place place;
  std::vector<Entry> entries;
};

/// One key of [sweep]: a key of the experiment, "ddp.bucket_cap_mb", and its values.
struct SweepEntry {
  std::string key;
  std::string file;
  Place keyPlace;
  Place valuePlace;
  bool isList = false;
  std::vector<Entry> values;  ///< each as the entry that it is in its runs
};

/// A TOML text taken apart, before any key is looked up.
struct Document {
  std::vector<Entry> entries;
  std::vector<ElementEntry> elements;
  std::vector<SweepEntry> sweep;
  std::vector<TableEntry> tables;
  std::vector<Mistake> mistakes;     ///< of syntax
  std::set<std::string> unreadable;  ///< keys whose line is among the mistakes
  bool complete = true;              ///< false: reading stopped at the (only) mistake
};

/// Takes a text apart. A line `key = ...` with a mistake of syntax does not hide those below
/// it; any other mistake of syntax stops the reading.
Document readDocument(std::string_view toml, const std::string& name);

/// Reads one value written in TOML.
base::Result<Value> readValue(const std::string& text);

}  // namespace lockstep::experiment::detail
