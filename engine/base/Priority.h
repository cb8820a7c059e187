#pragma once

#include <functional>

namespace lockstep::base {

/// How far programs that watch a training step behind the one that trains, as nice(1) counts.
inline constexpr int kBehind = 5;

/// Lets the calling thread, and the threads and processes that it starts from now on, run after
/// others where processors are short. A system that refuses it is left as it is.
void stepBehind();

/// The same for a whole program, first thing in its main(); what `inFront` starts stays as the
/// program was before. Programs cannot step forward again: a thread that never stepped behind is
/// kept for it. Note [Back to the front] in the .cpp.
void stepProgramBehind();

/// Runs `work` with the priority from before stepProgramBehind, on another thread, and waits for
/// its end; without that call, here. [any-thread]
void inFront(const std::function<void()>& work);

}  // namespace lockstep::base
