#include "engine/hooks/plugin/PluginHook.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/hooks/HookError.h"
#include "engine/hooks/plugin/detail/HookStates.h"
#include "engine/hooks/plugin/detail/PluginSession.h"
#include "engine/plugin/HookValues.h"

namespace lockstep::hooks {

namespace {

using detail::PluginSession;

template <typename Table>
const Table* extensionOf(const PluginSession& session, const char* id) {
  lockstep_hook* hook = session.hook();
  return hook->extension == nullptr ? nullptr
                                    : static_cast<const Table*>(hook->extension(hook, id));
}

const lockstep_ext_optimizer* optimizerOf(const PluginSession& session) {
  return extensionOf<lockstep_ext_optimizer>(session, "lockstep.optimizer/1");
}

template <auto Entry>
auto stepEntry(const PluginSession& session) {
  const auto* table = extensionOf<lockstep_ext_step>(session, "lockstep.step/1");
  return table == nullptr ? nullptr : table->*Entry;
}

bool driftsBy(const PluginSession& session) {
  const auto* table = extensionOf<lockstep_ext_replicas>(session, "lockstep.replicas/1");
  return table != nullptr && table->drift != nullptr && table->drift(session.hook()) != 0;
}

std::int32_t optimizerKind(const std::string& kind) {
  return kind == "adam" ? LOCKSTEP_ADAM : kind == "adamw" ? LOCKSTEP_ADAMW : LOCKSTEP_SGD;
}

/// Null where nobody wants to know.
std::shared_ptr<Watch> watchFor(const PluginHookOptions& options) {
  if (!options.stuck) {
    return nullptr;
  }
  return std::make_shared<Watch>(
      1, options.timeout,
      [stuck = options.stuck, limit = options.timeout](int, const std::string& call) {
        stuck(fmt::format("{}: it did not come back within {} s", call,
                          static_cast<double>(limit.count()) / 1000));
      });
}

void check(PluginSession& session, lockstep_status status, const std::string& call) {
  if (status != LOCKSTEP_OK) {
    const std::string reason = session.takeReason();
    throw HookError(
        fmt::format("hook '{}': {}: {}", session.info().id, call,
                    reason.empty() ? fmt::format("it returned status {}", status) : reason));
  }
}

}  // namespace

// Note [Hooks inside hooks]
//
// "topk(fp16)" is two sessions, outermost first in sessions_, each with a group of its own, and all
// on one strand and one stream. The inner one is made first, since the outer one is given it at its
// creation. A call for a bucket goes to the outermost alone; whatever it hands on goes to the one
// inside by lockstep.inner/1. Calls around a step go to each, from the outside in, and the update
// is the outermost's alone.
PluginHook::PluginHook(PluginHookOptions options)
    : options_(std::move(options)),
      strand_(std::make_shared<Strand>("hook strand")),
      stream_(std::make_shared<HookStream>()),
      trace_(HookTrace::create(options_.tracer, "hook", options_.deviceSpans)),
      watch_(watchFor(options_)) {
  LOCKSTEP_CHECK(!options_.choice.empty() && options_.groups.size() == options_.choice.size(),
                 "{} groups for {} hooks", options_.groups.size(), options_.choice.size());
  try {
    for (std::size_t i = options_.choice.size(); i-- > 0;) {
      create(i);
    }
  } catch (...) {
    close();  // the hooks inside one that could not be made
    throw;
  }
}

void PluginHook::create(std::size_t depth) {
  const plugin::ChosenHook& chosen = options_.choice[depth];
  const auto inner = sessions_.empty() ? nullptr : sessions_.front();
  auto library = plugin::PluginLibrary::open(chosen.library);
  if (!library.ok()) {
    throw HookError(library.error().message());
  }
  const plugin::HookInfo* info = library.value()->find(chosen.id);
  if (info == nullptr) {
    throw HookError(fmt::format("{} has no hook '{}'", chosen.library, chosen.id));
  }
  if (inner != nullptr && (info->caps & LOCKSTEP_CAP_INNER) == 0) {
    throw HookError(fmt::format("hook '{}' takes no other hook inside", chosen.id));
  }
  auto session = std::make_shared<PluginSession>(detail::SessionOptions{
      library.value(), chosen.id, plugin::valuesOf(*info, chosen.values), options_.groups[depth],
      trace_, strand_, stream_, inner, options_.ranksShareProcess, watch_});
  session->create();
  drifts_ = drifts_ || driftsBy(*session);
  name_ = inner == nullptr ? chosen.id : fmt::format("{}({})", chosen.id, name_);
  sessions_.insert(sessions_.begin(), std::move(session));
}

PluginHook::~PluginHook() {
  close();
}

bool PluginHook::close() {
  bool ended = true;
  for (const auto& session : sessions_) {
    ended = session->close() && ended;
  }
  trace_->close();
  return ended;
}

base::Future<at::Tensor> PluginHook::run(GradBucket& bucket) {
  PluginSession& session = *sessions_.front();
  const auto dtype = detail::dtypeNumber(bucket.buffer().scalar_type());
  if (dtype == 0 || (session.info().dtypes & (1U << dtype)) == 0) {
    throw HookError(fmt::format("it does not take buckets of {}",
                                c10::toString(bucket.buffer().scalar_type())));
  }
  const std::int32_t device = bucket.buffer().is_cpu() ? LOCKSTEP_CPU : LOCKSTEP_CUDA;
  for (const auto& each : sessions_) {
    if ((each->info().devices & (1U << device)) == 0) {
      throw HookError(fmt::format("hook '{}' does not take buckets on {}; set processes.device to "
                                  "a device that it takes",
                                  each->info().id, bucket.buffer().device().str()));
    }
  }
  auto run = std::make_shared<lockstep_run>();
  run->place = fmt::format("bucket {} of step {}", bucket.index(), bucket.step());
  run->step = bucket.step();
  run->bucket = eventBucket(bucket.index());
  run->bytes = bucket.buffer().nbytes();
  run->flat = bucket.buffer();
  run->device = bucket.buffer().device();
  run->view = std::make_unique<detail::BucketView>(bucket, stream_->handle(run->device));
  if (!run->device.is_cpu()) {
    // The future completes when the work is queued: see StreamPoint.
    bucket.setOrder([done = run->done] { done->orderCurrent(); });
  }
  const lockstep_bucket* raw = run->view->raw();
  return session.begin(run, [raw](lockstep_hook* hook, lockstep_run* own,
                                  const lockstep_group* world) {
    return hook->run(hook, own, world, raw);
  });
}

std::string PluginHook::inside() const {
  std::string place;
  for (const auto& session : sessions_) {
    place = place.empty() ? session->inside() : place;
  }
  return place;
}

void PluginHook::setParameters(std::vector<std::string> names, std::vector<at::Tensor> parameters) {
  names_ = std::move(names);
  parameters_ = std::move(parameters);
}

void PluginHook::configure(const OptimizerFacts& optimizer) {
  lockstep_optimizer_info info{};
  info.struct_size = sizeof info;
  info.kind = optimizerKind(optimizer.kind);
  info.learning_rate = optimizer.learningRate;
  info.weight_decay = optimizer.weightDecay;
  info.momentum = optimizer.momentum;
  info.dampening = optimizer.dampening;
  info.nesterov = optimizer.nesterov ? 1 : 0;
  info.beta1 = optimizer.beta1;
  info.beta2 = optimizer.beta2;
  info.epsilon = optimizer.epsilon;
  for (const auto& session : sessions_) {
    const auto* table = optimizerOf(*session);
    if (table != nullptr && table->configure != nullptr) {
      const detail::HostCall call(*session, "configure");
      check(*session, table->configure(session->hook(), &info), "configure");
    }
  }
}

bool PluginHook::ownsUpdate() const {
  const auto* table = optimizerOf(*sessions_.front());
  return table != nullptr && table->update != nullptr && table->owns_update != nullptr &&
         table->owns_update(sessions_.front()->hook()) != 0;
}

void PluginHook::around(const char* call, std::uint32_t step, StepFunction function) {
  for (const auto& session : sessions_) {
    // After a failure every call repeats it: the plugin's own state may be anything.
    if (const std::string failure = session->failure(); !failure.empty()) {
      throw HookError(fmt::format("hook '{}': {}", session->info().id, failure));
    }
    const auto entry = function(*session);
    if (entry == nullptr) {
      continue;
    }
    auto run = std::make_shared<lockstep_run>();
    run->place = fmt::format("{} of step {}", call, step);
    run->step = step;
    run->bucket = trace::kNoBucket;
    run->device = parameters_.empty() ? c10::Device(c10::DeviceType::CPU)
                                      : parameters_.front().device();
    run->parameters =
        std::make_shared<detail::StepView>(names_, parameters_, step, stream_->handle(run->device));
    const auto future =
        session->begin(run, [view = run->parameters, entry](lockstep_hook* hook, lockstep_run* own,
                                                            const lockstep_group* world) {
          return entry(hook, own, world, view->raw());
        });
    // These calls block the step: the training loop does nothing else meanwhile.
    if (!future.waitFor(options_.timeout)) {
      throw HookError(fmt::format("hook '{}': {} of step {} did not end within {} ms",
                                  session->info().id, call, step, options_.timeout.count()));
    }
    try {
      (void)future.value();
      run->done->orderCurrent();
    } catch (const HookError& error) {
      throw HookError(fmt::format("hook '{}': {}", session->info().id, error.what()));
    }
  }
}

void PluginHook::beforeForward(std::uint32_t step) {
  around("before_forward", step, stepEntry<&lockstep_ext_step::before_forward>);
}

void PluginHook::afterOptimizer(std::uint32_t step) {
  around("after_optimizer", step, stepEntry<&lockstep_ext_step::after_optimizer>);
}

void PluginHook::endOfRun(std::uint32_t step) {
  around("end_of_run", step, stepEntry<&lockstep_ext_step::end_of_run>);
}

void PluginHook::update(std::uint32_t step) {
  around("update", step, [outer = sessions_.front().get()](const PluginSession& session) {
    return &session == outer ? StepEntry(optimizerOf(session)->update) : nullptr;
  });
}

std::map<std::string, double> PluginHook::liveBeginnings() const {
  std::map<std::string, double> beginnings;
  std::string table = "hook.";
  for (std::size_t depth = 0; depth < sessions_.size(); ++depth) {
    const plugin::HookInfo& info = sessions_[depth]->info();
    const auto values = plugin::valuesOf(info, options_.choice[depth].values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (info.params[i].live && values[i].text == nullptr) {
        beginnings[table + values[i].key] = values[i].number;
      }
    }
    table += "inner.";
  }
  return beginnings;
}

void PluginHook::set(const std::string& key, const plugin::HookValue& value) {
  constexpr std::string_view kHook = "hook.";
  constexpr std::string_view kInner = "inner.";
  if (!key.starts_with(kHook)) {
    throw HookError(fmt::format("{} is no parameter of a hook", key));
  }
  std::string_view name(key);
  name.remove_prefix(kHook.size());
  std::size_t depth = 0;
  for (; name.starts_with(kInner); ++depth) {
    name.remove_prefix(kInner.size());
  }
  if (depth >= sessions_.size()) {
    throw HookError(fmt::format("{}: there is no hook inside hook '{}'", key, name_));
  }
  PluginSession& session = *sessions_[depth];
  const auto& params = session.info().params;
  const auto param = std::find_if(params.begin(), params.end(),
                                  [name](const auto& known) { return known.key == name; });
  const auto* table = extensionOf<lockstep_ext_live_params>(session, "lockstep.live-params/1");
  if (param == params.end() || !param->live || table == nullptr || table->set == nullptr) {
    throw HookError(
        fmt::format("hook '{}': {} cannot change during a run", session.info().id, name));
  }
  // The plugin is asked only for values within what it declared.
  if (const auto wrong = plugin::whatIsWrong(*param, value)) {
    throw HookError(fmt::format("hook '{}': {} {}", session.info().id, name, *wrong));
  }
  // On the step thread, between steps: no run is open that the strand could be in.
  const lockstep_value raw = plugin::rawValue(*param, value);
  const detail::HostCall call(session, fmt::format("changing {}", name));
  check(session, table->set(session.hook(), &raw), fmt::format("changing {}", name));
}

std::map<std::string, double> PluginHook::takeCounters() {
  std::map<std::string, double> counters;
  for (const auto& session : sessions_) {
    for (const auto& [key, value] : session->takeCounters()) {
      counters["hook." + key] += value;
    }
  }
  return counters;
}

std::string PluginHook::save() const {
  detail::HookStates states;
  for (const auto& session : sessions_) {
    if (const auto* table = extensionOf<lockstep_ext_state>(*session, "lockstep.state/1");
        table != nullptr) {
      detail::HookStates::Entry entry{session->info().id, table->schema, {}};
      const lockstep_writer writer{
          &entry.bytes, [](void* context, const void* bytes, std::uint64_t size) {
            static_cast<std::string*>(context)->append(static_cast<const char*>(bytes), size);
            return lockstep_status{LOCKSTEP_OK};
          }};
      const detail::HostCall call(*session, "saving its state");
      check(*session, table->save(session->hook(), &writer), "saving its state");
      states.entries.push_back(std::move(entry));
    }
  }
  return states.entries.empty() ? std::string() : states.toBytes();
}

void PluginHook::load(const std::string& state, int worldSize) {
  const auto states = detail::HookStates::fromBytes(state);
  for (const auto& session : sessions_) {
    const auto* table = extensionOf<lockstep_ext_state>(*session, "lockstep.state/1");
    const auto* entry = states.find(session->info().id);
    if (table == nullptr && entry == nullptr) {
      continue;
    }
    // A state that is there and cannot be loaded, or is missing, would silently start anew: with
    // error feedback that is another training.
    if (table == nullptr || entry == nullptr) {
      throw HookError(fmt::format("hook '{}': the checkpoint holds {}", session->info().id,
                                  entry == nullptr ? "no state of it"
                                                   : "a state that it cannot read"));
    }
    struct Source {
      lockstep_reader table;
      const char* at;
    } source{{nullptr, entry->bytes.size(),
              [](lockstep_reader* reader, void* bytes, std::uint64_t size) {
                auto& from = *reinterpret_cast<Source*>(reader);
                if (size > reader->left) {
                  return lockstep_status{LOCKSTEP_E_STATE};
                }
                std::copy_n(from.at, size, static_cast<char*>(bytes));
                from.at += size;
                reader->left -= size;
                return lockstep_status{LOCKSTEP_OK};
              }},
             entry->bytes.data()};
    const detail::HostCall call(*session, "loading its state");
    check(*session, table->load(session->hook(), entry->schema, worldSize, &source.table),
          "loading its state");
  }
}

}  // namespace lockstep::hooks
