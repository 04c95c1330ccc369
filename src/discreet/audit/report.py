"""The whole audit as rows: every mechanism's promise, every sampler's law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from discreet.audit.catalogue import SamplerCase, mechanisms, samplers
from discreet.audit.exact import Auditable, verify
from discreet.audit.walk import walk
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP

__all__ = ["AuditRow", "run_audit"]


@dataclass(frozen=True)
class AuditRow:
    """One line of the audit, as text for people and machines."""

    name: str
    promise: str
    worst: str
    compared: str
    proven: bool
    tight: bool
    witness: str

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


def run_audit(
    *, only: str | None = None, step: Callable[[str, int, int], None] | None = None
) -> list[AuditRow]:
    """Audit everything whose name contains `only`, telling `step` how far it is."""
    jobs: list[tuple[str, Callable[[], AuditRow]]] = [
        *((_short(found), partial(_mechanism_row, found)) for found in mechanisms()),
        *((case.name, partial(_sampler_row, case)) for case in samplers()),
    ]
    chosen = [job for job in jobs if only is None or only.lower() in job[0].lower()]
    rows = []
    for done, (name, job) in enumerate(chosen):
        if step is not None:
            step(name, done, len(chosen))
        rows.append(job())
    return rows


def _short(mechanism: Auditable) -> str:
    """The mechanism without what every line would repeat."""
    said = repr(mechanism).replace(", neighbours='add_or_remove'", "")
    return said.replace(", sensitivity=1,", ",").replace(", sensitivity=1)", ")")


def _mechanism_row(mechanism: Auditable) -> AuditRow:
    verdict = verify(mechanism)
    symbol = _symbol(verdict.guarantee)
    return AuditRow(
        name=_short(mechanism),
        promise=f"{symbol} {float(verdict.promised):.4g}",
        worst=f"{float(verdict.worst):.6g}",
        compared=f"{verdict.pairs} pairs",
        proven=verdict.proven,
        tight=verdict.tight,
        witness=str(verdict.witness),
    )


def _symbol(guarantee: Guarantee) -> str:
    match guarantee:
        case PureDP():
            return "ε"
        case ApproxDP():
            return f"ε {float(guarantee.epsilon):.3g}, δ"
        case ZCDP():
            return "ρ"


def _sampler_row(case: SamplerCase) -> AuditRow:
    found = walk(case.sampler, atoms=case.atoms, unresolved=case.unresolved)
    wrong = [
        k for k in case.outcomes if not found.agrees_with(k, case.law.mass_bounds(k, bits=128))
    ]
    return AuditRow(
        name=case.name,
        promise="its law",
        worst=f"open {float(found.unresolved):.1e}",
        compared=f"{found.runs} runs",
        proven=not wrong and found.unresolved <= case.unresolved,
        tight=False,
        witness=f"outcomes {wrong[:5]}" if wrong else "",
    )
