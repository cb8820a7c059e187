#include "engine/experiment/detail/FaultRows.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace lockstep::experiment::detail {
namespace {

template <auto Leaf>
FaultRow row(const char* leaf, FieldType type, const char* help,
             std::vector<std::string> kinds = {}) {
  using T = std::remove_cvref_t<decltype(std::declval<FaultConfig&>().*Leaf)>;
  FaultRow made;
  made.field.key = fmt::format("faults.{}", leaf);
  made.field.type = type;
  made.field.label = leaf;
  made.field.help = help;
  made.kinds = std::move(kinds);
  made.get = [](const FaultConfig& fault) -> std::optional<Value> {
    if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) {
      return fault.*Leaf ? std::optional<Value>(*(fault.*Leaf)) : std::nullopt;
    } else if constexpr (std::is_same_v<T, int>) {
      return Value(static_cast<std::int64_t>(fault.*Leaf));
    } else {
      return Value(fault.*Leaf);
    }
  };
  made.set = [](FaultConfig& fault, const Value& value) {
    if constexpr (std::is_same_v<T, double>) {
      const auto* whole = std::get_if<std::int64_t>(&value);
      fault.*Leaf = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      fault.*Leaf = std::get<std::string>(value);
    } else {
      fault.*Leaf = static_cast<std::conditional_t<std::is_same_v<T, int>, int, std::int64_t>>(
          std::get<std::int64_t>(value));
    }
  };
  // The default is that of the struct: it stands in one place.
  if (const auto initial = made.get(FaultConfig{})) {
    made.field.initial = format(*initial);
  }
  return made;
}

FaultRow within(FaultRow row, double min, double max, std::string unit = {}) {
  row.field.min = min;
  row.field.max = max;
  row.field.unit = std::move(unit);
  return row;
}

std::vector<FaultRow> makeRows() {
  using F = FaultConfig;
  using T = FieldType;
  constexpr double kSteps = 1'000'000'000;
  const std::vector<std::string> delay{"delay"};
  const std::vector<std::string> data{"flip_bit", "nan"};
  std::vector<FaultRow> rows;
  auto kind = row<&F::kind>("kind", T::kChoice, "What happens.");
  kind.field.choices = {"delay", "stop", "kill", "flip_bit", "nan", "uneven"};
  rows.push_back(kind);
  rows.push_back(within(row<&F::rank>("rank", T::kInteger, "The rank it happens to."), 0, 63));
  rows.push_back(
      within(row<&F::step>("step", T::kInteger, "The one iteration it happens in, from 0.",
                           {"delay", "stop", "kill", "flip_bit", "nan"}),
             0, kSteps));
  rows.push_back(within(row<&F::from>("from", T::kInteger, "First iteration.", delay), 0, kSteps));
  rows.push_back(within(
      row<&F::to>("to", T::kInteger, "Last iteration; left out: to the end.", delay), 0, kSteps));
  rows.push_back(within(row<&F::every>("every", T::kInteger, "Each so many iterations.", delay), 1,
                        kSteps, "steps"));
  auto phase =
      row<&F::phase>("phase", T::kChoice,
                     "What is delayed, without layer and bucket: data is loading slowly.", delay);
  phase.field.choices = {"data", "forward", "optimizer"};
  rows.push_back(phase);
  rows.push_back(row<&F::layer>(
      "layer", T::kText,
      "Module before whose gradients the backward is delayed; without layer and bucket the "
      "phase is.",
      delay));
  rows.push_back(
      within(row<&F::bucket>("bucket", T::kInteger,
                             "Bucket before whose launch the backward is delayed.", delay),
             0, 65'534));
  rows.push_back(within(row<&F::milliseconds>("milliseconds", T::kReal, "How long.", delay), 0,
                        3'600'000, "ms"));
  rows.push_back(
      within(row<&F::jitterMs>("jitter_ms", T::kReal,
                               "The delay varies evenly by up to this, by train.seed.", delay),
             0, 3'600'000, "ms"));
  rows.push_back(row<&F::parameter>("parameter", T::kText, "Full name of the parameter.", data));
  rows.push_back(within(
      row<&F::element>("element", T::kInteger, "Index in the parameter as a flat list.", data), 0,
      1e12));
  rows.push_back(within(
      row<&F::bit>("bit", T::kInteger, "Bit of the number, 0 the lowest.", {"flip_bit"}), 0, 63));
  rows.push_back(
      within(row<&F::samples>("samples", T::kInteger,
                              "The rank's inputs end so many samples early.", {"uneven"}),
             1, 1e12, "samples"));
  return rows;
}

}  // namespace

const std::vector<FaultRow>& faultRows() {
  static const std::vector<FaultRow> rows = makeRows();
  return rows;
}

const FaultRow* findFaultRow(std::string_view key) {
  const auto& rows = faultRows();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [key](const FaultRow& r) { return r.field.key == key; });
  return found == rows.end() ? nullptr : &*found;
}

