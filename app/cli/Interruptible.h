#pragma once

#include "app/cli/ProgressLine.h"

namespace lockstep::cli {

/// While it lives, Ctrl-C ends what is written and not the program, so that drafts are cleared
/// away.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
};

/// Draws how much of the work is done, 0..1; returns whether it goes on.
bool drawPart(TerminalLine& line, double part);

}  // namespace lockstep::cli
