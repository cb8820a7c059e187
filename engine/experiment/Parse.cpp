#include "engine/experiment/Parse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <tuple>

#include "engine/base/Nearest.h"
#include "engine/experiment/detail/Document.h"
#include "engine/experiment/detail/FaultRows.h"
#include "engine/experiment/detail/HookKeys.h"
#include "engine/experiment/detail/Nearest.h"
#include "engine/experiment/detail/ParseRun.h"
#include "engine/experiment/detail/Rules.h"
#include "engine/experiment/detail/SweepRules.h"
#include "engine/experiment/detail/TextKeys.h"

namespace lockstep::experiment {
namespace {

namespace fs = std::filesystem;
using detail::Entry;
using detail::kFaults;
using detail::kOverride;
using detail::Row;
using detail::Value;

constexpr std::size_t kLargestFile = 1 << 20;

/// Returns the key that decides whether a key has a meaning ("model.kind"), "" for none.
std::string deciderOf(const Field& field) {
  return field.onlyFor.substr(0, field.onlyFor.find('='));
}

std::string keysOfTable(std::string_view table) {
  std::vector<std::string_view> leaves;
  for (const Row& row : detail::rows()) {
    const auto parts = detail::splitKey(row.field.key);
    if (parts.table == table) {
      leaves.push_back(parts.leaf);
    }
  }
  return fmt::format("{}", fmt::join(leaves, ", "));
}

bool isTable(std::string_view name) {
  const auto tables = detail::tableNames();
  return std::find(tables.begin(), tables.end(), name) != tables.end();
}

bool isQuoted(const std::string& text) {
  return text.starts_with('"') || text.starts_with('\'');
}

// Note [One mistake, one message]
// All mistakes of a file are found at once, and each only once, so every key with a mistake goes
// into doubtful_ and takes no part in what is judged later:
//
//       syntax     of one line: its key is doubtful, the rest is read (Document)
//       table      unknown: its keys are dropped; [dpd] for [ddp] makes ddp's keys doubtful
//       sweep      its values are put into the place of the file's, as overrides are
//       kinds      "model.kind" and other keys that decide which keys have a meaning
//       values     type, range, meaning; of a doubtful kind no key is called meaningless
//       faults     the kind first, then the rest, for each element by itself
//       rules      that span keys: left out where one of the keys is doubtful
//
// What an override takes the meaning from (momentum under --set optimizer.kind=adam) is no mistake
// of the file, and is left out without a word.

/// Turns a document and overrides into an experiment, gathering mistakes on the way.
class Builder {
 public:
  Builder(detail::Document document, std::string name, fs::path folder)
      : name_(std::move(name)),
        folder_(std::move(folder)),
        mistakes_(std::move(document.mistakes)),
        doubtful_(std::move(document.unreadable)),
        complete_(document.complete) {
    for (auto& entry : document.entries) {
      entries_.insert_or_assign(entry.key, std::move(entry));
    }
    elements_ = std::move(document.elements);
    sweep_ = std::move(document.sweep);
    for (const auto& table : document.tables) {
      checkTable(table);
    }
  }

  void override(const std::string& key, const std::string& text) {
    Entry entry{key, text, kOverride, {}, {}};
    const Row* row = detail::findRow(key);
    // Shells take quotes away: for a text they need not be typed twice.
    const bool textual = row != nullptr && (row->field.type == FieldType::kText ||
                                            row->field.type == FieldType::kChoice ||
                                            row->field.type == FieldType::kPath);
    if (!textual || isQuoted(text)) {
      auto value = detail::readValue(text);
      if (value.ok()) {
        entry.value = std::move(value).value();
      // What is no TOML is taken for a text without quotes, of a hook's parameter perhaps; but not
      // what was meant to be TOML and is broken.
      } else if (isQuoted(text) || text.empty() || text.starts_with('[')) {
        report(entry, text.empty() ? "has no value" : value.error().what);
        return;
      }
    }
    overrideWith(std::move(entry));
  }

  /// The run of the sweep to build: which of its values each key has.
  void choose(std::vector<std::size_t> choice) { choice_ = std::move(choice); }

  ParseOutcome build() {
    settleSweep();
    settleLength();
    settleHook();
    // Kinds first: they decide which of the other keys have a meaning.
    std::set<std::string> deciders;
    for (const Row& row : detail::rows()) {
      deciders.insert(deciderOf(row.field));
    }
    for (const bool deciding : {true, false}) {
      for (const auto& [key, entry] : entries_) {
        if (deciders.contains(key) == deciding) {
          apply(entry);
        }
      }
    }
    for (const auto& element : elements_) {
      applyElement(element);
    }
    if (complete_) {
      checkRules();
    }
    return finish();
  }

