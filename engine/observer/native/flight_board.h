#ifndef LOCKSTEP_OBSERVER_FLIGHT_BOARD_H
#define LOCKSTEP_OBSERVER_FLIGHT_BOARD_H

/* The collectives of one process group that are under way, and what becomes of a backward's
 * buckets. No Python in it. Flights begin, and are followed, by one thread at a time: Python's lock
 * brings it about, and of a backward that is taken unseen its thread queues all. Threads of Gloo's
 * tell of theirs without that lock. */

#include <pthread.h>

#include "observer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { kLanes = 2, kOpen = 256, kBuckets = 4096, kAllreduce = 2 };

typedef struct {
  long long key; /* c10d's number of the operation; -1: free */
  uint64_t queued;
  uint64_t began;  /* where that was heard; else 0 */
  uint64_t latest; /* it had ended by then, whenever we hear of it; 0: not known */
  uint64_t bytes;
  uint32_t step;
  uint32_t sequence;
  uint16_t bucket;
  uint8_t operation;
  uint8_t heard; /* the thread that does it tells of it: nobody follows a future */
  uint32_t life; /* so that who was told of an earlier flight of this place is not heard */
  int call;      /* place of the hook's call that queued it; -1: none */
  int lane;      /* of the thread that tells of it, once that has begun; else -1 */
} lk_flight;

/* A thread that tells of what it does. It does one thing after the other, so what it does stands in
 * one lane, from where it began, however late the thread gets to tell of its end. */
typedef struct {
  int lane;      /* -1: it has told nothing yet */
  int place;     /* of the flight that it does; -1: none */
  uint32_t life; /* of that */
} lk_teller;

/* The flight of a bucket, also after it has ended. */
typedef struct {
  uint64_t queued;
  uint64_t ended; /* 0: under way, as far as we know */
  uint64_t bytes;
  int place;
  uint32_t life;
} lk_flown;

/* A call of the user's communication hook, which does not say itself what it does when. Of its
 * result and of its collectives we hear on threads that may come late and in any order: it is over
 * when the last of them has told, even if its bucket's next call has begun by then. */
typedef struct {
  uint64_t given;  /* the bucket, to the hook; 0: the place is free */
  uint64_t queued; /* its first collective; 0: none was seen */
  uint64_t ended;  /* its last one, as far as we hear */
  uint64_t done;   /* its result; 0: not yet */
  uint64_t bytes;
  uint32_t step;
  uint32_t life; /* so that who was told of an earlier call of this place is not heard */
  uint16_t bucket;
  int flying; /* its collectives that are under way */
} lk_hook_call;

/* How threads that tell by themselves are brought to it. Called by the thread that queues, `listen`
 * with the board locked. */
typedef struct {
  int (*hears)(void);          /* whether they can tell of what this thread queues */
  void (*listen)(int listens); /* they are to tell of what it queues from here on, or need not */
} lk_listener;

typedef struct {
  pthread_mutex_t mutex;
  lk_observer* observer;
  lk_lane* queue;
  lk_lane* lanes[kLanes];
  uint64_t free_from[kLanes]; /* Gloo and NCCL do not tell when they began: first in, first out */
  int lane_count;
  unsigned group;
  unsigned ranks; /* of the group */
  uint32_t step;
  uint32_t sequence;
  lk_flight open[kOpen];
  int used; /* places that ever were: one behind the last of them */
  int open_count;
  int followed;                /* of those under way, that are not heard */
  int tellers;                 /* threads that have told of something */
  int hears;                   /* allreduces are */
  const lk_listener* listener; /* NULL: nobody has to be told */
  uint64_t expected[kBuckets]; /* elements of the buckets whose allreduces come, in their order */
  lk_flown flown[kBuckets];
  int expected_count;
  int known_count;    /* of the backward that `exact` is about */
  int next;           /* bucket that is expected */
  int asked_for;      /* operations since the buckets were expected */
  int unheard;        /* of this backward's operations */
  int exact;          /* backwards in a row that asked for their buckets alone, and were heard */
  int assumed;        /* of this backward's operations, that nobody looked at */
  lk_lane* hook_lane; /* NULL until a hook is called */
  lk_hook_call calls[kOpen];
  int hooking; /* place of the call that runs now; -1: none */
} lk_board;

