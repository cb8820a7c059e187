#include "flight_board.h"

#include <stdio.h>

enum {
  kBucketReady = 32,
  kBucketLaunched = 33,
  kWait = 34,
  kHookEncode = 50,
  kHookCommunicate = 51,
  kHookDecode = 52,
  kCollectiveQueued = 70,
  kCollective = 71,
  kDerived = 0x4000,
  kExactEnough = 3,  /* backwards that were looked at, until one is not */
  kLookEvery = 64,   /* backwards */
  kNeverAgain = -1,
  kLongestStartNs = 1000000000 /* of an idle thread of Gloo's with what is queued */
};

static void lock(lk_board* board) {
  pthread_mutex_lock(&board->mutex);
}

static void unlock(lk_board* board) {
  pthread_mutex_unlock(&board->mutex);
}

static uint64_t collective(const lk_flight* flight) {
  return (uint64_t)(flight->sequence & 0xFFFFFFu) << 40 | (flight->bytes & UINT64_C(0xFFFFFFFFFF));
}

static uint16_t detail(const lk_board* board, const lk_flight* flight) {
  return (uint16_t)((board->group & 0xFFu) << 8 | flight->operation);
}

void lk_board_make(lk_board* board, lk_observer* observer, const char* name, int lanes,
                   unsigned group, unsigned ranks, const char* own_lane) {
  board->observer = observer;
  board->group = group;
  board->ranks = ranks;
  board->lane_count = lanes < 1 ? 1 : lanes > kLanes ? kLanes : lanes;
  char lane[64];
  snprintf(lane, sizeof(lane), "%s queue", name);
  board->queue = lk_observer_lane(observer, lane);
  for (int i = 0; i < board->lane_count; ++i) {
    snprintf(lane, sizeof(lane), "%s %d", name, i);
    board->lanes[i] = i > 0 && own_lane != NULL
                          ? board->lanes[0]
                          : lk_observer_lane(observer, own_lane != NULL ? own_lane : lane);
  }
  board->hooking = -1;
  for (int i = 0; i < kOpen; ++i) {
    board->open[i].key = -1;
  }
  pthread_mutex_init(&board->mutex, NULL);
}

static lk_flight* free_flight(lk_board* board) {
  for (int i = 0; i < kOpen; ++i) {
    if (board->open[i].key < 0) {
      board->used = i < board->used ? board->used : i + 1;
      return &board->open[i];
    }
  }
  return NULL;
}

/* How many threads are heard to be at work. */
static int count_begun(const lk_board* board) {
  int count = 0;
  for (int i = 0; i < board->used; ++i) {
    const lk_flight* flight = &board->open[i];
    count += flight->key >= 0 && flight->heard && flight->began != 0;
  }
  return count;
}

/* Gloo takes what is queued first in, first out. */
static lk_flight* next_heard(lk_board* board) {
  lk_flight* next = NULL;
  for (int i = 0; i < board->used; ++i) {
    lk_flight* flight = &board->open[i];
    const int waits = flight->key >= 0 && flight->heard && flight->began == 0;
    if (waits && (next == NULL || (int32_t)(flight->sequence - next->sequence) < 0)) {
      next = flight;
    }
  }
  return next;
}

lk_flight* lk_board_find(lk_board* board, long long key) {
  for (int i = 0; i < board->used; ++i) {
    if (board->open[i].key == key) {
      return &board->open[i];
    }
  }
  return NULL;
}

int lk_board_bucket_of(const lk_board* board, long operation, uint64_t elements) {
  const int is_next = operation == kAllreduce && board->next < board->expected_count &&
                      board->expected[board->next] == elements;
  return is_next ? board->next : -1;
}

static void tell_oldest(lk_board* board) {
  const lk_flight* oldest = NULL;
  for (int i = 0; i < board->used && board->open_count > 0; ++i) {
    const lk_flight* flight = &board->open[i];
    if (flight->key >= 0 && (oldest == NULL || flight->queued < oldest->queued)) {
      oldest = flight;
    }
  }
  if (oldest == NULL) {
    lk_observer_operation(board->observer, 0, LK_NO_BUCKET, 0, 0);
  } else {
    lk_observer_operation(board->observer, oldest->operation, oldest->bucket, oldest->sequence,
                          oldest->queued);
  }
}

int lk_board_hears(const lk_board* board, long operation) {
  return board->hears && operation == kAllreduce && board->followed == 0 &&
         (board->listener == NULL || board->listener->hears());
}

int lk_board_follows(const lk_board* board) {
  return board->followed > 0;
}

