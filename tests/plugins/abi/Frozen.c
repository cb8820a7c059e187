/* Version 1 of the border as it was frozen: where it stops compiling, plugins that are out there
 * would stop working. Fields may follow the last one of a struct that says its size; nothing else
 * here may be changed. */
#include <lockstep/comm_hook.h>
#include <stddef.h>

#define IS(condition) _Static_assert(condition, #condition)
#define AT(type, field, offset) IS(offsetof(type, field) == (offset))
#define SIZE(type, size) IS(sizeof(type) == (size))
#define GROWS(type, size) IS(sizeof(type) >= (size)); AT(type, struct_size, 0)

IS(sizeof(void *) == 8);
IS(LOCKSTEP_ABI_MAJOR == 1);

SIZE(lockstep_buffer, 40);
AT(lockstep_buffer, data, 0);
AT(lockstep_buffer, numel, 8);
AT(lockstep_buffer, dtype, 16);
AT(lockstep_buffer, device, 20);
AT(lockstep_buffer, device_index, 24);
AT(lockstep_buffer, stream, 32);

SIZE(lockstep_value, 32);
AT(lockstep_value, key, 0);
AT(lockstep_value, type, 8);
AT(lockstep_value, number, 16);
AT(lockstep_value, text, 24);

SIZE(lockstep_writer, 16);
AT(lockstep_writer, context, 0);
AT(lockstep_writer, write, 8);
SIZE(lockstep_reader, 24);
AT(lockstep_reader, context, 0);
AT(lockstep_reader, left, 8);
AT(lockstep_reader, read, 16);

GROWS(lockstep_bucket, 128);
AT(lockstep_bucket, index, 4);
AT(lockstep_bucket, count, 8);
AT(lockstep_bucket, flags, 12);
AT(lockstep_bucket, step, 16);
AT(lockstep_bucket, layout, 24);
AT(lockstep_bucket, divisor, 32);
AT(lockstep_bucket, flat, 40);
AT(lockstep_bucket, param_count, 80);
AT(lockstep_bucket, param_ids, 88);
AT(lockstep_bucket, offsets, 96);
AT(lockstep_bucket, lengths, 104);
AT(lockstep_bucket, dims, 112);
AT(lockstep_bucket, shapes, 120);

GROWS(lockstep_group, 64);
AT(lockstep_group, rank, 4);
AT(lockstep_group, size, 8);
AT(lockstep_group, all_reduce, 16);
AT(lockstep_group, all_gather, 24);
AT(lockstep_group, reduce_scatter, 32);
AT(lockstep_group, broadcast, 40);
AT(lockstep_group, all_to_all, 48);
AT(lockstep_group, exchange, 56);

GROWS(lockstep_host, 128);
AT(lockstep_host, data, 8);
AT(lockstep_host, name, 16);
AT(lockstep_host, version, 24);
AT(lockstep_host, extension, 32);
AT(lockstep_host, log, 40);
AT(lockstep_host, fail, 48);
AT(lockstep_host, scratch, 56);
AT(lockstep_host, mark, 64);
AT(lockstep_host, counter, 72);
AT(lockstep_host, no_more, 80);
AT(lockstep_host, result_ready, 88);
AT(lockstep_host, complete, 96);
AT(lockstep_host, slot, 104);
AT(lockstep_host, subgroup, 112);
AT(lockstep_host, world, 120);

GROWS(lockstep_hook, 56);
AT(lockstep_hook, self, 8);
AT(lockstep_hook, run, 16);
AT(lockstep_hook, resume, 24);
AT(lockstep_hook, cancel, 32);
AT(lockstep_hook, extension, 40);
AT(lockstep_hook, destroy, 48);

GROWS(lockstep_param, 88);
AT(lockstep_param, key, 8);
AT(lockstep_param, label, 16);
AT(lockstep_param, help, 24);
AT(lockstep_param, unit, 32);
AT(lockstep_param, type, 40);
AT(lockstep_param, flags, 44);
AT(lockstep_param, min, 48);
AT(lockstep_param, max, 56);
AT(lockstep_param, initial, 64);
AT(lockstep_param, initial_text, 72);
AT(lockstep_param, choices, 80);