/* `name`: of the backend. `ranks`: how many the group has. `own_lane`: the one lane that all
 * flights of a subgroup are told in, however many fly at a time; NULL: as many lanes as run at a time. */
void lk_board_make(lk_board* board, lk_observer* observer, const char* name, int lanes,
                   unsigned group, unsigned ranks, const char* own_lane);

/* That of the flight under way with this key; NULL where there is none. */
lk_flight* lk_board_find(lk_board* board, long long key);

/* The bucket that an operation on so many elements is of: the n-th allreduce of a backward with the
 * n-th bucket's number of elements; -1: none. */
int lk_board_bucket_of(const lk_board* board, long operation, uint64_t elements);

/* The buckets that a backward will reduce have so many elements, in their order. */
void lk_board_expect(lk_board* board, const uint64_t* elements, int count);

/* Whether the operations of the backward whose buckets are expected can be taken for these unseen,
 * since the backwards before it asked for their buckets, in their order, and nothing else, and were
 * heard: to look costs a job of Python's more than all the rest. Every so often one is looked at
 * all the same. */
int lk_board_assumes(lk_board* board);

/* An operation that was queued then, unseen but for whether it is an allreduce: the next bucket's.
 * One behind the last bucket is told of as of 0 bytes, and what nobody hears is not told of:
 * lk_board_waited() says so. */
void lk_board_take(lk_board* board, uint64_t queued, int is_allreduce);

/* Whether the next flight of this operation will be heard. What else is under way may queue
 * allreduces of its own, so that these would be taken for it. */
int lk_board_hears(const lk_board* board, long operation);

/* Whether a flight is under way that somebody has to follow. */
int lk_board_follows(const lk_board* board);

/* A flight with this key that was queued then. `bucket`: -1 for none. NULL where hundreds are under
 * way: it is not told of. */
lk_flight* lk_board_begin(lk_board* board, long long key, uint64_t queued, uint8_t operation,
                          uint64_t bytes, int bucket);

/* What stands in a place of the board, under way or not; NULL where there is no such place. */
static inline lk_flight* lk_board_at(lk_board* board, long place) {
  return place >= 0 && place < kOpen ? &board->open[place] : NULL;
}

/* It has ended now, as far as we hear. */
void lk_board_end(lk_board* board, lk_flight* flight);

/* The same without a word of when: of what a device does in its own time. */
void lk_board_land(lk_board* board, lk_flight* flight);

/* What landed flew so, by the clock of its device. */
void lk_board_flew(lk_board* board, const lk_flight* flight, uint64_t queued, uint64_t ended);

/* From now on the threads that do allreduces tell of them, or no longer. */
void lk_board_hear(lk_board* board, int hears);

/* By such a thread: it begins with the oldest that is heard and has not begun, where there is one.
 * And: that has ended. */
void lk_board_heard_begin(lk_board* board, lk_teller* teller);
void lk_board_heard_end(lk_board* board, lk_teller* teller);

/* The user's hook is given a bucket: what is queued until it returns is about that. Returns the
 * place of the call, -1 where hundreds are under way: it is not told of. */
int lk_board_hook_begins(lk_board* board, int bucket, uint64_t bytes);

/* It has returned; `failed`: without a result. */
void lk_board_hook_returns(lk_board* board, int call, int failed);

/* The result of the call that had this life is there. */
void lk_board_hook_done(lk_board* board, int call, uint32_t life);

/* DDP has waited for all buckets that are under way, whenever we hear that they have ended. Returns 0
 * where something was taken unseen for a bucket in a backward that asked for more than its buckets,
 * or for less; it happens once at most, for from there on all is looked at. */
int lk_board_waited(lk_board* board);

/* What a backward that ended at `end` did with its buckets: `ready` is when the last gradient of
 * each was, 0 where it is not known, and `last` when the last of all was. */
void lk_board_tell_buckets(lk_board* board, lk_lane* lane, const uint64_t* ready, uint64_t last,
                           uint64_t end);

#ifdef __cplusplus
}
#endif

#endif
