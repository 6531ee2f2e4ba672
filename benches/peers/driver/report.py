"""Medians and Markdown."""

import statistics


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def table(job, records, results):
    """A Markdown table of the job; `results` are the runs of each peer by its name, or the text of its failure."""
    base = results.get(job.base)
    base = None if isinstance(base, str) else base
    lines = [
        f"### {job.title}: {records:,} records",
        "",
        "| client | wall s | k records/s | CPU s/M | wall ratio | CPU ratio | start-up CPU s | peak MiB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, runs in results.items():
        if isinstance(runs, str):
            lines.append(f"| {name} | {runs} | | | | | | |")
            continue
        wall, cpu = median(runs, "wall"), median(runs, "cpu")
        startup = statistics.median(run["cpu_whole"] - run["cpu"] for run in runs)
        ratio = lambda key, value: f"{value / median(base, key):.2f}" if base else "–"
        cells = [
            name,
            f"{wall:.2f}",
            f"{records / wall / 1000:,.0f}",
            f"{cpu / records * 1e6:.2f}",
            ratio("wall", wall),
            ratio("cpu", cpu),
            f"{startup:.2f}",
            f"{median(runs, 'rss') / 1024:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    rounds = max((len(runs) for runs in results.values() if not isinstance(runs, str)), default=0)
    lines += ["", f"Medians of {rounds}; ratios to {job.base}.", ""]
    return "\n".join(lines)
