#include "engine/experiment/detail/Rows.h"

#include "engine/experiment/detail/RowBuilder.h"

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

using E = Experiment;

void addGeneral(Table& table) {
  table.push_back(RowBuilder("name", at<&E::name>(), "Name", "Names the run in lists."));
  table.push_back(RowBuilder("shows", at<&E::shows>(), "Shows",
                             "Says in a sentence or two what one sees in it."));
}

Table makeTable() {
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
  return table;
}

}  // namespace

void addTrain(Table& table) {
  using T = TrainConfig;
  table.push_back(RowBuilder("train.steps", at<&E::train, &T::steps>(), "Steps",
                             "Length of the run; write either steps or epochs.")
                      .unit("steps")
                      .from(1)
                      .to(1'000'000'000));
  table.push_back(RowBuilder("train.epochs", at<&E::train, &T::epochs>(), "Epochs",
                             "Length of the run in passes over the data.")
                      .unit("epochs")
                      .from(1)
                      .to(1'000'000));
  table.push_back(RowBuilder("train.seed", at<&E::train, &T::seed>(), "Seed",
                             "Seeds weights, data order and synthetic data.")
                      .from(0)
                      .to(4'294'967'295.0));
  table.push_back(RowBuilder("train.evaluate_every", at<&E::train, &T::evaluateEvery>(),
                             "Evaluate every", "Evaluates during the run; 0 does not.")
                      .unit("steps")
                      .from(0)
                      .to(1'000'000'000));
  table.push_back(RowBuilder("train.evaluate_at_end", at<&E::train, &T::evaluateAtEnd>(),
                             "Evaluate at the end", "Evaluates once after the last step."));
  table.push_back(RowBuilder("train.checkpoint", at<&E::train, &T::checkpoint>(), "Checkpoint",
                             "File that weights and optimizer are written to; empty writes none.")
                      .path());
  table.push_back(RowBuilder("train.checkpoint_every", at<&E::train, &T::checkpointEvery>(),
                             "Checkpoint every", "Writes during the run; 0 only at the end.")
                      .unit("steps")
                      .from(0)
                      .to(1'000'000'000)
                      .advanced());
  table.push_back(RowBuilder("train.resume_from", at<&E::train, &T::resumeFrom>(), "Resume from",
                             "Checkpoint to go on from; empty starts anew.")
                      .path());
}

void addSweep(Table& table) {
  using S = SweepConfig;
  table.push_back(RowBuilder("sweep.group", at<&E::sweep, &S::group>(), "Group",
                             "Names the sweep that a run is part of; written by lockstep run.")
                      .advanced());
  table.push_back(RowBuilder("sweep.run", at<&E::sweep, &S::run>(), "Run of the sweep",
                             "Says what is varied in the run; written by lockstep run.")
                      .advanced());
}

void addCapture(Table& table) {
  using C = CaptureConfig;
  table.push_back(RowBuilder("capture.enabled", at<&E::capture, &C::enabled>(), "Capture",
                             "Records events from the first step on."));
  table.push_back(RowBuilder("capture.ring_events", at<&E::capture, &C::ringEvents>(), "Ring size",
                             "Events a lane holds until they are recorded, "
                             "a power of two.")
                      .unit("events")
                      .from(256)
                      .to(4'194'304)
                      .advanced());
  table.push_back(RowBuilder("capture.counters_hz", at<&E::capture, &C::countersHz>(),
                             "Counter rate",
                             "Samples of memory, processor and network; 0 takes none.")
                      .unit("Hz")
                      .from(0)
                      .to(100)
                      .advanced());
  table.push_back(RowBuilder("capture.fingerprint_every", at<&E::capture, &C::fingerprintEvery>(),
                             "Fingerprint every",
                             "Hashes, norms and a sketch of the parameters, to find replicas that "
                             "differ; 0 takes none.")
                      .unit("steps")
                      .from(0)
                      .to(1'000'000'000)
                      .advanced());
  table.push_back(RowBuilder("capture.gradient_check_every",
                             at<&E::capture, &C::gradientCheckEvery>(), "Check gradients every",
                             "Norm, NaNs and infinities of each rank's own gradients before they "
                             "are averaged; 0 takes none.")
                      .unit("steps")
                      .from(0)
                      .to(1'000'000'000)
                      .advanced());
}

const std::vector<Row>& rows() {
  static const Table table = makeTable();
  return table;
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
