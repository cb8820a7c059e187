#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "app/cli/AddCommand.h"
#include "app/cli/Complaint.h"
#include "app/cli/FollowText.h"
#include "app/cli/FollowedRun.h"
#include "app/cli/ProgressLine.h"
#include "app/cli/RunReportText.h"
#include "engine/base/Try.h"

namespace lockstep::cli {
namespace {

constexpr std::chrono::milliseconds kEvery{250};

struct FollowArguments {
  std::string run;
};

/// Lines of a terminal that are drawn anew where they stand.
class TerminalBlock {
 public:
  explicit TerminalBlock(std::FILE* stream) : stream_(stream) {}

  [[nodiscard]] ScreenSize size() const {
    winsize size{};
    const bool known = ioctl(fileno(stream_), TIOCGWINSZ, &size) == 0;
    return known && size.ws_col > 1 && size.ws_row > 1 ? ScreenSize{size.ws_col, size.ws_row}
                                                       : ScreenSize{};
  }

  void draw(const std::vector<std::string>& lines) {
    std::string text = backToStart();
    for (const std::string& line : lines) {
      text += line + "\x1b[K\n";
    }
    drawn_ = lines.size();
    fmt::print(stream_, "{}\x1b[J", text);
    std::fflush(stream_);
  }

  void clear() {
    fmt::print(stream_, "{}\x1b[J", backToStart());
    std::fflush(stream_);
    drawn_ = 0;
  }

 private:
  [[nodiscard]] std::string backToStart() const {
    return drawn_ == 0 ? "\r" : fmt::format("\x1b[{}F", drawn_);
  }

  std::FILE* stream_;
  std::size_t drawn_ = 0;
};

base::Result<int> follow(const FollowArguments& arguments) {
  FollowedRun run = LOCKSTEP_TRY(FollowedRun::open(arguments.run));
  const bool drawn = isatty(STDOUT_FILENO) == 1;
  TerminalBlock block(stdout);
  ProgressLine plain(stdout, ProgressLine::Style::kPlain);
  for (bool more = true; more;) {
    more = LOCKSTEP_TRY(run.refresh());
    if (drawn) {
      block.draw(followLines(run.state(), block.size()));
    } else {
      plain.show(run.state().progress);
    }
    if (trace::isLive(run.state().info.state)) {
      std::this_thread::sleep_for(kEvery);
    }
  }
  if (drawn) {
    block.clear();
  }
  const auto report = LOCKSTEP_TRY(report::readRunReport(arguments.run));
  printPlain(summaryText(report, arguments.run));
  return 0;
}

}  // namespace

void addFollow(CLI::App& app, Command& chosen) {
  auto [command, arguments] =
      addCommand(app, chosen, "follow", "Show a live run on a terminal until it ends", follow);
  command->add_option("RUN", arguments->run, "Run file, live or finished")->required();
  command->footer(
      "Four times a second: how far it is, what costs most, the figures of each rank, and the\n"
      "buckets of the rank whose communication is exposed most, as they fill. Where the output is\n"
      "no terminal, a line every few seconds. Ends with the summary that lockstep run ends with;\n"
      "Ctrl-C ends it at once, and leaves the run as it is.");
}

}  // namespace lockstep::cli
