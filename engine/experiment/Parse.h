#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/Result.h"
#include "engine/experiment/Experiment.h"

namespace lockstep::experiment {

/// One mistake: where it stands, the key, what is allowed, the nearest valid key.
struct Mistake {
  std::string file;  ///< as the user wrote it; "--set" for an override
  int line = 0;      ///< from 1; 0 = no place
  int column = 0;
  std::string key;
  std::string text;

  /// "demo.toml:7:3: ddp.bucket_cap: unknown key; did you mean ddp.bucket_cap_mb?"
  [[nodiscard]] std::string message() const;
};

/// Where a key of an experiment was written: its name and its value.
struct WrittenKey {
  std::string file;
  int line = 0;  ///< of the name
  int column = 0;
  int valueLine = 0;
  int valueColumn = 0;
};

/// A key that a file varies, and the values it is given, as TOML.
struct SweepAxis {
  std::string key;  ///< "ddp.bucket_cap_mb"
  std::vector<std::string> values;

  bool operator==(const SweepAxis&) const = default;
};

/// A parsed experiment or everything that is wrong with it, never both: with mistakes the
/// experiment holds defaults, apart from `name`, `shows` and `launch.nnodes` where those could be
/// read.
struct ParseOutcome {
  Experiment experiment;
  std::vector<Mistake> mistakes;
  std::string file;                           ///< as messages name it
  std::map<std::string, WrittenKey> written;  ///< by key, "hook.density"
  /// What [sweep] varies, in the order of the text; the experiment is the first of its runs
  /// (Sweep.h has all). Empty without a sweep, and with one that has mistakes.
  std::vector<SweepAxis> sweep;

  /// A mistake at the value, or the name, of a key; without a place if it was not written.
  [[nodiscard]] Mistake at(const std::string& key, std::string text, bool atName = false) const;
  /// Adds what was found wrong later, by who knows more.
  void add(std::vector<Mistake> found);
};

/// Overrides of single keys, `--set key=value`, value in TOML; for a text, a choice or a path
/// the quotes may be left out. An override wins over the file: train.steps replaces the file's
/// train.epochs and the other way round, and a key of the file that loses its meaning by an
/// overridden kind (momentum under optimizer.kind=adam) is left out. Relative paths in an
/// override are resolved against the working directory, as on every command line.
using Overrides = std::vector<std::pair<std::string, std::string>>;

/// Parses and checks a file: every mistake is reported at once. Relative paths in it
/// (model.file, data.folder, ...) are resolved against the file's folder.
ParseOutcome parseFile(const std::filesystem::path& path, const Overrides& overrides = {});

/// The same for a text; `name` stands in messages, `folder` resolves relative paths.
ParseOutcome parseText(std::string_view toml, const std::string& name,
                       const std::filesystem::path& folder, const Overrides& overrides = {});

/// Writes every key that has a meaning for the chosen kinds as TOML; parseText gives the same
/// experiment back.
std::string toToml(const Experiment& experiment);

}  // namespace lockstep::experiment
