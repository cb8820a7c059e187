/*
 * The border between Lockstep and a communication hook in a shared library.
 *
 * A plugin exports one constant, lockstep_comm_hook_plugin_v1, and has no undefined symbol of
 * Lockstep: what it may call comes in through pointers. Plain C: compiles as C11, C17, C++17 and
 * C++20. comm_hook.hpp beside it wraps it for C++, the README of plugins/abi tells how to write one.
 *
 * STATUS. Version 1 is frozen: a plugin that was built for it works with every Lockstep that has
 * it. What follows under GROWTH is all that may change.
 *
 * GROWTH. Structs that may grow start with `struct_size`, which whoever fills them sets to his
 * own sizeof. Fields are only ever appended. A reader takes what lies within struct_size and
 * treats the rest as null or zero; what it does not know it leaves alone. lockstep_buffer,
 * lockstep_value, lockstep_writer and lockstep_reader never grow. Everything else is asked for by
 * an extension's id, "lockstep.<name>/<revision>"; an unknown id is answered with null. The
 * anonymous enums may get numbers more, which are never reused: a host hands a hook no dtype and no
 * device that its lockstep_hook_info does not name, unknown bits of flags and caps mean nothing, and
 * any other negative status is a failure.
 *
 * THREADS. [strand] never two calls at once into one hook, on whatever thread. [host] the step
 * thread, between steps or before the first, with no [strand] call going on, but for those of runs
 * that are still open after result_ready(): who uses that needs a lock, all others need none.
 * [any] at any time.
 *
 * DEVICES. The memory of a bucket and of its run's scratch() lies on one device, and all that a
 * group's operations of that run are given must lie there, too. A hook says in
 * lockstep_hook_info::devices which kinds it takes, and is given no other. On a device other than
 * the CPU a hook queues work where it would compute. A run has a stream, the one of the buffers it
 * is handed and of its scratch(), which is the calling thread's current one in every call that is
 * handed the run: a hook that uses libtorch need not know it. Several runs may have one stream.
 *   - When run() is called the gradients are ready for what is queued on that stream.
 *   - A group's operation starts behind what stands on the stream when it is queued, and what it
 *     gives is ready for what is queued from resume() on.
 *   - What stands on the stream at result_ready() or complete() is waited for before the bucket is
 *     used. Nothing else waits for it: neither call blocks until the device has come there.
 *   - Work on streams of the hook's own has to be ordered before and behind that stream, and what a
 *     hook keeps from run to run, behind the run that wrote it, if the stream is another then.
 * "lockstep.math/1" computes on every device without CUDA or libtorch on the hook's side.
 *
 * ERRORS. Functions return LOCKSTEP_OK or a negative number, after a call of `fail` that says why
 * in a sentence. No exception may cross. A plugin that ends the process ends the rank.
 *
 * STRINGS are UTF-8, end with a zero, and live as long as what they describe.
 */
#ifndef LOCKSTEP_COMM_HOOK_H
#define LOCKSTEP_COMM_HOOK_H

#include <stdint.h>

#define LOCKSTEP_ABI_MAJOR 1u /* stands in the entry symbol's name */
#define LOCKSTEP_ABI_MINOR 0u /* grows when fields, functions or extensions are appended */

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t lockstep_status;
enum {
  LOCKSTEP_OK = 0,
  LOCKSTEP_E_ARGUMENT = -1,    /* a value, size or state that cannot be */
  LOCKSTEP_E_UNSUPPORTED = -2, /* not with this dtype, device, world size, option */
  LOCKSTEP_E_COMM = -3,        /* a collective failed */
  LOCKSTEP_E_STATE = -4,       /* saved state that does not fit */
  LOCKSTEP_E_INTERNAL = -5,    /* a defect of the plugin */
  LOCKSTEP_E_MEMORY = -6       /* there is not as much memory */
};

enum { LOCKSTEP_CPU = 1, LOCKSTEP_CUDA = 2 };

enum {
  LOCKSTEP_F32 = 1,
  LOCKSTEP_F16 = 2,
  LOCKSTEP_BF16 = 3,
  LOCKSTEP_F64 = 4,
  LOCKSTEP_I32 = 5,
  LOCKSTEP_I64 = 6,
  LOCKSTEP_U8 = 7
};

enum { LOCKSTEP_SUM = 1, LOCKSTEP_AVERAGE = 2, LOCKSTEP_MAX = 3, LOCKSTEP_MIN = 4 };

/* ---- What passes through ------------------------------------------------------------------ */