GROWS(lockstep_hook_info, 80);
AT(lockstep_hook_info, caps, 4);
AT(lockstep_hook_info, dtypes, 8);
AT(lockstep_hook_info, devices, 12);
AT(lockstep_hook_info, id, 16);
AT(lockstep_hook_info, name, 24);
AT(lockstep_hook_info, vendor, 32);
AT(lockstep_hook_info, version, 40);
AT(lockstep_hook_info, summary, 48);
AT(lockstep_hook_info, mean_error, 56);
AT(lockstep_hook_info, param_count, 64);
AT(lockstep_hook_info, params, 72);

GROWS(lockstep_plugin, 48);
AT(lockstep_plugin, abi_minor, 4);
AT(lockstep_plugin, init, 8);
AT(lockstep_plugin, deinit, 16);
AT(lockstep_plugin, hook_count, 24);
AT(lockstep_plugin, hook_info, 32);
AT(lockstep_plugin, create, 40);

GROWS(lockstep_parameter, 112);
AT(lockstep_parameter, id, 4);
AT(lockstep_parameter, name, 8);
AT(lockstep_parameter, value, 16);
AT(lockstep_parameter, gradient, 56);
AT(lockstep_parameter, dims, 96);
AT(lockstep_parameter, shape, 104);
GROWS(lockstep_step, 24);
AT(lockstep_step, param_count, 4);
AT(lockstep_step, step, 8);
AT(lockstep_step, params, 16);

GROWS(lockstep_optimizer_info, 72);
AT(lockstep_optimizer_info, kind, 4);
AT(lockstep_optimizer_info, learning_rate, 8);
AT(lockstep_optimizer_info, weight_decay, 16);
AT(lockstep_optimizer_info, momentum, 24);
AT(lockstep_optimizer_info, dampening, 32);
AT(lockstep_optimizer_info, nesterov, 40);
AT(lockstep_optimizer_info, beta1, 48);
AT(lockstep_optimizer_info, beta2, 56);
AT(lockstep_optimizer_info, epsilon, 64);

GROWS(lockstep_ext_inner, 16);
AT(lockstep_ext_inner, run, 8);
GROWS(lockstep_ext_math, 72);
AT(lockstep_ext_math, allocate, 8);
AT(lockstep_ext_math, release, 16);
AT(lockstep_ext_math, copy, 24);
AT(lockstep_ext_math, fill, 32);
AT(lockstep_ext_math, multiply, 40);
AT(lockstep_ext_math, divide, 48);
AT(lockstep_ext_math, add_scaled, 56);
AT(lockstep_ext_math, matmul, 64);
GROWS(lockstep_ext_state, 24);
AT(lockstep_ext_state, schema, 4);
AT(lockstep_ext_state, save, 8);
AT(lockstep_ext_state, load, 16);
GROWS(lockstep_ext_live_params, 16);
AT(lockstep_ext_live_params, set, 8);
GROWS(lockstep_ext_replicas, 16);
AT(lockstep_ext_replicas, drift, 8);
GROWS(lockstep_ext_step, 32);
AT(lockstep_ext_step, before_forward, 8);
AT(lockstep_ext_step, after_optimizer, 16);
AT(lockstep_ext_step, end_of_run, 24);
GROWS(lockstep_ext_optimizer, 32);
AT(lockstep_ext_optimizer, configure, 8);
AT(lockstep_ext_optimizer, owns_update, 16);
AT(lockstep_ext_optimizer, update, 24);

/* Numbers are never given to anything else. */
IS(LOCKSTEP_OK == 0 && LOCKSTEP_E_ARGUMENT == -1 && LOCKSTEP_E_UNSUPPORTED == -2 &&
   LOCKSTEP_E_COMM == -3 && LOCKSTEP_E_STATE == -4 && LOCKSTEP_E_INTERNAL == -5 &&
   LOCKSTEP_E_MEMORY == -6);
