// libtorch makes its default generator when it is first used, under a guard that ThreadSanitizer
// does not see; and MKL, in a libtorch that has it, chooses the kernels of its vector functions at
// the first call, where two threads at once may get different ones, whose results differ in the
// last bit. With this in a test both are there before any thread.

#include <ATen/Context.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tanh.h>

namespace {
[[maybe_unused]] const bool kReady = [] {
  at::manual_seed(0);
  const at::Tensor rows = at::ones({8, 8});
  return at::tanh(at::mm(rows, rows)).defined();
}();
}
