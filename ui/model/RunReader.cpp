#include "ui/model/RunReader.h"

#include <chrono>
#include <utility>

#include "engine/base/Thread.h"
#include "engine/trace/RanksTogether.h"

namespace lockstep::ui {
namespace {

// Of a run of a thousand ranks, some hundred of each (Note [Ranks together]).
constexpr std::size_t kSpansAChunk = 250'000;
constexpr std::size_t kChunksAhead = 2;
constexpr std::chrono::milliseconds kPollEvery{50};

}  // namespace

RunReader::RunReader(std::filesystem::path path) : path_(std::move(path)) {}

RunReader::~RunReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  wait();
}

std::optional<RunReader::Chunk> RunReader::take() {
  std::optional<Chunk> chunk;
  {
    const std::lock_guard lock(mutex_);
    if (chunks_.empty()) {
      return std::nullopt;
    }
    chunk = std::move(chunks_.front());
    chunks_.pop_front();
  }
  wake_.notify_all();
  return chunk;
}

bool RunReader::put(Chunk chunk) {
  bool wasEmpty = false;
  {
    std::unique_lock lock(mutex_);
    // Bounded, so that a long file does not stand in memory twice while the UI thread catches up.
    wake_.wait(lock, [&] { return stopping_ || chunks_.size() < kChunksAhead; });
    if (stopping_) {
      return false;
    }
    wasEmpty = chunks_.empty();
    chunks_.push_back(std::move(chunk));
  }
  // One signal a filling is enough: drainReader goes on until it finds the queue empty.
  if (wasEmpty) {
    emit chunksWaiting();
  }
  return true;
}

bool RunReader::sleepUntilNextPoll() {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, kPollEvery, [&] { return stopping_; });
}

void RunReader::run() {
  base::nameThisThread("run reader");
  auto opened = trace::RunFileReader::open(path_);
  if (!opened.ok()) {
    emit failed(QString::fromStdString(opened.error().message()));
    return;
  }
  const std::unique_ptr<trace::RunFileReader> reader = std::move(opened).value();
  std::optional<trace::RanksTogether> together(std::in_place);  // while much is read at once
  bool caughtUpOnce = false;
  bool sawEnd = false;
  trace::RunState state = trace::RunState::kStarting;
  while (true) {
    auto polled = reader->poll(kSpansAChunk);
    if (!polled.ok()) {
      emit failed(QString::fromStdString(polled.error().message()));
      return;
    }
    Chunk chunk;
    chunk.update = std::move(polled).value();
    chunk.live = caughtUpOnce;
    // A poll that brings fewer than it may has reached the end of the file, as it is now.
    chunk.caughtUp = chunk.update.spans.size() < kSpansAChunk;
    if (chunk.update.info) {
      state = chunk.update.info->state;
    }
    if (together) {
      together->order(chunk.update);
    }
    const bool caughtUp = chunk.caughtUp;
    // The first time the end is reached is worth a chunk even when it brings nothing: `loaded`
    // comes by it.
    const bool worthSending = !chunk.update.empty() || (caughtUp && !caughtUpOnce);
    if (worthSending && !put(std::move(chunk))) {
      return;
    }
    if (caughtUp) {
      caughtUpOnce = true;
      together.reset();
      if (!trace::isLive(state)) {
        // Once more after the end was seen, for rows that were written beside it.
        if (sawEnd) {
          return;
        }
        sawEnd = true;
        continue;
      }
      if (!sleepUntilNextPoll()) {
        return;
      }
    }
  }
}

}  // namespace lockstep::ui