 private:
  /// Reports at the value, or for a mistake of the key itself at the key.
  void report(const Entry& entry, std::string text, bool atKey = false) {
    const auto& place = atKey ? entry.keyPlace : entry.valuePlace;
    mistakes_.push_back({entry.file, place.line, place.column, entry.key, std::move(text)});
    doubtful_.insert(entry.key);
  }

  static std::string isTableText(std::string_view table) {
    return fmt::format("is a table: write its keys under [{}] ({})", table, keysOfTable(table));
  }

  /// What a relative path is below.
  [[nodiscard]] fs::path baseOf(const Entry& entry) const {
    return entry.file == kOverride ? fs::current_path() : folder_;
  }

  /// Reports an unknown table once, instead of each of its keys.
  void checkTable(const detail::TableEntry& table) {
    if (isTable(table.name)) {
      return;
    }
    std::string text;
    if (table.name == kFaults) {
      text = "is a list of tables: write [[faults]]";
    } else if (const Row* row = detail::findRow(table.name)) {
      text = fmt::format("must be {}, not a table", allowedValues(row->field));
    } else if (const auto nearest = detail::nearestTable(table.name); !nearest.empty()) {
      text = fmt::format("unknown table; did you mean [{}]?", nearest);
      for (const Row& candidate : detail::rows()) {
        if (detail::splitKey(candidate.field.key).table == nearest) {
          doubtful_.insert(candidate.field.key);
        }
      }
    } else {
      text = fmt::format("unknown table; the tables are {}", fmt::join(detail::tableNames(), ", "));
    }
    mistakes_.push_back({name_, table.place.line, table.place.column, table.name, text});
    std::erase_if(entries_, [&table](const auto& entry) {
      return detail::splitKey(entry.first).table == table.name;
    });
  }

  void reportUnknown(const Entry& entry) {
    if (entry.key == kFaults) {
      report(entry, "is a list of tables: write [[faults]]", true);
      return;
    }
    if (isTable(entry.key)) {
      report(entry, isTableText(entry.key), true);
      return;
    }
    const auto parts = detail::splitKey(entry.key);
    const std::string nearest = detail::nearestKey(entry.key);
    if (!nearest.empty()) {
      report(entry, fmt::format("unknown key; did you mean {}?", nearest), true);
      // The key that was meant may be missed by a rule, such as train.steps.
      doubtful_.insert(nearest);
    } else if (parts.table.empty() || isTable(parts.table)) {
      report(entry,
             fmt::format("unknown key; {} {}",
                         parts.table.empty() ? std::string("the keys outside tables are")
                                             : fmt::format("the keys of [{}] are", parts.table),
                         keysOfTable(parts.table)),
             true);
    } else {
      report(entry,
             fmt::format("unknown key; the tables are {}", fmt::join(detail::tableNames(), ", ")),
             true);
    }
  }

  /// What a run of the sweep has wins over the rest of the file, as an override does; and an
  /// override of a key ends its sweep.
  void settleSweep() {
    std::erase_if(sweep_, [this](const auto& axis) { return overridden_.contains(axis.key); });
    std::stable_sort(sweep_.begin(), sweep_.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.keyPlace.line, a.keyPlace.column) <
             std::tuple(b.keyPlace.line, b.keyPlace.column);
    });
    auto wrong = detail::brokenSweepRules(sweep_);
    if (!wrong.empty()) {
      for (const auto& axis : sweep_) {
        doubtful_.insert(axis.key);
      }
      std::move(wrong.begin(), wrong.end(), std::back_inserter(mistakes_));
      return;
    }
    for (std::size_t i = 0; i < sweep_.size(); ++i) {
      const detail::SweepEntry& axis = sweep_[i];
      const std::size_t chosen = i < choice_.size() ? choice_[i] : 0;
      overrideWith(axis.values[chosen]);
      SweepAxis& told = axes_.emplace_back(SweepAxis{axis.key, {}});
      for (const Entry& value : axis.values) {
        told.values.push_back(detail::format(value.value));
      }
    }
  }

  /// One of train.steps and train.epochs as an override replaces the other of the file.
  void settleLength() {
    const auto replace = [this](const char* given, const char* other) {
      // With both on the command line the rule against both still speaks.
      if (overridden_.contains(given) && !overridden_.contains(other)) {
        entries_.erase(other);
        doubtful_.erase(other);
      }
    };
    replace("train.steps", "train.epochs");
    replace("train.epochs", "train.steps");
  }

