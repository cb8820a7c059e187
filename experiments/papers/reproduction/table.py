"""The table of the README: every figure, what is expected of it and what was seen."""

import json

BEGIN = "<!-- figures: experiments/papers/reproduce --table -->"
END = "<!-- end of figures -->"


class TableError(Exception):
    pass


def row(figure, verdict):
    files = ", ".join(f"[{file.rsplit('/', 1)[-1]}]({file}.toml)" for file in figure.files)
    seen = "not run" if verdict is None else f"**{verdict['word']}**: {verdict['seen']}"
    return f"| {figure.name} | {figure.paper} | {files} | {figure.shape} | {seen} |"


def markdown(figures, results):
    """`results`: of each figure that was run, its verdict in words and where it was measured."""
    machines = sorted({result["machine"] for result in results.values()})
    return "\n".join([f"Measured on {' and on '.join(machines) or 'no machine yet'}. In brackets "
                      "the 95 % interval of a median over steps.", "",
                      "| figure | paper | files | published shape | seen here |",
                      "| --- | --- | --- | --- | --- |",
                      *(row(figure, results.get(figure.name)) for figure in figures), ""])


def write(figures, results, path):
    """Puts the table between the marks of a file, and keeps what stands around them."""
    old = path.read_text(encoding="utf-8")
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise TableError(f"{path} lacks the marks {BEGIN} and {END}, in this order")
    path.write_text(f"{before}{BEGIN}\n{markdown(figures, results)}{END}{after}", encoding="utf-8")


def read_results(path):
    """The verdicts of earlier figures, by name; none where there is no file yet."""
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        if not all({"word", "seen", "machine"} <= set(one) for one in results.values()):
            raise ValueError("a verdict is not whole")
        return results
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise TableError(f"{path} has no verdicts: {error}; remove it to begin anew") from None


def write_results(results, path):
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