/* One call of a hook on one bucket of one step (or one call of an extension), until complete(). */
typedef struct lockstep_run lockstep_run;
typedef struct lockstep_hook lockstep_hook;
typedef struct lockstep_host lockstep_host;
typedef struct lockstep_group lockstep_group;

/* Contiguous memory of one dtype on one device. */
typedef struct lockstep_buffer {
  void *data;
  int64_t numel;        /* elements, not bytes */
  int32_t dtype;        /* LOCKSTEP_F32, ... */
  int32_t device;       /* LOCKSTEP_CPU, LOCKSTEP_CUDA */
  int32_t device_index; /* 0 on the CPU */
  void *stream;         /* cudaStream_t, see DEVICES; null on the CPU. The host does not read it */
} lockstep_buffer;

enum {
  LOCKSTEP_BUCKET_LAST = 1,  /* no bucket follows in this step */
  LOCKSTEP_BUCKET_SHADOW = 2 /* this rank has no inputs (join): zeros go in, the result is dropped */
};

/* The gradients of some parameters, one after the other in one flat buffer. Valid until
 * complete(). The averaged gradients are to stand in `flat` then. */
typedef struct lockstep_bucket {
  uint32_t struct_size;
  uint32_t index, count; /* this bucket, and how many a step has */
  uint32_t flags;        /* LOCKSTEP_BUCKET_LAST, ... */
  uint64_t step;         /* iteration, from 0; goes on after a resume */
  uint64_t layout;       /* another number after the buckets were rebuilt */
  double divisor;        /* the mean is the sum over ranks divided by this */
  lockstep_buffer flat;
  uint32_t param_count;
  const uint32_t *param_ids; /* stable over layouts: key state by these, not by `index` */
  const int64_t *offsets;    /* of each parameter in flat, in elements */
  const int64_t *lengths;    /* elements of each parameter */
  const uint32_t *dims;      /* number of dimensions of each */
  const int64_t *const *shapes;
} lockstep_bucket;

/* ---- Communication ------------------------------------------------------------------------- */

/* The ranks that take part. Each function queues one operation and returns at once; the hook's
 * resume() is called with `stage`, a number of the hook's choice, when it is done. Operations of a
 * run are carried out and resumed in the order in which they were queued, which must be the same
 * on every rank of the group, with equal sizes, dtypes and operations. Buffers belong to the host
 * until resume(); they lie in the bucket, in scratch(), or in memory that the hook keeps. One that
 * begins or ends outside of the bucket, scratch(), parameter or allocated memory that it lies in is
 * refused. What of memory that the hook keeps is in an operation that is never resumed, since its
 * run was cancelled, must be kept until destroy().
 * [strand], from within run(), resume() or a function of an extension that is handed a run. */
struct lockstep_group {
  uint32_t struct_size;
  int32_t rank, size;
  /* In place. */
  lockstep_status (*all_reduce)(const lockstep_group *, lockstep_run *, uint32_t stage,
                                const lockstep_buffer *inout, int32_t op);
  /* out holds `size` times in, by rank. */
  lockstep_status (*all_gather)(const lockstep_group *, lockstep_run *, uint32_t stage,
                                const lockstep_buffer *in, const lockstep_buffer *out);
  /* in holds `size` times out; this rank gets the reduction of its part. */
  lockstep_status (*reduce_scatter)(const lockstep_group *, lockstep_run *, uint32_t stage,
                                    const lockstep_buffer *in, const lockstep_buffer *out,
                                    int32_t op);
  lockstep_status (*broadcast)(const lockstep_group *, lockstep_run *, uint32_t stage,
                               const lockstep_buffer *inout, int32_t root);
  /* Part i of in goes to rank i, part i of out comes from it. The splits count elements, one for
   * each rank; both null: equal parts. */
  lockstep_status (*all_to_all)(const lockstep_group *, lockstep_run *, uint32_t stage,
                                const lockstep_buffer *in, const int64_t *in_splits,
                                const lockstep_buffer *out, const int64_t *out_splits);
  /* Sends `out` to rank `to` while `in` arrives from rank `from`; either may be null. The two
   * ranks of a pair must agree, the others need not know. */
  lockstep_status (*exchange)(const lockstep_group *, lockstep_run *, uint32_t stage,
                              const lockstep_buffer *out, int32_t to, const lockstep_buffer *in,
                              int32_t from);
};

/* ---- What the host gives -------------------------------------------------------------------- */

enum { LOCKSTEP_ENCODE = 1, LOCKSTEP_DECODE = 2 }; /* communication is timed by the host itself */
enum { LOCKSTEP_LOG_INFO = 1, LOCKSTEP_LOG_WARNING = 2 };