  /// Puts a value in the place of the file's.
  void overrideWith(Entry entry) {
    // --set hook.name with the name that the file has already changes nothing: its parameters stay.
    if (entry.key == "hook.name") {
      const auto written = entries_.find(entry.key);
      hookChanged_ = written == entries_.end() ||
                     detail::format(written->second.value) != detail::format(entry.value);
    }
    overridden_.insert(entry.key);
    entries_.insert_or_assign(entry.key, std::move(entry));
  }

  /// Another hook as an override does not get what the file tells its own.
  void settleHook() {
    if (!overridden_.contains("hook.name") || !hookChanged_) {
      return;
    }
    std::erase_if(entries_, [this](const auto& entry) {
      return detail::isHookKey(entry.first) && !overridden_.contains(entry.first);
    });
    std::erase_if(doubtful_, detail::isHookKey);
  }

  void apply(const Entry& entry) {
    const Row* row = detail::findRow(entry.key);
    if (row == nullptr && detail::isHookKey(entry.key)) {
      if (auto wrong =
              detail::setHookKey(entry.key, entry.value, baseOf(entry), experiment_.hook)) {
        report(entry, std::move(*wrong));
      }
      return;
    }
    if (row == nullptr) {
      reportUnknown(entry);
      return;
    }
    const std::string decider = deciderOf(row->field);
    if (!decider.empty() && !doubtful_.contains(decider) && !applies(row->field, experiment_)) {
      // Also where a sweep varies a kind: each run leaves out what has no meaning in it.
      const bool lostByOverride = overridden_.contains(decider) && !overridden_.contains(entry.key);
      if (!lostByOverride) {
        report(entry,
               fmt::format("has no meaning with {} = {}, only with {}; leave it out", decider,
                           valueText(*findField(decider), experiment_),
                           row->field.onlyFor.substr(decider.size() + 1)),
               true);
      }
      return;
    }
    Value value = entry.value;
    if (auto* path = std::get_if<std::string>(&value);
        row->field.type == FieldType::kPath && path != nullptr && !path->empty()) {
      *path = (baseOf(entry) / *path).lexically_normal().string();
    }
    if (auto wrong = detail::write(*row, value, experiment_)) {
      report(entry, std::move(*wrong));
    }
  }

  void applyElement(const detail::ElementEntry& element) {
    if (element.list != kFaults) {
      // Each element of the list would say the same.
      if (strangeLists_.insert(element.list).second) {
        mistakes_.push_back(
            {name_, element.place.line, element.place.column, element.list,
             isTable(element.list)
                 ? isTableText(element.list)
                 : fmt::format("unknown list of tables; the only one is [[{}]]", kFaults)});
        doubtful_.insert(element.list);
      }
      return;
    }
    FaultConfig fault;
    std::set<std::string> doubtful;
    // The kind first: it decides which of the other keys have a meaning.
    for (const bool kind : {true, false}) {
      for (const Entry& entry : element.entries) {
        if ((entry.key == "faults.kind") == kind) {
          applyFault(entry, fault, doubtful);
        }
      }
    }
    for (auto& rule : detail::brokenRules(fault, experiment_)) {
      const auto wrong = [&](const std::string& key) {
        return doubtful.contains(key) || doubtful_.contains(key);
      };
      if (std::any_of(rule.keys.begin(), rule.keys.end(), wrong)) {
        continue;
      }
      Mistake mistake{name_, element.place.line, element.place.column, rule.keys.front(),
                      std::move(rule.text)};
      for (const Entry& entry : element.entries) {
        if (entry.key == rule.keys.front()) {
          mistake.line = entry.valuePlace.line;
          mistake.column = entry.valuePlace.column;
        }
      }
      mistakes_.push_back(std::move(mistake));
    }
    experiment_.faults.push_back(std::move(fault));
  }

  void applyFault(const Entry& entry, FaultConfig& fault, std::set<std::string>& doubtful) {
    const auto wrong = [&](std::string text, bool atKey) {
      const auto& place = atKey ? entry.keyPlace : entry.valuePlace;
      mistakes_.push_back({entry.file, place.line, place.column, entry.key, std::move(text)});
      doubtful.insert(entry.key);
    };
    const detail::FaultRow* row = detail::findFaultRow(entry.key);
    if (row == nullptr) {
      std::vector<std::string> keys;
      for (const auto& candidate : detail::faultRows()) {
        keys.push_back(candidate.field.key);
      }
      const std::string nearest = base::nearestOf(entry.key, keys);
      wrong(nearest.empty() ? std::string("unknown key of a fault")
                            : fmt::format("unknown key; did you mean {}?", nearest),
            true);
      return;
    }
    if (!doubtful.contains("faults.kind") && !applies(*row, fault)) {
      wrong(fmt::format("has no meaning with faults.kind = \"{}\", only with {}; leave it out",
                        fault.kind, fmt::join(row->kinds, " or ")),
            true);
      return;
    }
    if (auto text = detail::violation(row->field, entry.value)) {
      wrong(std::move(*text), false);
      return;
    }
    row->set(fault, entry.value);
  }

