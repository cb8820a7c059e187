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
  kDerived = 0x4000
};

static uint64_t collective(const lk_flight* flight) {
  return (uint64_t)(flight->sequence & 0xFFFFFFu) << 40 | (flight->bytes & UINT64_C(0xFFFFFFFFFF));
}

static uint16_t detail(const lk_board* board, const lk_flight* flight) {
  return (uint16_t)((board->group & 0xFFu) << 8 | flight->operation);
}

void lk_board_make(lk_board* board, lk_observer* observer, const char* name, int lanes,
                   unsigned group, const char* own_lane) {
  board->observer = observer;
  board->group = group;
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
}

lk_flight* lk_board_place(lk_board* board, long long key) {
  for (int i = 0; i < kOpen; ++i) {
    if (board->open[i].key < 0) {
      board->open[i].key = key;
      return &board->open[i];
    }
  }
  return NULL;
}

lk_flight* lk_board_find(lk_board* board, long long key) {
  for (int i = 0; i < kOpen; ++i) {
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
  for (int i = 0; i < kOpen && board->open_count > 0; ++i) {
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

void lk_board_begin(lk_board* board, lk_flight* flight, uint8_t operation, uint64_t bytes,
                    int bucket) {
  flight->operation = operation;
  flight->bytes = bytes;
  flight->step = board->step;
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
  lk_observer_sent(board->observer, bytes);
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
  --board->open_count;
  tell_oldest(board);
}

void lk_board_flew(lk_board* board, const lk_flight* flight, uint64_t queued, uint64_t ended) {
  int lane = 0;
  for (int i = 1; i < board->lane_count; ++i) {
    lane = board->free_from[i] < board->free_from[lane] ? i : lane;
  }
  uint64_t began = queued > board->free_from[lane] ? queued : board->free_from[lane];
  began = began < ended ? began : ended;
  board->free_from[lane] = ended;
  lk_lane_span(board->lanes[lane], kCollective, began, ended, flight->step, flight->bucket,
               collective(flight), detail(board, flight));
}

void lk_board_end(lk_board* board, lk_flight* flight) {
  uint64_t ended = lk_observer_ticks(board->observer);
  /* Who waited for it may have gone on before this thread got the interpreter. */
  if (flight->latest != 0 && flight->latest < ended) {
    ended = flight->latest;
  }
  lk_board_flew(board, flight, flight->queued, ended);
  free_place(board, flight, ended);
}

void lk_board_land(lk_board* board, lk_flight* flight) {
  free_place(board, flight, lk_observer_ticks(board->observer));
}

int lk_board_hook_begins(lk_board* board, int bucket, uint64_t bytes) {
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

void lk_board_hook_returns(lk_board* board, int call, int failed) {
  board->hooking = -1;
  if (!failed || call < 0) {
    return;
  }
  board->calls[call].given = 0;
  for (int i = 0; i < kOpen; ++i) { /* of another call in this place they are none */
    board->open[i].call = board->open[i].call == call ? -1 : board->open[i].call;
  }
}

void lk_board_hook_done(lk_board* board, int call, uint32_t life) {
  lk_hook_call* done = &board->calls[call];
  if (done->life == life && done->given != 0 && done->done == 0) {
    done->done = lk_observer_ticks(board->observer);
    tell_call(board, done);
  }
}

void lk_board_tell_buckets(lk_board* board, lk_lane* lane, const uint64_t* ready, uint64_t last,
                           uint64_t end) {
  /* DDP waits for its buckets in order, once the last one is under way. */
  uint64_t until = last;
  for (int bucket = 0; bucket < board->next; ++bucket) {
    until = board->flown[bucket].queued > until ? board->flown[bucket].queued : until;
  }
  for (int bucket = 0; bucket < board->next; ++bucket) {
    const lk_flown* flown = &board->flown[bucket];
    lk_flight* flight = &board->open[flown->place];
    if (flown->ended == 0 && flight->key >= 0 && flight->life == flown->life) {
      flight->latest = end; /* DDP had waited for it by then */
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
}