bool applies(const FaultRow& row, const FaultConfig& fault) {
  return row.kinds.empty() ||
         std::find(row.kinds.begin(), row.kinds.end(), fault.kind) != row.kinds.end();
}

std::vector<BrokenRule> brokenRules(const FaultConfig& fault, const Experiment& experiment) {
  std::vector<BrokenRule> broken;
  const auto expect = [&broken](bool holds, std::vector<std::string> keys, std::string text) {
    if (!holds) {
      broken.push_back({std::move(keys), std::move(text)});
    }
  };
  const int world = experiment.processes.worldSize;
  expect(fault.rank < world, {"faults.rank"},
         fmt::format("there is no rank {} among {}", fault.rank, world));
  const bool once = fault.kind != "delay" && fault.kind != "uneven";
  // The first key is where the mistake is shown; one that is missing has no place, so the kind has
  // it.
  expect(!once || fault.step, {"faults.step", "faults.kind"},
         fmt::format("missing: a fault of kind \"{}\" needs faults.step", fault.kind));
  if (const auto steps = experiment.train.steps) {
    expect(!fault.step || *fault.step < *steps, {"faults.step"},
           fmt::format("{} is not reached: the run has {} steps, from 0", fault.step.value_or(0),
                       *steps));
  }
  if (fault.kind == "delay") {
    expect(fault.milliseconds > 0, {"faults.milliseconds", "faults.kind"},
           "missing: a delay needs faults.milliseconds above 0");
    expect(fault.jitterMs <= fault.milliseconds, {"faults.jitter_ms"},
           fmt::format("must not be above faults.milliseconds = {}", fault.milliseconds));
    expect(fault.layer.empty() || !fault.bucket, {"faults.bucket"},
           "write either faults.layer or faults.bucket, not both");
    expect(fault.phase == "forward" || (fault.layer.empty() && !fault.bucket), {"faults.phase"},
           "write either faults.phase or faults.layer or faults.bucket");
    expect(!fault.step || (fault.from == 0 && !fault.to && fault.every == 1),
           {"faults.step", "faults.from", "faults.to", "faults.every"},
           "write either faults.step or faults.from, to and every");
    expect(!fault.to || *fault.to >= fault.from, {"faults.to"},
           fmt::format("stands before faults.from = {}", fault.from));
  }
  if (fault.kind == "flip_bit" || fault.kind == "nan") {
    expect(!fault.parameter.empty(), {"faults.parameter", "faults.kind"},
           fmt::format("missing: a fault of kind \"{}\" needs faults.parameter, as in "
                       "\"layers.0.weight\"",
                       fault.kind));
  }
  expect(fault.kind != "uneven" || fault.samples > 0, {"faults.samples", "faults.kind"},
         "missing: uneven inputs need faults.samples above 0");
  return broken;
}

std::string faultsToToml(const std::vector<FaultConfig>& faults) {
  std::string text;
  for (const FaultConfig& fault : faults) {
    text += "\n[[faults]]\n";
    for (const FaultRow& row : faultRows()) {
      const auto value = row.get(fault);
      if (value && applies(row, fault) &&
          // Defaults are left out, since a written one may be a mistake (faults.from beside
          // faults.step).
          (format(*value) != row.field.initial || row.field.key == "faults.kind")) {
        text += fmt::format("{} = {}\n", row.field.label, format(*value));
      }
    }
  }
  return text;
}

}  // namespace lockstep::experiment::detail
