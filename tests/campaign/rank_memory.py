"""What a living rank says of itself: its last words and its newest events, read from the event
memory that its supervisor mapped (engine/trace/Segment.h)."""

import mmap
import os
import struct

MAGIC, VERSION = 0x3150_4554_534B_4C, 1
PAGE = 4096
LANE_HEADER = struct.Struct("<Q56xQ56xQ32s24x")  # head, tail, dropped, name
EVENT = struct.Struct("<QQIHHQ")

# engine/trace/Event.h
STARTUP, STEP, FORWARD, BACKWARD, JOIN_SHADOW = 1, 10, 12, 13, 20
BUCKET_LAUNCHED, FINALIZE, FAULT = 33, 36, 110
BUCKETS_STAGE = 4
UNEVEN = 5


class RankMemory:
    """The event memory of one process, as long as it lives. Raises OSError when it is gone."""

    def __init__(self, pid):
        folder = f"/proc/{pid}/fd"
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.readlink(path).startswith("/memfd:lockstep-trace"):
                with open(path, "rb") as file:
                    self.memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
                break
        else:
            raise OSError(f"process {pid} has no event memory")
        magic, version, self.lanes, self.ring, self.messages = struct.unpack_from(
            "<QIIII", self.memory, 0)
        if (magic, version) != (MAGIC, VERSION):
            raise OSError(f"process {pid}: event memory of version {version}")

    def step(self):
        return struct.unpack_from("<I", self.memory, PAGE)[0]

    def phase(self):
        """EventKind of the open phase, 0 between steps."""
        return struct.unpack_from("<H", self.memory, PAGE + 4)[0]

    def startup_stage(self):
        return struct.unpack_from("<H", self.memory, PAGE + 6)[0]

    def lane(self, name):
        """Returns (head, offset of the first event) of a lane, or None before it is made."""
        size = LANE_HEADER.size + EVENT.size * self.ring
        for index in range(struct.unpack_from("<I", self.memory, 24)[0]):
            at = 2 * PAGE + self.messages + index * size
            head, _, _, label = LANE_HEADER.unpack_from(self.memory, at)
            if label.rstrip(b"\0").decode() == name:
                return head, at + LANE_HEADER.size
        return None

    def newest(self, name):
        """Yields (kind, step, bucket, detail) of a lane's events, the newest first."""
        found = self.lane(name)
        if found is None:
            return
        head, first = found
        for number in range(head - 1, max(head - self.ring, 0) - 1, -1):
            _, packed, step, bucket, detail, _ = EVENT.unpack_from(
                self.memory, first + number % self.ring * EVENT.size)
            yield packed >> 48, step, bucket, detail
