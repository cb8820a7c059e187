"""Numbers of events as the run file has them: engine/trace/Event.h."""

STARTUP = 1
STEP = 10
DATA = 11
FORWARD = 12
BACKWARD = 13
OPTIMIZER = 14
EVALUATE = 15
CHECKPOINT = 16
REBUILD_BUCKETS = 18
GRADIENT_READY = 30
BUCKET_READY = 32
BUCKET_LAUNCHED = 33
WAIT = 34
FINALIZE = 36
COLLECTIVE_QUEUED = 70
COLLECTIVE = 71
LOSS = 90

NO_BUCKET = 0xFFFF

# Operations of a collective.
BROADCAST, ALLREDUCE, REDUCE, ALLGATHER, GATHER, SCATTER = 1, 2, 3, 4, 5, 6
REDUCE_SCATTER, ALLTOALL, SEND, RECV, BARRIER = 7, 8, 9, 10, 11

# Stages of the start-up.
STAGE_RENDEZVOUS = 1
STAGE_MODEL = 3
STAGE_BUCKETS = 4


def collective(sequence: int, payload: int) -> int:
    """A collective's sequence number in its group, and its payload in bytes."""
    return (sequence & 0xFFFFFF) << 40 | (payload & 0xFFFFFFFFFF)


def operation(number: int, group: int = 0) -> int:
    """An operation, and the number of its group; 0 is the default one."""
    return (group & 0xFF) << 8 | number
