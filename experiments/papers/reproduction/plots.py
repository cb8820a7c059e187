"""A figure as a picture. Needs matplotlib; all else of this room does without."""

PACKAGE = "python3-matplotlib"
MARKS = "osD^vPX*"


def is_available():
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def _draw_panel(axes, panel, points):
    xs = sorted({point.x for point in points.all if point.panel == panel.y})
    places = {x: x if panel.numbers else place for place, x in enumerate(xs)}
    for number, series in enumerate(points.series_of(panel.y)):
        curve = points.curve(panel.y, series)
        values = [value.value for _, value in curve]
        reach = [[value.value - value.low for _, value in curve],
                 [value.high - value.value for _, value in curve]]
        axes.errorbar([places[x] for x, _ in curve], values, yerr=reach, label=series,
                      marker=MARKS[number % len(MARKS)], markersize=4, linewidth=1.2, capsize=2)
    if not panel.numbers:
        axes.set_xticks(list(places.values()), [panel.names.get(x, f"{x:g}") for x in xs])
        axes.margins(x=0.12)
    if panel.scale == "symlog":
        axes.set_yscale("symlog", linthresh=1e-3)
        axes.set_ylim(bottom=0)
    elif panel.scale == "log":
        axes.set_yscale("log")
    else:
        low, high = axes.get_ylim()
        axes.set_ylim(min(0, low), high + 0.08 * (high - min(0, low)))
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.grid(True, linewidth=0.3)
    axes.legend(fontsize=7)


def caption(points, cores):
    """Where it was measured: no figure goes without it."""
    ranks = ", ".join(str(count) for count in points.ranks())
    links = "; ".join(points.links()[:4]) + ("; ..." if len(points.links()) > 4 else "")
    return f"{cores} cores, {ranks} ranks on one host; link: {links}"


def draw(figure, points, verdict, cores, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    count = len(figure.panels)
    picture, all_axes = pyplot.subplots(1, count, figsize=(1.0 + 4.6 * count, 4.2), squeeze=False,
                                        layout="constrained")
    for axes, panel in zip(all_axes[0], figure.panels):
        _draw_panel(axes, panel, points)
    picture.suptitle(f"{figure.name}: {verdict.word()}", fontsize=11)
    picture.supxlabel(f"{caption(points, cores)}\nmedians, 95 % intervals", fontsize=7)
    picture.savefig(path, dpi=110)
    pyplot.close(picture)
