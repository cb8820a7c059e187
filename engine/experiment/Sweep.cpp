#include "engine/experiment/Sweep.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>

#include "engine/experiment/FieldText.h"
#include "engine/experiment/detail/ParseRun.h"

namespace lockstep::experiment {
namespace {

std::string leafOf(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

/// "ddp.bucket_cap_mb" as bucket_cap_mb, "hook.name" as hook, since names and kinds are many; in
/// full where two would be called the same.
std::vector<std::string> shortNames(const std::vector<SweepAxis>& axes) {
  std::vector<std::string> names;
  for (const SweepAxis& axis : axes) {
    const std::string leaf = leafOf(axis.key);
    names.push_back(leaf == "name" || leaf == "kind"
                        ? axis.key.substr(0, axis.key.size() - leaf.size() - 1)
                        : leaf);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    // All that share a name get their full key, not only the later ones.
    if (std::count(names.begin(), names.end(), names[i]) > 1) {
      std::string taken = names[i];
      for (std::size_t j = i; j < names.size(); ++j) {
        if (names[j] == taken) {
          names[j] = axes[j].key;
        }
      }
    }
  }
  return names;
}

std::string unquoted(const std::string& toml) {
  static const Field text = [] {
    Field field;
    field.type = FieldType::kText;
    return field;
  }();
  return typedText(text, toml);
}

std::string labelOf(const std::vector<SweepAxis>& axes, const std::vector<std::size_t>& choice) {
  const auto names = shortNames(axes);
  std::string label;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    label += (i == 0 ? "" : ", ") + names[i] + '=' + unquoted(axes[i].values[choice[i]]);
  }
  return label;
}

/// Counts on, the last digit fastest; returns false after the last combination.
bool next(const std::vector<SweepAxis>& axes, std::vector<std::size_t>& choice) {
  // As an odometer: a digit that overflows goes back to 0 and moves the one before.
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (++choice[i] < axes[i].values.size()) {
      return true;
    }
    choice[i] = 0;
  }
  return false;
}

}  // namespace

void SweptExperiment::gather() {
  mistakes.clear();
  std::set<std::string> known;
  for (const SweptRun& run : runs) {
    for (const Mistake& mistake : run.parsed.mistakes) {
      // A mistake that has nothing to do with what is varied is in every run.
      if (known.insert(mistake.message()).second) {
        mistakes.push_back(mistake);
      }
    }
  }
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const Mistake& a, const Mistake& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
}

void SweptExperiment::nameRuns(const std::string& group) {
  for (SweptRun& run : runs) {
    if (!run.label.empty()) {
      Experiment& experiment = run.parsed.experiment;
      experiment.name += ' ' + run.label;
      experiment.sweep = {group, run.label};
    }
  }
}

SweptExperiment expandText(std::string_view toml, const std::string& name,
                           const std::filesystem::path& folder, const Overrides& overrides) {
  SweptExperiment all;
  ParseOutcome first = detail::parseRun(toml, name, folder, overrides, {});
  const std::vector<SweepAxis> axes = first.sweep;
  if (axes.empty()) {
    all.mistakes = first.mistakes;
    all.runs.push_back({"", std::move(first)});
    return all;
  }
  std::vector<std::size_t> choice(axes.size(), 0);
  do {
    // Each run is parsed from the text anew: what is varied may decide which keys have a meaning.
    all.runs.push_back(
        {labelOf(axes, choice), detail::parseRun(toml, name, folder, overrides, choice)});
  } while (next(axes, choice));
  all.gather();
  return all;
}

SweptExperiment expandFile(const std::filesystem::path& path, const Overrides& overrides) {
  const auto text = detail::readExperimentFile(path);
  if (text.ok()) {
    return expandText(text.value(), path.string(), path.parent_path(), overrides);
  }
  SweptExperiment none;
  none.runs.push_back({"", parseFile(path, overrides)});
  none.gather();
  return none;
}

std::string fileNamePart(const std::string& label) {
  std::string part;
  for (const char c : label) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                      std::string_view("-_=.,").find(c) != std::string_view::npos;
    if (kept) {
      part += c;
    // ", " becomes ",", since no file name needs the blank.
    } else if (c != '[' && c != ']' && !part.empty() && part.back() != ',') {
      part += '-';
    }
  }
  return part;
}

}  // namespace lockstep::experiment