IS(LOCKSTEP_CPU == 1 && LOCKSTEP_CUDA == 2);
IS(LOCKSTEP_F32 == 1 && LOCKSTEP_F16 == 2 && LOCKSTEP_BF16 == 3 && LOCKSTEP_F64 == 4 &&
   LOCKSTEP_I32 == 5 && LOCKSTEP_I64 == 6 && LOCKSTEP_U8 == 7);
IS(LOCKSTEP_SUM == 1 && LOCKSTEP_AVERAGE == 2 && LOCKSTEP_MAX == 3 && LOCKSTEP_MIN == 4);
IS(LOCKSTEP_BUCKET_LAST == 1 && LOCKSTEP_BUCKET_SHADOW == 2);
IS(LOCKSTEP_ENCODE == 1 && LOCKSTEP_DECODE == 2);
IS(LOCKSTEP_LOG_INFO == 1 && LOCKSTEP_LOG_WARNING == 2);
IS(LOCKSTEP_BOOL == 1 && LOCKSTEP_INT == 2 && LOCKSTEP_REAL == 3 && LOCKSTEP_CHOICE == 4 &&
   LOCKSTEP_TEXT == 5);
IS(LOCKSTEP_PARAM_LIVE == 1 && LOCKSTEP_PARAM_ADVANCED == 2 && LOCKSTEP_PARAM_LOG_SCALE == 4);
IS(LOCKSTEP_CAP_SAME_RESULT == 2 && LOCKSTEP_CAP_LOCAL_RESULT == 4 && LOCKSTEP_CAP_JOIN == 8 &&
   LOCKSTEP_CAP_INNER == 16);
IS(LOCKSTEP_SGD == 1 && LOCKSTEP_ADAM == 2 && LOCKSTEP_ADAMW == 3);
IS(LOCKSTEP_TRANSPOSED_A == 1 && LOCKSTEP_TRANSPOSED_B == 2);

/* What each function takes: an assignment from another type is an error. */
struct functions {
  lockstep_host host;
  lockstep_group group;
  lockstep_hook hook;
  lockstep_plugin plugin;
  lockstep_writer writer;
  lockstep_reader reader;
  lockstep_ext_inner inner;
  lockstep_ext_math math;
  lockstep_ext_state state;
  lockstep_ext_replicas replicas;
  lockstep_ext_live_params live;
  lockstep_ext_step step;
  lockstep_ext_optimizer optimizer;
};

typedef lockstep_status status;
typedef const lockstep_host *host;
typedef const lockstep_group *group;
typedef const lockstep_buffer *buffer;
typedef const int64_t *splits;