static void listen(const lk_board* board, int listens) {
  if (board->listener != NULL) {
    board->listener->listen(listens);
  }
}

void lk_board_expect(lk_board* board, const uint64_t* elements, int count) {
  lock(board);
  listen(board, 0);
  count = count < kBuckets ? count : kBuckets;
  int differs = count > 0 && count != board->known_count;
  for (int i = 0; i < count; ++i) {
    differs |= board->expected[i] != elements[i];
    board->expected[i] = elements[i];
  }
  if (differs) {
    board->known_count = count;
    board->exact = board->exact == kNeverAgain ? kNeverAgain : 0;
  }
  board->expected_count = count;
  board->next = 0;
  board->asked_for = 0;
  board->unheard = 0;
  board->assumed = 0;
  unlock(board);
}

/* What an optimal algorithm has a rank send, as nccl-tests reckon: the backend does not say. */
static uint64_t wire_bytes(const lk_board* board, uint8_t operation, uint64_t bytes) {
  if (board->ranks < 2) {
    return 0;
  }
  return operation == kAllreduce ? 2 * bytes * (board->ranks - 1) / board->ranks : bytes;
}

static void begin(lk_board* board, lk_flight* flight, uint8_t operation, uint64_t bytes,
                  int bucket) {
  flight->operation = operation;
  flight->bytes = bytes;
  flight->step = board->step;
  flight->heard = lk_board_hears(board, operation);
  if (flight->heard) {
    listen(board, 1);
  } else {
    ++board->followed;
    ++board->unheard;
  }
  flight->began = 0;
  flight->lane = -1;
  flight->sequence = board->sequence++;
  flight->latest = 0;
  flight->bucket = LK_NO_BUCKET;
  flight->call = board->hooking;
  ++flight->life;
  ++board->open_count;
  if (flight->call >= 0) { /* whatever a hook sends is about its bucket */
    lk_hook_call* call = &board->calls[flight->call];
    call->queued = call->queued == 0 ? flight->queued : call->queued;
    ++call->flying;
    bucket = call->bucket;
  }
  if (bucket >= 0 && bucket < kBuckets) {
    flight->bucket = (uint16_t)bucket;
    const lk_flown flown = {flight->queued, 0, bytes, (int)(flight - board->open), flight->life};
    board->flown[bucket] = flown;
    board->next = bucket + 1;
  }
  lk_lane_span(board->queue, kCollectiveQueued, flight->queued, flight->queued, flight->step,
               flight->bucket, collective(flight), detail(board, flight));
  lk_observer_sent(board->observer, wire_bytes(board, operation, bytes));
  if (board->open_count == 1) {
    tell_oldest(board);
  }
}

/* What a hook's call did when, once nothing of it is under way. */
static void tell_call(lk_board* board, lk_hook_call* call) {
  if (call->done == 0 || call->flying > 0) {
    return;
  }
  const uint64_t given = call->given;
  call->given = 0;
  lk_lane* lane = board->hook_lane;
  if (call->queued == 0) { /* it communicates nothing, or by a way of its own */
    lk_lane_span(lane, kHookEncode, given, call->done, call->step, call->bucket, call->bytes,
                 kDerived);
    return;
  }
  /* Who decoded may have had the interpreter before the thread that told of the collective. */
  const uint64_t ended = call->ended < call->done ? call->ended : call->done;
  lk_lane_span(lane, kHookEncode, given, call->queued, call->step, call->bucket, call->bytes,
               kDerived);
  lk_lane_span(lane, kHookCommunicate, call->queued, ended, call->step, call->bucket, call->bytes,
               kDerived);
  lk_lane_span(lane, kHookDecode, ended, call->done, call->step, call->bucket, call->bytes,
               kDerived);
}

/* Its place is free; what its bucket and its hook wait for was over at `ended`. */
static void free_place(lk_board* board, lk_flight* flight, uint64_t ended) {
  if (flight->bucket < board->next) {
    lk_flown* flown = &board->flown[flight->bucket];
    if (flown->place == flight - board->open && flown->life == flight->life) {
      flown->ended = ended;
    }
  }
  if (flight->call >= 0) {
    lk_hook_call* call = &board->calls[flight->call];
    call->ended = ended > call->ended ? ended : call->ended;
    --call->flying;
    tell_call(board, call);
  }
  flight->key = -1;
  board->followed -= flight->heard ? 0 : 1;
  --board->open_count;
  tell_oldest(board);
}

