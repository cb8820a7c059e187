#include "engine/experiment/detail/Rows.h"

#include <type_traits>
#include <utility>

#include "engine/experiment/detail/Table.h"
#include "engine/experiment/detail/Values.h"

// Note [One row a key]
// A key of the experiment file stands in one place, its row: name, place in the struct, label,
// help, unit, range. All who deal with keys go through the rows, and none of them names one:
//
//       parser     Parse.cpp        finds the row by the name, checks type and range, assigns
//       writer     toToml           every row that has a meaning, in their order
//       help       describeSchema   a line or two for each
//       form       ui               a field for each; `advanced` ones are folded away
//       compare    CompareKeys      label and unit of a key that differs
//
// So a new key is a member of a struct (Experiment.h) and a row in the function of its table; its
// default is the member's. What a row cannot say, since it spans keys, is a rule (Rules.cpp). Here
// are the rows of the tables that are too short for a file, and the order of all.

namespace lockstep::experiment::detail {
namespace {

void addGeneral(Table& table) {
  table.add("name", at<&E::name>(), "Name", "Names the run in lists.");
  table.add("shows", at<&E::shows>(), "Shows", "Says in a sentence or two what one sees in it.");
}

FieldType typeOf(const Member& member) {
  return std::visit(
      [](auto access) {
        using T = std::remove_cvref_t<std::invoke_result_t<decltype(access), Experiment&>>;
        if constexpr (std::is_same_v<T, bool>) {
          return FieldType::kBool;
        } else if constexpr (std::is_same_v<T, double>) {
          return FieldType::kReal;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return FieldType::kText;
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return FieldType::kIntegerList;
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          return FieldType::kRealList;
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return FieldType::kTextList;
        } else {
          return FieldType::kInteger;
        }
      },
      member);
}

std::vector<Row> allRows() {
  Table table;
  addGeneral(table);
  addModel(table);
  addData(table);
  addProcesses(table);
  addDdp(table);
  addHook(table);
  addOptimizer(table);
  addTrain(table);
  addCapture(table);
  addLink(table);
  addLaunch(table);
  addSweep(table);
  return std::move(table.rows);
}

}  // namespace

void Table::add(std::string key, Member member, std::string label, std::string help, More more) {
  Row& row = rows.emplace_back();
  row.member = member;
  Field& field = row.field;
  field.key = std::move(key);
  field.type = more.path               ? FieldType::kPath
               : !more.choices.empty() ? FieldType::kChoice
                                       : typeOf(member);
  field.label = std::move(label);
  field.help = std::move(help);
  if (const auto value = read(row, Experiment{})) {
    field.initial = format(*value);
  }
  field.unit = std::move(more.unit);
  field.minExclusive = more.above.has_value();
  field.min = more.above ? more.above : more.from;
  field.maxExclusive = more.below.has_value();
  field.max = more.below ? more.below : more.to;
  field.choices = std::move(more.choices.empty() ? more.each : more.choices);
  field.onlyFor = std::move(more.onlyFor);
  field.advanced = more.advanced;
}

void addTrain(Table& table) {
  using T = TrainConfig;
  table.add("train.steps", at<&E::train, &T::steps>(), "Steps",
            "Length of the run; write either steps or epochs.",
            {.unit = "steps", .from = 1, .to = 1'000'000'000});
  table.add("train.epochs", at<&E::train, &T::epochs>(), "Epochs",
            "Length of the run in passes over the data.",
            {.unit = "epochs", .from = 1, .to = 1'000'000});
  table.add("train.seed", at<&E::train, &T::seed>(), "Seed",
            "Seeds weights, data order and synthetic data.", {.from = 0, .to = 4'294'967'295.0});
  table.add("train.evaluate_every", at<&E::train, &T::evaluateEvery>(), "Evaluate every",
            "Evaluates during the run; 0 does not.",
            {.unit = "steps", .from = 0, .to = 1'000'000'000});
  table.add("train.evaluate_at_end", at<&E::train, &T::evaluateAtEnd>(), "Evaluate at the end",
            "Evaluates once after the last step.");
  table.add("train.checkpoint", at<&E::train, &T::checkpoint>(), "Checkpoint",
            "File that weights and optimizer are written to; empty writes none.", {.path = true});
  table.add("train.checkpoint_every", at<&E::train, &T::checkpointEvery>(), "Checkpoint every",
            "Writes during the run; 0 only at the end.",
            {.unit = "steps", .from = 0, .to = 1'000'000'000, .advanced = true});
  table.add("train.resume_from", at<&E::train, &T::resumeFrom>(), "Resume from",
            "Checkpoint to go on from; empty starts anew.", {.path = true});
}

void addSweep(Table& table) {
  using S = SweepConfig;
  table.add("sweep.group", at<&E::sweep, &S::group>(), "Group",
            "Names the sweep that a run is part of; written by lockstep run.", {.advanced = true});
  table.add("sweep.run", at<&E::sweep, &S::run>(), "Run of the sweep",
            "Says what is varied in the run; written by lockstep run.", {.advanced = true});
}

void addCapture(Table& table) {
  using C = CaptureConfig;
  table.add("capture.enabled", at<&E::capture, &C::enabled>(), "Capture",
            "Records events from the first step on.");
  table.add("capture.ring_events", at<&E::capture, &C::ringEvents>(), "Ring size",
            "Events a lane holds until they are recorded, a power of two.",
            {.unit = "events", .from = 256, .to = 4'194'304, .advanced = true});
  table.add("capture.counters_hz", at<&E::capture, &C::countersHz>(), "Counter rate",
            "Samples of memory, processor and network, at most so many a second; 0 takes none.",
            {.unit = "Hz", .from = 0, .to = 100, .advanced = true});
  table.add(
      "capture.fingerprint_every", at<&E::capture, &C::fingerprintEvery>(), "Fingerprint every",
      "Hashes, norms and a sketch of the parameters, to find replicas that differ; 0 takes none.",
      {.unit = "steps", .from = 0, .to = 1'000'000'000, .advanced = true});
  table.add("capture.gradient_check_every", at<&E::capture, &C::gradientCheckEvery>(),
            "Check gradients every",
            "Norm, NaNs and infinities of each rank's own gradients before they are averaged; 0 "
            "takes none.",
            {.unit = "steps", .from = 0, .to = 1'000'000'000, .advanced = true});
  table.add("capture.detail", at<&E::capture, &C::detail>(), "Detail",
            "What the run file keeps: all events; of each step its phases and collectives; or the "
            "sums of each step, and all events of steps and ranks that are unlike the rest.",
            {.choices = {"full", "steps", "outliers"}});
  table.add(
      "capture.limit_mb", at<&E::capture, &C::limitMb>(), "Limit of the run file",
      "Near it only sums of steps are written, and at it nothing more; the run goes on. 0 sets "
      "none.",
      {.unit = "MiB", .from = 0, .to = 1'000'000'000});
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = allRows();
  return all;
}

// About a hundred rows: a search is short, and made once a key.
const Row* findRow(std::string_view key) {
  for (const Row& row : rows()) {
    if (row.field.key == key) {
      return &row;
    }
  }
  return nullptr;
}

// At the first dot: "hook.inner.rank" is "inner.rank" of [hook].
KeyParts splitKey(std::string_view key) {
  const auto dot = key.find('.');
  if (dot == std::string_view::npos) {
    return {{}, key};
  }
  return {key.substr(0, dot), key.substr(dot + 1)};
}

}  // namespace lockstep::experiment::detail
