"""Run all benchmarks and write their tables into benchmarks/README.md.

python -m benchmarks            all
python -m benchmarks noise      those whose name contains "noise"
"""

import platform
import re
import sys
from pathlib import Path

import cryptography
import duckdb
import numpy as np

from benchmarks import (
    accounting,
    accuracy,
    ask,
    collecting,
    federated,
    floor,
    ledger,
    local,
    noise,
    publish,
    publish_coverage,
    publish_marginals,
    publish_references,
    publish_workloads,
    rappor,
    scalar,
    serve,
)

README = Path(__file__).with_name("README.md")
ALL = {
    "noise-geometric": noise.geometric,
    "noise-gaussian": noise.gaussian,
    "noise-others": noise.others,
    "scalar-releases": scalar.releases,
    "scalar-imports": scalar.imports,
    "accuracy-classroom": accuracy.classroom,
    "accuracy-variances": accuracy.variances,
    "accuracy-gaussians": accuracy.gaussians,
    "accounting-mixed": accounting.mixed,
    "accounting-answered": accounting.answered,
    "accounting-exactly": accounting.exactly,
    "accounting-charges": accounting.charges,
    "ask-bounded": ask.bounded,
    "ask-errors": ask.errors,
    "ask-unbounded": ask.unbounded,
    "ask-overhead": ask.overhead,
    "ledger-sqlite": ledger.sqlite,
    "ledger-floor": floor.sqlite,
    "ledger-postgres": ledger.postgres,
    "ledger-flushes": ledger.flushes,
    "ledger-length": ledger.length,
    "ledger-command": ledger.command,
    "serve-questions": serve.questions,
    "serve-flushes": serve.flushes,
    "local-oracles": local.oracles,
    "local-errors": local.errors,
    "local-peers": local.peer_errors,
    "local-collecting": local.collecting,
    "local-heavy": local.heavy,
    "local-endpoint": collecting.reports,
    "federated-asking": federated.asking,
    "federated-errors": federated.errors,
    "rappor-small": rappor.small,
    "rappor-medium": rappor.medium,
    "rappor-known": rappor.known,
    "rappor-false": rappor.false_words,
    "references-one": publish_references.one_axis,
    "references-two": publish_references.two_axes,
    "publish-workloads": publish_workloads.workloads,
    "publish-marginals": publish_marginals.marginals,
    "publish-line": publish.line,
    "publish-plane": publish.plane,
    "publish-sizes": publish.sizes,
    "publish-coverage": publish_coverage.ranges,
    "publish-coverage-quantiles": publish_coverage.quantiles,
    "publish-coverage-boxes": publish_coverage.boxes,
}


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    text = README.read_text()
    for name, run in ALL.items():
        if wanted in name:
            print(f"\n{name}", flush=True)
            found = run()
            print(found, flush=True)
            text = text if found is None else put(text, name, found)
    versions = [
        f"Python {platform.python_version()}",
        f"numpy {np.__version__}",
        f"cryptography {cryptography.__version__}",
        f"DuckDB {duckdb.__version__}",
        platform.machine(),
    ]
    README.write_text(put(text, "machine", ", ".join(versions)))


def put(text: str, name: str, found: str) -> str:
    """Replace what stands between the marks of one table."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
    new, count = re.subn(pattern, lambda m: f"{m[1]}{found}\n{m[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"benchmarks/README.md has no place for {name}")
    return new


main()
