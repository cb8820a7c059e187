#include <unistd.h>

#include <cstdint>
#include <string>

#include <lockstep/comm_hook.hpp>

using namespace lockstep::plugin;

namespace {

/// Averages, and on rank 1 never comes back from one of the calls that the step thread makes.
class Stalling : public Hook {
 public:
  static const Description& description() {
    static const Description description =
        Description("stalling", "stalling", "1.0", "Does not come back from one call.")
            .choice({.key = "stalls",
                     .label = "Where",
                     .help = "in which call",
                     .initial = "nowhere",
                     .choices = {"nowhere", "create", "configure", "set", "save", "load"}})
            .real({.key = "pace",
                   .label = "Pace",
                   .help = "",
                   .initial = 1,
                   .min = 0,
                   .max = 10,
                   .flags = LOCKSTEP_PARAM_LIVE});
    return description;
  }

  Stalling(Host host, const Values& values)
      : Hook(host), stalls_(values["stalls"].text()), last_(host.rank() == 1) {
    stallIn("create");
  }

  void run(Run run, Bucket bucket) {
    for (float& value : bucket.flat()) {
      value /= static_cast<float>(bucket.divisor());
    }
    run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run] { run.complete(); });
    run.noMore();
  }

  void configure(const lockstep_optimizer_info&) { stallIn("configure"); }
  void set(const Value&) { stallIn("set"); }

  static constexpr std::uint32_t kStateSchema = 1;
  void save(Writer& out) {
    stallIn("save");
    out.number(std::uint32_t{1});
  }
  void load(Reader& in, std::uint32_t, int) {
    stallIn("load");
    (void)in.number<std::uint32_t>();
  }

 private:
  void stallIn(const char* call) const {
    while (last_ && stalls_ == call) {
      pause();
    }
  }

  const std::string stalls_;
  const bool last_;
};

}  // namespace

LOCKSTEP_HOOKS(Stalling);
