"""The kernels of compression beside a plain copy of the same gradients."""

import json
import statistics
import subprocess

from figures import interval

ROUNDS = 30

# Part of a copy's speed that these must reach with the processor's best instructions.
REQUIRED = 0.4
BOUND = {"fp16_encode", "fp16_decode", "int8_encode", "int8_decode", "sign_pack", "sign_add"}


def kernels(options):
    """Compression kernels on 25 MiB of fp32 gradients, one core, beside a copy of the same buffer:
    GB of gradients a second of processor time, whatever a kernel reads and writes, and its part of
    the copy's; fp16, int8 and signs must reach 0.4 with the processor's best instructions."""
    out = subprocess.run([options.bin / "bench_kernels", str(options.rounds or ROUNDS)], check=True,
                         capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    best = rows[-1]["set"]  # the sets are listed from the plainest on
    lines, results, missed = [], [], []
    for row in rows:
        shares = [copy / own for own, copy in zip(row["kernel_ms"], row["copy_ms"])]
        rate, copy_rate = (row["bytes"] / statistics.median(row[key]) / 1e6
                           for key in ("kernel_ms", "copy_ms"))
        share, (low, high) = statistics.median(shares), interval(shares)
        bound = row["set"] == best and row["kernel"] in BOUND
        is_missed = bound and share < REQUIRED
        lines.append(f"{row['kernel']:12} {row['set']:8} {rate:7.2f} GB/s, copy {copy_rate:6.2f}: "
                     f"{share:5.2f} [{low:.2f}, {high:.2f}]"
                     + (f"  MISSED: at least {REQUIRED}" if is_missed else ""))
        results.append({"kernel": row["kernel"], "set": row["set"], "gb_per_s": rate,
                        "copy_gb_per_s": copy_rate, "of_copy": share, "interval": [low, high],
                        "rounds": len(shares)})
        if is_missed:
            missed.append(f"{row['kernel']} reaches {share:.2f} of a copy's speed, not {REQUIRED}")
    return {"name": "kernels", "unit": "GB/s", "kernels": results, "lines": lines,
            "missed": missed}
