#pragma once

#include <lockstep/hook/face.hpp>
#include <lockstep/hook/math.hpp>

/// Writes communication hooks in C++20 over the C border of comm_hook.h, header only.
///
/// A hook is a class with a description and a run():
///
///     class Half : public lockstep::plugin::Hook {
///      public:
///       static Description description();
///       Half(const Host& host, const Values& values);
///       void run(Run run, Bucket bucket);
///     };
///     LOCKSTEP_HOOKS(Half)
///
/// and, if it has them, any of these; what a class does not declare the host never calls:
///
///     void cancel(Run run);                                    // this run ends early
///     void beforeForward(Run run, Step step);                  // lockstep.step/1
///     void afterOptimizer(Run run, Step step);
///     void endOfRun(Run run, Step step);
///     static constexpr std::uint32_t kStateSchema = 1;         // lockstep.state/1
///     void save(Writer& out);
///     void load(Reader& in, std::uint32_t schema, int worldSize);
///     bool replicasDrift() const noexcept;                     // lockstep.replicas/1
///     void set(const Value& value);                            // lockstep.live-params/1
///     void configure(const lockstep_optimizer_info& optimizer);  // lockstep.optimizer/1
///     bool ownsUpdate();
///     void update(Run run, Step step);
///
/// A hook that takes devices says so (Description::devices) and computes there by Math, or by
/// hook/tensors.hpp, which is not part of this and views buffers as libtorch's tensors.
///
/// Run, Bucket and Step are handles: copy them into continuations. Exceptions are caught at every
/// entry and become the sentence of the failure; throw Error to choose its status.
namespace lockstep::plugin {}

/// Exports the hooks of this library: LOCKSTEP_HOOKS(First, Second). Once a library.
#define LOCKSTEP_HOOKS(...)                                      \
  extern "C" const lockstep_plugin lockstep_comm_hook_plugin_v1 = \
      ::lockstep::plugin::detail::Entry<__VA_ARGS__>::kTable