void takenApart(const struct functions *f);
void takenApart(const struct functions *f) {
  const void *(*extension)(host, const char *) = f->host.extension;
  void (*log)(host, int32_t, const char *) = f->host.log;
  void (*fail)(host, lockstep_run *, status, const char *) = f->host.fail;
  status (*scratch)(lockstep_run *, int64_t, int32_t, lockstep_buffer *) = f->host.scratch;
  void (*mark)(lockstep_run *, int32_t, int32_t) = f->host.mark;
  void (*counter)(lockstep_run *, const char *, double) = f->host.counter;
  void (*noMore)(lockstep_run *) = f->host.no_more;
  void (*resultReady)(lockstep_run *) = f->host.result_ready;
  void (*complete)(lockstep_run *) = f->host.complete;
  void **(*slot)(lockstep_run *) = f->host.slot;
  status (*subgroup)(host, const int32_t *, uint32_t, group *) = f->host.subgroup;
  group (*world)(host) = f->host.world;

  status (*allReduce)(group, lockstep_run *, uint32_t, buffer, int32_t) = f->group.all_reduce;
  status (*allGather)(group, lockstep_run *, uint32_t, buffer, buffer) = f->group.all_gather;
  status (*reduceScatter)(group, lockstep_run *, uint32_t, buffer, buffer, int32_t) =
      f->group.reduce_scatter;
  status (*broadcast)(group, lockstep_run *, uint32_t, buffer, int32_t) = f->group.broadcast;
  status (*allToAll)(group, lockstep_run *, uint32_t, buffer, splits, buffer, splits) =
      f->group.all_to_all;
  status (*exchange)(group, lockstep_run *, uint32_t, buffer, int32_t, buffer, int32_t) =
      f->group.exchange;

  status (*run)(lockstep_hook *, lockstep_run *, group, const lockstep_bucket *) = f->hook.run;
  status (*resume)(lockstep_hook *, lockstep_run *, uint32_t) = f->hook.resume;
  void (*cancel)(lockstep_hook *, lockstep_run *) = f->hook.cancel;
  const void *(*extensionOfHook)(lockstep_hook *, const char *) = f->hook.extension;
  void (*destroy)(lockstep_hook *) = f->hook.destroy;

  status (*init)(const char *) = f->plugin.init;
  void (*deinit)(void) = f->plugin.deinit;
  uint32_t (*hookCount)(void) = f->plugin.hook_count;
  const lockstep_hook_info *(*hookInfo)(uint32_t) = f->plugin.hook_info;
  status (*create)(host, const char *, const lockstep_value *, uint32_t, lockstep_hook **) =
      f->plugin.create;

  status (*write)(void *, const void *, uint64_t) = f->writer.write;
  status (*read)(lockstep_reader *, void *, uint64_t) = f->reader.read;
  status (*inner)(lockstep_run *, uint32_t, buffer) = f->inner.run;
  status (*allocate)(host, buffer, int64_t, int32_t, lockstep_buffer *) = f->math.allocate;
  void (*release)(host, buffer) = f->math.release;
  status (*copy)(host, buffer, buffer) = f->math.copy;
  status (*fill)(host, buffer, double) = f->math.fill;
  status (*multiply)(host, buffer, double) = f->math.multiply;
  status (*divide)(host, buffer, double) = f->math.divide;
  status (*addScaled)(host, buffer, buffer, double) = f->math.add_scaled;
  status (*matmul)(host, buffer, buffer, buffer, int64_t, int64_t, int64_t, uint32_t) =
      f->math.matmul;
  status (*save)(lockstep_hook *, const lockstep_writer *) = f->state.save;
  status (*load)(lockstep_hook *, uint32_t, int32_t, lockstep_reader *) = f->state.load;
  int32_t (*drift)(lockstep_hook *) = f->replicas.drift;
  status (*set)(lockstep_hook *, const lockstep_value *) = f->live.set;
  status (*around[])(lockstep_hook *, lockstep_run *, group, const lockstep_step *) = {
      f->step.before_forward, f->step.after_optimizer, f->step.end_of_run, f->optimizer.update};
  status (*configure)(lockstep_hook *, const lockstep_optimizer_info *) = f->optimizer.configure;
  int32_t (*ownsUpdate)(lockstep_hook *) = f->optimizer.owns_update;

  (void)extension, (void)log, (void)fail, (void)scratch, (void)mark, (void)counter, (void)noMore;
  (void)resultReady, (void)complete, (void)slot, (void)subgroup, (void)world, (void)allReduce;
  (void)allGather, (void)reduceScatter, (void)broadcast, (void)allToAll, (void)exchange, (void)run;
  (void)resume, (void)cancel, (void)extensionOfHook, (void)destroy, (void)init, (void)deinit;
  (void)hookCount, (void)hookInfo, (void)create, (void)write, (void)read, (void)inner;
  (void)allocate, (void)release, (void)copy, (void)fill, (void)multiply, (void)divide;
  (void)addScaled, (void)matmul, (void)save, (void)load, (void)drift, (void)set, (void)around;
  (void)configure, (void)ownsUpdate;
}

IS(sizeof LOCKSTEP_PLUGIN_SYMBOL == sizeof "lockstep_comm_hook_plugin_v1");
