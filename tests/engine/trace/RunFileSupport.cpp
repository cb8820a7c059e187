#include "tests/engine/trace/RunFileSupport.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>

#include "engine/trace/HostFacts.h"

namespace lockstep::trace {

std::string TemporaryFolder::listing() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  std::string joined;
  for (const std::string& name : names) {
    joined += (joined.empty() ? "" : " ") + name;
  }
  return joined;
}

RunInfo runningInfo() {
  RunInfo info;
  info.runId = "run-7";
  info.name = "demo";
  info.state = RunState::kRunning;
  info.supervisorPid = getpid();
  info.supervisorStart = processStart(getpid());
  info.hostName = hostName();
  info.worldSize = 2;
  return info;
}

std::unique_ptr<RunFileWriter> createRun(const std::filesystem::path& path,
                                         const RunFileWriterOptions& options) {
  auto writer = RunFileWriter::create(path, options);
  EXPECT_TRUE(writer.ok()) << (writer.ok() ? "" : writer.error().message());
  return std::move(writer).value();
}

std::unique_ptr<RunFileReader> openRun(const std::filesystem::path& path) {
  auto reader = RunFileReader::open(path);
  EXPECT_TRUE(reader.ok()) << (reader.ok() ? "" : reader.error().message());
  return std::move(reader).value();
}

Event numberedEvent(std::uint64_t number, EventKind kind) {
  Event event;
  event.startTicks = 1'000 + 10 * number;
  event.durationTicks = number % 7;
  event.kind = static_cast<std::uint16_t>(kind);
  event.step = static_cast<std::uint32_t>(number / 10);
  event.bucket = number % 3 == 0 ? kNoBucket : static_cast<std::uint16_t>(number % 3);
  event.detail = static_cast<std::uint16_t>(number % 5);
  event.value = number;
  return event;
}

std::uint64_t writeEvents(RunFileWriter& writer, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t number = first; number < first + count; ++number) {
    writer.addEvent(0, numberedEvent(number));
  }
  const base::Status committed = writer.commit();
  EXPECT_TRUE(committed.ok()) << (committed.ok() ? "" : committed.error().message());
  return first + count;
}

RunUpdate readAll(RunFileReader& reader, std::size_t maxSpans) {
  RunUpdate all;
  const auto keep = [](auto& kept, auto& next) {
    if (next.has_value()) {
      kept = std::move(next);
    }
  };
  const auto append = [](auto& kept, const auto& next) {
    kept.insert(kept.end(), next.begin(), next.end());
  };
  while (true) {
    auto polled = reader.poll(maxSpans);
    EXPECT_TRUE(polled.ok()) << (polled.ok() ? "" : polled.error().message());
    if (!polled.ok()) {
      return all;
    }
    RunUpdate& next = polled.value();
    keep(all.info, next.info);
    keep(all.ranks, next.ranks);
    keep(all.tracks, next.tracks);
    keep(all.parameters, next.parameters);
    keep(all.layouts, next.layouts);
    keep(all.clock, next.clock);
    keep(all.hosts, next.hosts);
    append(all.spans, next.spans);
    append(all.metrics, next.metrics);
    append(all.log, next.log);
    append(all.fingerprints, next.fingerprints);
    append(all.sketches, next.sketches);
    append(all.sums, next.sums);
    append(all.gradients, next.gradients);
    append(all.problems, next.problems);
    if (next.spans.size() < maxSpans) {
      return all;
    }
  }
}

std::string query(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  std::string rows;
  char* failure = nullptr;
  sqlite3_exec(
      database, sql.c_str(),
      [](void* out, int columns, char** values, char**) {
        auto& text = *static_cast<std::string*>(out);
        text += text.empty() ? "" : "\n";
        for (int i = 0; i < columns; ++i) {
          text += std::string(i == 0 ? "" : "|") + (values[i] == nullptr ? "null" : values[i]);
        }
        return 0;
      },
      &rows, &failure);
  EXPECT_EQ(failure, nullptr) << failure;
  sqlite3_free(failure);
  sqlite3_close(database);
  return rows;
}

void makeFinishedRun(const std::filesystem::path& path, std::uint64_t spans) {
  auto writer = createRun(path);
  RunInfo info = runningInfo();
  info.state = RunState::kFinished;
  writer->setInfo(info);
  writer->addTrack(TrackInfo{0, 0, "step"});
  writeEvents(*writer, 0, spans);
  EXPECT_TRUE(writer->finish().ok());
}

}  // namespace lockstep::trace