/* `queued`: or, where that was heard, when it began. */
static void flew(lk_board* board, const lk_flight* flight, uint64_t queued, uint64_t ended) {
  int lane = flight->lane >= 0 ? flight->lane : 0;
  for (int i = 1; flight->lane < 0 && i < board->lane_count; ++i) {
    lane = board->free_from[i] < board->free_from[lane] ? i : lane;
  }
  uint64_t began = queued > board->free_from[lane] ? queued : board->free_from[lane];
  began = began < ended ? began : ended;
  board->free_from[lane] = ended;
  lk_lane_span(board->lanes[lane], kCollective, began, ended, flight->step, flight->bucket,
               collective(flight), detail(board, flight));
}

static void end(lk_board* board, lk_flight* flight) {
  uint64_t ended = lk_observer_ticks(board->observer);
  /* Who waited for it may have gone on before this thread got the interpreter. */
  if (flight->latest != 0 && flight->latest < ended) {
    ended = flight->latest;
  }
  flew(board, flight, flight->began != 0 ? flight->began : flight->queued, ended);
  free_place(board, flight, ended);
}

/* Nobody tells of what was to be heard: from now on futures do. */
static void give_up_hearing(lk_board* board) {
  board->hears = 0;
  for (lk_flight* flight = next_heard(board); flight != NULL; flight = next_heard(board)) {
    end(board, flight);
  }
}

/* A collective is queued while a thread of Gloo's is free that should have begun with another. */
static void doubt_silence(lk_board* board, uint64_t now) {
  const lk_flight* next = board->hears && board->open_count > 0 ? next_heard(board) : NULL;
  if (next == NULL || count_begun(board) >= board->lane_count) {
    return;
  }
  const uint64_t longest = lk_observer_ticks_of(board->observer, kLongestStartNs);
  if (longest != 0 && now - next->queued > longest) { /* 0: the clock's rate is not known yet */
    give_up_hearing(board);
  }
}

static lk_flight* begin_in_free_place(lk_board* board, long long key, uint64_t queued,
                                      uint8_t operation, uint64_t bytes, int bucket) {
  ++board->asked_for;
  lk_flight* flight = free_flight(board);
  if (flight != NULL) {
    flight->key = key;
    flight->queued = queued;
    begin(board, flight, operation, bytes, bucket);
  }
  return flight;
}

lk_flight* lk_board_begin(lk_board* board, long long key, uint64_t queued, uint8_t operation,
                          uint64_t bytes, int bucket) {
  lock(board);
  doubt_silence(board, queued);
  lk_flight* flight = begin_in_free_place(board, key, queued, operation, bytes, bucket);
  unlock(board);
  return flight;
}

int lk_board_assumes(lk_board* board) {
  lock(board);
  const int assumes = board->exact >= kExactEnough && board->exact % kLookEvery != 0 &&
                      board->expected_count > 0 && board->hook_lane == NULL &&
                      lk_board_hears(board, kAllreduce);
  unlock(board);
  return assumes;
}

void lk_board_take(lk_board* board, uint64_t queued, int is_allreduce) {
  lock(board);
  doubt_silence(board, queued);
  ++board->assumed;
  const int is_next = board->next < board->expected_count;
  if (is_allreduce && lk_board_hears(board, kAllreduce)) {
    begin_in_free_place(board, 0, queued, kAllreduce, is_next ? board->flown[board->next].bytes : 0,
                        is_next ? board->next : -1);
  } else {
    ++board->asked_for;
  }
  unlock(board);
}

void lk_board_flew(lk_board* board, const lk_flight* flight, uint64_t queued, uint64_t ended) {
  lock(board);
  flew(board, flight, queued, ended);
  unlock(board);
}

void lk_board_end(lk_board* board, lk_flight* flight) {
  lock(board);
  end(board, flight);
  unlock(board);
}

void lk_board_land(lk_board* board, lk_flight* flight) {
  lock(board);
  free_place(board, flight, lk_observer_ticks(board->observer));
  unlock(board);
}

void lk_board_hear(lk_board* board, int hears) {
  lock(board);
  board->hears = hears;
  unlock(board);
}

void lk_board_heard_begin(lk_board* board, lk_teller* teller) {
  lock(board);
  lk_flight* flight = next_heard(board);
  teller->place = -1;
  if (flight != NULL) {
    if (teller->lane < 0) {
      teller->lane = board->tellers++ % board->lane_count;
    }
    teller->place = (int)(flight - board->open);
    teller->life = flight->life;
    flight->began = lk_observer_ticks(board->observer);
    flight->lane = teller->lane;
  }
  unlock(board);
}