struct lockstep_host {
  uint32_t struct_size;
  void *data; /* the host's own */
  const char *name, *version;
  /* Returns a table of functions, or null. [any] */
  const void *(*extension)(const lockstep_host *, const char *id);
  /* [any] */
  void (*log)(const lockstep_host *, int32_t level, const char *text);
  /* Says why the call that now returns a negative number failed, or, with a run, that this run
   * has failed, which completes it. The text is copied. [any] */
  void (*fail)(const lockstep_host *, lockstep_run *or_null, lockstep_status, const char *text);
  /* Memory of this run, on the bucket's device, aligned to 64 bytes, placed where the group
   * communicates best; freed after complete(). `dtype` and `numel` are given back in `out`.
   * [strand] */
  lockstep_status (*scratch)(lockstep_run *, int64_t numel, int32_t dtype, lockstep_buffer *out);
  /* Begins (1) or ends (0) a phase, in place of what the host infers: encoding lasts from a call
   * into the hook to the first operation it queues, decoding from the last operation's end to
   * complete(). [strand] */
  void (*mark)(lockstep_run *, int32_t phase, int32_t begin);
  /* Records a number of this step, "kept"; those of a key that its buckets give are added up, so
   * give a squared norm, not a norm. [strand] */
  void (*counter)(lockstep_run *, const char *key, double value);
  /* Says that this run will queue no further operation, so that those of the next bucket need
   * not wait for complete(), which says it, too. Runs communicate in the order of their buckets,
   * one after the other up to this call. [strand] */
  void (*no_more)(lockstep_run *);
  /* Says that the result stands in `flat`, so that the step may go on while operations of this
   * run, on memory of the hook's own, still do (a delayed exchange). The bucket is gone after.
   * complete() follows, perhaps steps later. [strand] */
  void (*result_ready)(lockstep_run *);
  /* Ends a run, exactly once, with all its operations resumed. [strand] */
  void (*complete)(lockstep_run *);
  /* A pointer of the plugin's own for this run, null at first. [strand] */
  void **(*slot)(lockstep_run *);
  /* Makes a group of some ranks of the world, in ascending order; to be called in create(), by
   * every rank with the same list, in the same order. A rank that is not in the list gets null.
   * Lives as long as the hook. [host] */
  lockstep_status (*subgroup)(const lockstep_host *, const int32_t *ranks, uint32_t count,
                              const lockstep_group **out);
  /* The group of all ranks. [any] */
  const lockstep_group *(*world)(const lockstep_host *);
};

/* "lockstep.inner/1", of the host: present if the experiment put another hook inside this one.
 * Averages a buffer by that hook, as one operation of this run: resume(stage) follows. The buffer
 * has as many elements as the bucket, in the same order, in a dtype of the hook's choice. */
typedef struct lockstep_ext_inner {
  uint32_t struct_size;
  lockstep_status (*run)(lockstep_run *, uint32_t stage, const lockstep_buffer *inout);
} lockstep_ext_inner;

/* "lockstep.math/1", of the host: arithmetic on buffers of any device it can communicate from, by
 * libtorch, in the order of the calls, on the stream of the run that goes on. Buffers of one call
 * lie on one device, but for copy, and do not overlap. Floating-point dtypes, but for allocate,
 * release, copy and fill. Results are those of libtorch's operators there, and a dtype that one of
 * them does not know is refused. What is wrong with a call is said when the function returns; what
 * a device makes of it may be seen later. Every host that gives runs gives it.
 * [strand]; allocate, release and copy also [host], in save() and load(). */
enum { LOCKSTEP_TRANSPOSED_A = 1, LOCKSTEP_TRANSPOSED_B = 2 };

typedef struct lockstep_ext_math {
  uint32_t struct_size;
  /* Memory of the hook's own on the device of `like`, of which nothing else is read: all zeros,
   * aligned to 64 bytes, until release() or destroy(). LOCKSTEP_E_MEMORY: there is not as much. */
  lockstep_status (*allocate)(const lockstep_host *, const lockstep_buffer *like, int64_t numel,
                              int32_t dtype, lockstep_buffer *out);
  /* Takes what allocate() gave, whole; anything else stays as it is. */
  void (*release)(const lockstep_host *, const lockstep_buffer *);
  /* out = in, of another dtype or on another device if they differ. Returns once the data is
   * there where `out` lies on the CPU and `in` does not, and when `in` may be changed where it is
   * the other way round. */
  lockstep_status (*copy)(const lockstep_host *, const lockstep_buffer *in,
                          const lockstep_buffer *out);
  lockstep_status (*fill)(const lockstep_host *, const lockstep_buffer *out, double value);
  /* inout *= factor, inout /= divisor */
  lockstep_status (*multiply)(const lockstep_host *, const lockstep_buffer *inout, double factor);
  lockstep_status (*divide)(const lockstep_host *, const lockstep_buffer *inout, double divisor);
  /* inout += factor * in, of one dtype */
  lockstep_status (*add_scaled)(const lockstep_host *, const lockstep_buffer *inout,
                                const lockstep_buffer *in, double factor);
  /* out = A B, of one dtype: A has m rows and k columns, B k rows and n columns, all row by row.
   * Transposed ones stand column by column. */
  lockstep_status (*matmul)(const lockstep_host *, const lockstep_buffer *a,
                            const lockstep_buffer *b, const lockstep_buffer *out, int64_t m,
                            int64_t k, int64_t n, uint32_t transposed);
} lockstep_ext_math;

