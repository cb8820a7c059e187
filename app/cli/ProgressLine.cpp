#include "app/cli/ProgressLine.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace lockstep::cli {
namespace {

constexpr auto kPlainEvery = std::chrono::seconds(5);
constexpr int kBarWidth = 24;

// Of rank 0; the ranks go through their steps together.
std::uint32_t stepsOf(const launch::LaunchProgress& progress) {
  const auto& steps = progress.recorder.steps;
  return steps.empty() ? 0 : steps.front();
}

std::string clockText(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::size_t terminalColumns(std::FILE* stream) {
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string progressText(const launch::LaunchProgress& progress,
                         std::optional<double> stepsPerSecond) {
  const std::uint32_t done = stepsOf(progress);
  if (done == 0) {
    const std::string& stage = progress.recorder.startup;
    return stage.empty() ? "starting" : "starting: " + stage;
  }
  std::string text = progress.recorder.plannedSteps == 0
                         ? fmt::format("step {}", done)
                         : fmt::format("step {}/{}", done, progress.recorder.plannedSteps);
  text += fmt::format("  loss {:.4f}", progress.recorder.loss);
  if (stepsPerSecond && *stepsPerSecond > 0) {
    text += fmt::format("  {:.1f} steps/s", *stepsPerSecond);
    if (progress.recorder.plannedSteps > done) {
      text += "  ETA " + clockText((progress.recorder.plannedSteps - done) / *stepsPerSecond);
    }
  }
  if (progress.recorder.diverged) {
    text += "  DIVERGED";
  }
  if (progress.recorder.dropped != 0) {
    text += fmt::format("  {} events dropped", progress.recorder.dropped);
  }
  return progress.stopping ? text + "  stopping" : text;
}

std::string progressBar(std::uint32_t done, std::uint32_t planned, int width) {
  const double share = planned == 0 ? 0 : std::min(1.0, static_cast<double>(done) / planned);
  const int filled = static_cast<int>(share * width);
  return fmt::format("[{:#<{}}{:.<{}}]", "", filled, "", width - filled);
}

ProgressLine::Style ProgressLine::styleFor(std::FILE* stream, bool quiet) {
  return quiet ? Style::kNone : isatty(fileno(stream)) == 1 ? Style::kTerminal : Style::kPlain;
}

void ProgressLine::show(const launch::LaunchProgress& progress) {
  if (style_ == Style::kNone) {
    return;
  }
  const std::uint32_t done = stepsOf(progress);
  if (done > 0 && !rateFrom_) {
    rateFrom_ = progress.elapsed;
    rateFromStep_ = done;
  }
  std::optional<double> rate;
  if (rateFrom_ && done > rateFromStep_) {
    rate = (done - rateFromStep_) /
           std::chrono::duration<double>(progress.elapsed - *rateFrom_).count();
  }
  const std::string text = progressText(progress, rate);
  if (style_ == Style::kTerminal) {
    line_.draw(progress.recorder.plannedSteps == 0
                   ? text
                   : progressBar(done, progress.recorder.plannedSteps, kBarWidth) + " " + text);
    return;
  }
  // In a log every new stage of starting up is worth a line of its own, at once; steps have one
  // every few seconds.
  const std::string stage = done > 0 ? "training" : text;
  if (stage != lastStage_ || progress.elapsed >= nextPlain_) {
    fmt::print(stream_, "{}\n", text);
    std::fflush(stream_);
    lastStage_ = stage;
    nextPlain_ = progress.elapsed + kPlainEvery;
  }
}

void TerminalLine::draw(std::string text) {
  if (isatty(fileno(stream_)) != 1) {
    return;
  }
  text.resize(std::min(text.size(), terminalColumns(stream_) - 1));
  fmt::print(stream_, "\r{}\x1b[K", text);
  std::fflush(stream_);
  drawn_ = true;
}

void TerminalLine::clear() {
  if (drawn_) {
    fmt::print(stream_, "\r\x1b[K");
    std::fflush(stream_);
    drawn_ = false;
  }
}

}  // namespace lockstep::cli