  /// A rule says nothing about a key that is wrong already, and stands at the first of its
  /// keys that was written.
  void checkRules() {
    for (auto& rule : detail::brokenRules(experiment_)) {
      if (std::any_of(rule.keys.begin(), rule.keys.end(),
                      [this](const std::string& key) { return doubtful_.contains(key); })) {
        continue;
      }
      Mistake mistake{name_, 0, 0, rule.keys.front(), std::move(rule.text)};
      for (const std::string& key : rule.keys) {
        if (const auto found = entries_.find(key); found != entries_.end()) {
          mistake.file = found->second.file;
          mistake.line = found->second.valuePlace.line;
          mistake.column = found->second.valuePlace.column;
          break;
        }
      }
      mistakes_.push_back(std::move(mistake));
    }
  }

  ParseOutcome finish() {
    ParseOutcome outcome;
    outcome.file = name_;
    outcome.experiment = std::move(experiment_);
    outcome.sweep = std::move(axes_);
    for (const auto& [key, entry] : entries_) {
      outcome.written[key] = {entry.file, entry.keyPlace.line, entry.keyPlace.column,
                              entry.valuePlace.line, entry.valuePlace.column};
    }
    outcome.add(std::move(mistakes_));
    return outcome;
  }

  std::string name_;
  fs::path folder_;
  std::vector<Mistake> mistakes_;
  std::set<std::string> doubtful_;  ///< keys with a mistake: no second one is made of them
  bool complete_;
  std::map<std::string, Entry> entries_;
  std::vector<detail::ElementEntry> elements_;
  std::vector<detail::SweepEntry> sweep_;
  std::vector<std::size_t> choice_;
  std::vector<SweepAxis> axes_;
  std::set<std::string> strangeLists_;  ///< reported once each
  std::set<std::string> overridden_;
  bool hookChanged_ = false;  // an override names another hook than the file
  Experiment experiment_;
};

}  // namespace

ParseOutcome detail::parseRun(std::string_view toml, const std::string& name,
                              const fs::path& folder, const Overrides& overrides,
                              const std::vector<std::size_t>& choice) {
  // A file named without a folder stands in the current one.
  Builder builder(detail::readDocument(toml, name), name,
                  folder.empty() ? fs::current_path() : fs::absolute(folder));
  for (const auto& [key, text] : overrides) {
    builder.override(key, text);
  }
  builder.choose(choice);
  return builder.build();
}

ParseOutcome parseText(std::string_view toml, const std::string& name, const fs::path& folder,
                       const Overrides& overrides) {
  return detail::parseRun(toml, name, folder, overrides, {});
}

base::Result<std::string> detail::readExperimentFile(const fs::path& path) {
  const auto refuse = [&path](const std::string& text) {
    return base::Error{base::ExitCode::kBadInput, text, path.string()};
  };
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return refuse("is a folder; name an experiment file (*.toml)");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return refuse(fmt::format("the experiment file cannot be read: {}", std::strerror(errno)));
  }
  // One byte more than is allowed shows that there is more.
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLargestFile) {
    return refuse("is larger than 1 MiB, so it is no experiment file");
  }
  return text;
}

ParseOutcome parseFile(const fs::path& path, const Overrides& overrides) {
  const auto text = detail::readExperimentFile(path);
  if (!text.ok()) {
    ParseOutcome outcome;
    outcome.mistakes.push_back({path.string(), 0, 0, {}, text.error().what});
    return outcome;
  }
  return parseText(text.value(), path.string(), path.parent_path(), overrides);
}

std::string toToml(const Experiment& experiment) {
  std::string text;
  std::string_view table;
  for (const Field& field : schema()) {
    const std::string value = valueText(field, experiment);
    const auto parts = detail::splitKey(field.key);
    // An experiment that is no run of a sweep has no [sweep] at all.
    const bool alone = parts.table == "sweep" && experiment.sweep == SweepConfig{};
    if (value.empty() || alone || !applies(field, experiment)) {
      continue;
    }
    if (parts.table != table) {
      // The tables of the hooks inside end [hook], before the next table of the schema begins.
      text += table == "hook" ? detail::hookToToml(experiment.hook) : "";
      table = parts.table;
      text += fmt::format("\n[{}]\n", table);
    }
    text += fmt::format("{} = {}\n", parts.leaf, value);
  }
  return text + detail::faultsToToml(experiment.faults);
}

}  // namespace lockstep::experiment