/* ---- What the plugin gives ------------------------------------------------------------------- */

struct lockstep_hook {
  uint32_t struct_size;
  void *self; /* the plugin's own */
  /* Called for each bucket of a step, by index. Encodes, queues operations, returns. [strand] */
  lockstep_status (*run)(lockstep_hook *, lockstep_run *, const lockstep_group *world,
                         const lockstep_bucket *);
  /* An operation has ended. [strand] */
  lockstep_status (*resume)(lockstep_hook *, lockstep_run *, uint32_t stage);
  /* A run ends early, since a rank or an operation failed: free what belongs to it, but for memory
   * that operations may still be at work in. No call for it follows. May be null. [strand] */
  void (*cancel)(lockstep_hook *, lockstep_run *);
  /* May be null. [host] */
  const void *(*extension)(lockstep_hook *, const char *id);
  /* No run is in flight, and no operation. The last call of all. [strand] */
  void (*destroy)(lockstep_hook *);
};

enum { LOCKSTEP_BOOL = 1, LOCKSTEP_INT = 2, LOCKSTEP_REAL = 3, LOCKSTEP_CHOICE = 4, LOCKSTEP_TEXT = 5 };
enum {
  LOCKSTEP_PARAM_LIVE = 1,     /* may change during a run: lockstep.live-params/1 */
  LOCKSTEP_PARAM_ADVANCED = 2, /* shown in a form when asked for */
  LOCKSTEP_PARAM_LOG_SCALE = 4
};

/* Static: a form, a checker and the hook share it. Numbers of every type are doubles. */
typedef struct lockstep_param {
  uint32_t struct_size;
  const char *key, *label, *help;
  const char *unit; /* or null */
  int32_t type;     /* LOCKSTEP_BOOL, ... */
  uint32_t flags;   /* LOCKSTEP_PARAM_LIVE, ... */
  double min, max, initial;
  const char *initial_text;   /* of a text or choice */
  const char *const *choices; /* of a choice; ends with a null */
} lockstep_param;

typedef struct lockstep_value {
  const char *key;
  int32_t type;
  double number;    /* bool (0, 1), int, real */
  const char *text; /* choice, text; else null */
} lockstep_value;

enum {
  LOCKSTEP_CAP_SAME_RESULT = 2,  /* every rank ends with the same bits */
  LOCKSTEP_CAP_LOCAL_RESULT = 4, /* ranks may end with different gradients, on purpose */
  LOCKSTEP_CAP_JOIN = 8,         /* ranks that ran out of inputs may shadow it */
  LOCKSTEP_CAP_INNER = 16        /* takes another hook inside */
};

typedef struct lockstep_hook_info {
  uint32_t struct_size;
  uint32_t caps;
  uint32_t dtypes;  /* of buckets it takes: 1 << LOCKSTEP_F32 | ... */
  uint32_t devices; /* 1 << LOCKSTEP_CPU | ... */
  const char *id, *name, *vendor, *version, *summary;
  /* How far the result may be from the mean, in units of its root mean square over the bucket,
   * for normal gradients in one step without history; negative: it makes no promise. */
  double mean_error;
  uint32_t param_count;
  const lockstep_param *const *params;
} lockstep_hook_info;

typedef struct lockstep_plugin {
  uint32_t struct_size;
  uint32_t abi_minor;                    /* LOCKSTEP_ABI_MINOR of the header it was built with */
  lockstep_status (*init)(const char *path); /* once, before the others; may be null. [host] */
  void (*deinit)(void);                  /* once, after the last hook; may be null. [host] */
  uint32_t (*hook_count)(void);
  const lockstep_hook_info *(*hook_info)(uint32_t index);
  /* `values`: one for each of the hook's params. [host] */
  lockstep_status (*create)(const lockstep_host *, const char *id, const lockstep_value *values,
                            uint32_t count, lockstep_hook **out);
} lockstep_plugin;

