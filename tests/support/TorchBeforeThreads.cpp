// libtorch makes its default generator when it is first used, under a guard that ThreadSanitizer
// does not see. With this in a test it is there before any thread.

#include <ATen/Context.h>

namespace {
[[maybe_unused]] const bool kReady = (at::manual_seed(0), true);
}
