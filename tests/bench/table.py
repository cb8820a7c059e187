"""The results as a table in Markdown."""

BEGIN = "<!-- figures: tests/bench/run --table -->"
END = "<!-- end of figures -->"


def number(value):
    """Four digits, and no exponent for what people read."""
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    digits = 4
    whole = len(str(int(value))) if value >= 1 else 0
    return f"{value:.{max(0, digits - whole - (whole == 0))}f}"


def amount(value, unit):
    if value is None:
        return "–"
    if unit == "ms" and value < 0.1:
        return f"{1000 * value:.2f} µs"
    return f"{number(value)} {unit}".strip()


def spread(interval):
    return "" if interval is None else f" [{interval[0]:.2f}, {interval[1]:.2f}]"


def asked_text(asked):
    unit = asked["unit"] and " " + asked["unit"]
    text = f"{asked['what']} {'≥' if asked['least'] else '≤'} {asked['limit']:g}{unit}: "
    if asked["value"] is None:
        return text + "unknown"
    return text + f"{number(asked['value'])}{unit}, {'met' if asked['met'] else '**missed**'}"


def row(result):
    remarks = []
    if result.get("gap_closed") is not None and result.get("gap_interval") is not None:
        low, high = result["gap_interval"]
        remarks.append(f"{100 * result['gap_closed']:.0f} % of the gap closed "
                       f"[{100 * low:.0f}, {100 * high:.0f}]")
    remarks += [asked_text(asked) for asked in result.get("asked", [])]
    unit = result["unit"]
    own = amount(result["ours"], unit)
    if result.get("ratio") is None:
        own += spread(result.get("interval"))
    cells = [result.get("title", result["name"]), own + named(result, "ours"),
             amount(result.get("peer"), unit) + named(result, "peer"),
             amount(result.get("bound"), unit),
             "–" if result.get("ratio") is None
             else f"{result['ratio']:.2f}{spread(result['interval'])}",
             "; ".join(remarks)]
    return "| " + " | ".join(cells) + " |"


def named(result, which):
    name = result.get(which + "_name")
    return f" ({name})" if name else ""


def markdown(results):
    """Those with a figure of ours, and where they were taken; `results` as in the JSON file."""
    rows = [row(result) for result in results["benchmarks"] if result.get("ours") is not None]
    where = results["machine"]
    return "\n".join([
        f"{where['processor']}, {where['cores']} cores, {where['memory_gb']} GB, Linux "
        f"{where['kernel']}; commit {where['commit']}, libtorch {where['libtorch']}, PyTorch "
        f"{where['pytorch']}, Gloo {where['gloo']}, OpenMPI {where['openmpi']}. Medians, in turns; "
        "in brackets the 95 % bootstrap interval.",
        "",
        "| what | Lockstep | peer | bound | peer / Lockstep | |",
        "| --- | --- | --- | --- | --- | --- |",
        *rows, ""])


def write(results, path):
    """Writes the table to a file of its own, or in place of what stands between the marks of one
    that has them, as the README. Returns why it cannot, or nothing."""
    text = markdown(results)
    try:
        if path.exists():
            old = path.read_text()
            if BEGIN in old or END in old:
                before, mark, rest = old.partition(BEGIN)
                _, end, after = rest.partition(END)
                if not mark or not end:
                    return f"{path} has one of the marks {BEGIN} and {END}, not both in this order"
                text = f"{before}{BEGIN}\n{text}{END}{after}"
        path.write_text(text)
    except (OSError, UnicodeDecodeError) as error:
        return f"{path} cannot be written: {error}"
    return None
