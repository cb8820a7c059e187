#include "gloo_threads.h"

#include <stdbool.h>
#include <string.h>

/* at::RecordFunctionCallback, with room behind it for members that are false. */
typedef struct {
  void* (*start)(void** context, const void* function);
  void (*end)(const void* function, void* context);
  double sampling_probability;
  bool scopes[40];
} record_function_callback;

/* at::RecordFunctionTLS, as far as it is looked at: a std::vector of entries that begin with a
 * callback. */
typedef struct {
  const uintptr_t* begin;
  const uintptr_t* end;
} thread_state;

typedef uint64_t (*add_function)(record_function_callback callback);
typedef void (*remove_function)(uint64_t handle);
typedef const thread_state* (*state_function)(void);
typedef const char* (*name_function)(const void* function);

static lk_board* heard;
static add_function add_callback;
static remove_function remove_callback;
static state_function state_of_thread;
static name_function name_of;

/* What this thread does. */
static _Thread_local int listens_here;
static _Thread_local uint64_t handle; /* of the callback, where it is in the thread's state */
static _Thread_local lk_teller teller = {.lane = -1, .place = -1};
static _Thread_local int probes;

static int is_allreduce(const char* name) {
  return strcmp(name, "gloo:all_reduce") == 0 || strcmp(name, "gloo:sparse_all_reduce") == 0;
}

/* Returns a std::unique_ptr that is empty, by the place that it is given for it. */
static void* started(void** context, const void* function) {
  *context = NULL;
  const char* name = name_of(function);
  if (is_allreduce(name)) {
    lk_board_heard_begin(heard, &teller);
  } else if (strcmp(name, LK_GLOO_PROBE) == 0) {
    ++probes;
  }
  return context;
}

static void ended(const void* function, void* context) {
  (void)context;
  const char* name = name_of(function);
  if (teller.place >= 0 && is_allreduce(name)) {
    lk_board_heard_end(heard, &teller);
  } else if (strcmp(name, LK_GLOO_PROBE) == 0) {
    ++probes;
  }
}

static int hears(void) {
  return listens_here;
}

static int listens(void) {
  const thread_state* state = state_of_thread();
  const uintptr_t* word = state->begin;
  while (word < state->end && *word != (uintptr_t)started) {
    ++word;
  }
  return word < state->end;
}

static void listen(int whether) {
  if (!listens_here || listens() == whether) {
    return;
  }
  if (whether) {
    const record_function_callback callback = {
        .start = started, .end = ended, .sampling_probability = 1, .scopes = {[kUserScope] = true}};
    handle = add_callback(callback);
  } else {
    remove_callback(handle);
  }
}

int lk_gloo_listen(lk_board* board, const lk_recorded_functions* functions) {
  if (heard != NULL) {
    return 0;
  }
  heard = board;
  add_callback = (add_function)functions->add_callback;
  remove_callback = (remove_function)functions->remove_callback;
  state_of_thread = (state_function)functions->thread_state;
  name_of = (name_function)functions->name_of;
  static const lk_listener listener = {hears, listen};
  board->listener = &listener;
  listens_here = 1;
  listen(1);
  const int began = listens();
  listen(0);
  listens_here = began && !listens();
  listen(1);
  return listens_here;
}

int lk_gloo_probes(void) {
  return probes;
}
