#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"
#include "tests/engine/trace/TemporaryFolder.h"

namespace lockstep::trace {

/// Info of a run that this process records.
RunInfo runningInfo();

std::unique_ptr<RunFileWriter> createRun(const std::filesystem::path& path,
                                         const RunFileWriterOptions& options = {});
std::unique_ptr<RunFileReader> openRun(const std::filesystem::path& path);

/// A span whose numbers all follow from `number`.
Event numberedEvent(std::uint64_t number, EventKind kind = EventKind::kForward);

/// Adds `count` numbered events to track 0 and commits; returns the number after the last.
std::uint64_t writeEvents(RunFileWriter& writer, std::uint64_t first, std::uint64_t count);

/// Polls until nothing new comes, and joins what came.
RunUpdate readAll(RunFileReader& reader, std::size_t maxSpans = 200'000);

/// Runs one statement by a connection of its own and returns the rows as text: values joined
/// by "|", rows by newlines.
std::string query(const std::filesystem::path& path, const std::string& sql);

/// A finished run of `spans` spans.
void makeFinishedRun(const std::filesystem::path& path, std::uint64_t spans);

}  // namespace lockstep::trace