#define LOCKSTEP_PLUGIN_SYMBOL "lockstep_comm_hook_plugin_v1"
__attribute__((visibility("default"))) extern const lockstep_plugin lockstep_comm_hook_plugin_v1;

/* ---- Extensions of a hook -------------------------------------------------------------------- */

/* "lockstep.state/1": saved with every checkpoint by each rank, between steps. `load` may refuse
 * another schema or world size with LOCKSTEP_E_STATE. [host] */
typedef struct lockstep_writer {
  void *context;
  lockstep_status (*write)(void *context, const void *bytes, uint64_t size);
} lockstep_writer;
typedef struct lockstep_reader {
  void *context;
  uint64_t left; /* bytes that have not been read */
  lockstep_status (*read)(struct lockstep_reader *, void *bytes, uint64_t size); /* all or an error */
} lockstep_reader;
typedef struct lockstep_ext_state {
  uint32_t struct_size;
  uint32_t schema;
  lockstep_status (*save)(lockstep_hook *, const lockstep_writer *);
  lockstep_status (*load)(lockstep_hook *, uint32_t schema, int32_t world_size, lockstep_reader *);
} lockstep_ext_state;

/* "lockstep.replicas/1": the hook lets replicas drift: between steps the ranks may hold different
 * parameters, by design, with whatever values its live parameters have. A hook without it is held
 * to equal replicas, and a run of which they differ ends as diverged. [host], once after create() */
typedef struct lockstep_ext_replicas {
  uint32_t struct_size;
  int32_t (*drift)(lockstep_hook *); /* non-zero: they drift, with the values it was created with */
} lockstep_ext_replicas;

/* "lockstep.live-params/1": a parameter with LOCKSTEP_PARAM_LIVE, between steps, on every rank
 * before the same step. [host] */
typedef struct lockstep_ext_live_params {
  uint32_t struct_size;
  lockstep_status (*set)(lockstep_hook *, const lockstep_value *);
} lockstep_ext_live_params;

/* All parameters of the model, as they are now. `value` stays where it is until the step's last
 * call, so that a hook that owns the update may step a parameter in run(), once its bucket is
 * averaged: no operator of the backward reads it any more. */
typedef struct lockstep_parameter {
  uint32_t struct_size;
  uint32_t id; /* as in lockstep_bucket */
  const char *name;
  lockstep_buffer value;
  lockstep_buffer gradient; /* data is null when there is none */
  uint32_t dims;
  const int64_t *shape;
} lockstep_parameter;
typedef struct lockstep_step {
  uint32_t struct_size;
  uint32_t param_count;
  uint64_t step;
  const lockstep_parameter *const *params;
} lockstep_step;

/* "lockstep.step/1": what a hook does around a step, where it may communicate as in run(), and
 * ends with complete(). The host waits for it. All may be null. [strand] */
typedef struct lockstep_ext_step {
  uint32_t struct_size;
  lockstep_status (*before_forward)(lockstep_hook *, lockstep_run *, const lockstep_group *,
                                    const lockstep_step *);
  lockstep_status (*after_optimizer)(lockstep_hook *, lockstep_run *, const lockstep_group *,
                                     const lockstep_step *);
  lockstep_status (*end_of_run)(lockstep_hook *, lockstep_run *, const lockstep_group *,
                                const lockstep_step *);
} lockstep_ext_step;

/* "lockstep.optimizer/1": the hook learns what the optimizer does, and may do it itself. */
enum { LOCKSTEP_SGD = 1, LOCKSTEP_ADAM = 2, LOCKSTEP_ADAMW = 3 };
typedef struct lockstep_optimizer_info {
  uint32_t struct_size;
  int32_t kind;
  double learning_rate, weight_decay;
  double momentum, dampening; /* SGD */
  int32_t nesterov;
  double beta1, beta2, epsilon; /* Adam, AdamW */
} lockstep_optimizer_info;
typedef struct lockstep_ext_optimizer {
  uint32_t struct_size;
  /* Before the first step, and between steps after a change. May refuse. [host] */
  lockstep_status (*configure)(lockstep_hook *, const lockstep_optimizer_info *);
  /* Non-zero: the host does not step; update() is called in its place, after all buckets. */
  int32_t (*owns_update)(lockstep_hook *); /* [host], after configure */
  lockstep_status (*update)(lockstep_hook *, lockstep_run *, const lockstep_group *,
                            const lockstep_step *); /* [strand]; null if it owns nothing */
} lockstep_ext_optimizer;

#ifdef __cplusplus
}
#endif
#endif
