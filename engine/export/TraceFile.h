#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/Result.h"
#include "engine/export/ChromeTrace.h"
#include "engine/export/OutputFile.h"
#include "engine/export/SpanArguments.h"
#include "engine/export/Survey.h"

namespace lockstep::exports {

/// One trace file and what stands between its brackets.
class TraceFile {
 public:
  explicit TraceFile(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  /// Starts an event; what follows goes to the returned text, up to `end`.
  std::string& begin() {
    std::string& text = file_->buffer();
    text += first_ ? "\n" : ",\n";
    first_ = false;
    return text;
  }
  void end() { file_->write("}"); }
  OutputFile& file() { return *file_; }

 private:
  std::unique_ptr<OutputFile> file_;
  bool first_ = true;
};

/// The files of one export, their heads and their threads.
class TraceFiles {
 public:
  /// A thread of a trace.
  struct Row {
    TraceFile* file = nullptr;
    std::string place;  ///< ,"pid":1,"tid":100000
  };

  /// Opens the files, each with its rank, and writes their heads; -1: one file for all ranks.
  base::Status open(const Survey& survey, const SpanArguments& arguments, TraceReader reader,
                    const std::vector<std::pair<std::filesystem::path, int>>& files);

  /// One file holds all ranks.
  [[nodiscard]] bool joined() const { return joined_; }
  /// Null: the rank is not exported.
  [[nodiscard]] TraceFile* of(int rank) const;

  /// Adds a thread of an exported rank and returns its row. `order`: its place among the others.
  std::size_t addRow(int rank, const std::string& name, int order);
  [[nodiscard]] const Row& row(std::size_t row) const { return rows_[row]; }

  /// Whether all could be written so far.
  base::Status status();

  /// Ends all files and gives them their names, or none of them.
  base::Status commit(TraceReport& report);

 private:
  bool joined_ = false;
  std::vector<std::unique_ptr<TraceFile>> files_;
  std::map<int, TraceFile*> ofRank_;
  std::vector<Row> rows_;
};

/// Returns the traces a rank in a folder that are none of `written`: a reader of the folder takes
/// them for ranks of one run.
std::vector<std::filesystem::path> tracesBeside(const std::vector<std::filesystem::path>& written,
                                                const std::filesystem::path& folder);

/// The number of a rank's process in a trace: 0 has a meaning of its own.
int processOf(int rank);

}  // namespace lockstep::exports
