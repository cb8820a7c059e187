#include "app/cli/Interruptible.h"

#include <fmt/format.h>

#include <csignal>

#include "engine/base/NumberText.h"

namespace lockstep::cli {
namespace {

// Written by a signal handler, and read between two pieces of the export: whoever writes asks the
// bar for each, and gives up where it says no.
volatile std::sig_atomic_t gInterrupted = 0;

}  // namespace

Interruptible::Interruptible() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal, [](int) { gInterrupted = 1; });
  }
}

Interruptible::~Interruptible() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal, SIG_DFL);
  }
}

bool drawPart(TerminalLine& line, double part) {
  line.draw(fmt::format("{} {:>5}", progressBar(static_cast<std::uint32_t>(part * 100), 100, 30),
                        base::percentText(part * 100, 0)));
  return gInterrupted == 0;
}

}  // namespace lockstep::cli