void lk_board_heard_end(lk_board* board, lk_teller* teller) {
  lock(board);
  lk_flight* flight = lk_board_at(board, teller->place);
  if (flight != NULL && flight->key >= 0 && flight->heard && flight->life == teller->life) {
    end(board, flight);
  }
  teller->place = -1;
  unlock(board);
}

static int hook_begins(lk_board* board, int bucket, uint64_t bytes) {
  int place = 0;
  while (place < kOpen && board->calls[place].given != 0) {
    ++place;
  }
  if (place == kOpen || bucket < 0 || bucket >= kBuckets) {
    return -1;
  }
  if (board->hook_lane == NULL) {
    board->hook_lane = lk_observer_lane(board->observer, "hook");
  }
  lk_hook_call* call = &board->calls[place];
  const lk_hook_call begun = {.given = lk_observer_ticks(board->observer),
                              .bytes = bytes,
                              .step = board->step,
                              .life = call->life + 1,
                              .bucket = (uint16_t)bucket};
  *call = begun;
  board->hooking = place;
  return place;
}

int lk_board_hook_begins(lk_board* board, int bucket, uint64_t bytes) {
  lock(board);
  const int place = hook_begins(board, bucket, bytes);
  unlock(board);
  return place;
}

void lk_board_hook_returns(lk_board* board, int call, int failed) {
  lock(board);
  board->hooking = -1;
  if (failed && call >= 0) {
    board->calls[call].given = 0;
    for (int i = 0; i < board->used; ++i) { /* of another call in this place they are none */
      board->open[i].call = board->open[i].call == call ? -1 : board->open[i].call;
    }
  }
  unlock(board);
}

void lk_board_hook_done(lk_board* board, int call, uint32_t life) {
  lock(board);
  lk_hook_call* done = &board->calls[call];
  if (done->life == life && done->given != 0 && done->done == 0) {
    done->done = lk_observer_ticks(board->observer);
    tell_call(board, done);
  }
  unlock(board);
}

/* The flight of a bucket, where it is under way as far as we know; else NULL. */
static lk_flight* flight_of(lk_board* board, int bucket) {
  const lk_flown* flown = &board->flown[bucket];
  lk_flight* flight = &board->open[flown->place];
  return flown->ended == 0 && flight->key >= 0 && flight->life == flown->life ? flight : NULL;
}

/* Returns whether what was assumed of the backward that ends now holds. */
static int learn(lk_board* board) {
  if (board->exact == kNeverAgain || board->expected_count == 0) {
    return 1;
  }
  const int is_exact =
      board->asked_for == board->expected_count && board->next == board->expected_count;
  const int holds = is_exact || board->assumed == 0;
  board->exact = !holds ? kNeverAgain : is_exact && board->unheard == 0 ? board->exact + 1 : 0;
  return holds;
}

int lk_board_waited(lk_board* board) {
  lock(board);
  const int holds = learn(board);
  const uint64_t now = lk_observer_ticks(board->observer);
  for (int bucket = 0; bucket < board->next; ++bucket) {
    lk_flight* flight = flight_of(board, bucket);
    if (flight != NULL) {
      flight->latest = now;
    }
  }
  unlock(board);
  return holds;
}

void lk_board_tell_buckets(lk_board* board, lk_lane* lane, const uint64_t* ready, uint64_t last,
                           uint64_t end) {
  /* DDP waits for its buckets in order, once the last one is under way. */
  lock(board);
  uint64_t until = last;
  int is_silent = 0;
  for (int bucket = 0; bucket < board->next; ++bucket) {
    until = board->flown[bucket].queued > until ? board->flown[bucket].queued : until;
  }
  for (int bucket = 0; bucket < board->next; ++bucket) {
    const lk_flown* flown = &board->flown[bucket];
    lk_flight* flight = flight_of(board, bucket);
    if (flight != NULL) {
      flight->latest = flight->latest != 0 ? flight->latest : end;
      is_silent |= flight->heard && flight->began == 0;
    }
    const uint64_t ended = flown->ended != 0 ? flown->ended : end;
    const uint16_t of = (uint16_t)bucket;
    if (ready[bucket] != 0) {
      const uint64_t at = ready[bucket] < flown->queued ? ready[bucket] : flown->queued;
      lk_lane_span(lane, kBucketReady, at, at, board->step, of, flown->bytes, 0);
    }
    lk_lane_span(lane, kBucketLaunched, flown->queued, flown->queued, board->step, of, flown->bytes,
                 0);
    if (ended > until) {
      lk_lane_span(lane, kWait, until, ended, board->step, of, 0, 0);
      until = ended;
    }
  }
  if (is_silent) {
    give_up_hearing(board);
  }
  unlock(board);
}
