"""The whole audit as rows: every mechanism's promise, every sampler's law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from discreet.audit.catalogue import SamplerCase, mechanisms, samplers
from discreet.audit.exact import Auditable, verify
from discreet.privacy.guarantee import ZCDP, ApproxDP, Promise, PureDP

__all__ = ["AuditRow", "run_audit"]


@dataclass(frozen=True)
class AuditRow:
    """One line of the audit.

    Attributes:
        name: the mechanism or the sampler.
        kind: "mechanism" (a promise, compared over all pairs) or "sampler" (a law, walked).
        promise: the parameters of the guarantee; empty for a sampler.
        worst: the worst loss, delta or rho found; for a sampler the probability that was left
            open, within which everything agrees with the law.
        compared: how many ordered pairs, or how many runs of the sampler.
        proven: the promise holds, or the law does.
        tight: no smaller promise could be made.
        witness: where the worst was found, or which outcomes disagree.
    """

    name: str
    kind: Literal["mechanism", "sampler"]
    promise: dict[str, float]
    worst: float
    compared: int
    proven: bool
    tight: bool
    witness: str

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


def run_audit(
    *,
    only: str | None = None,
    step: Callable[[str, int, int], None] | None = None,
    also: Sequence[Auditable] = (),
) -> list[AuditRow]:
    """Audit everything whose name contains `only`, telling `step` how far it is.

    `also` are mechanisms of packages that the catalogue here does not know, such as the oracles
    of the local model.
    """
    jobs: list[tuple[str, Callable[[], AuditRow]]] = [
        *((_short(found), partial(_mechanism_row, found)) for found in (*mechanisms(), *also)),
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
    return AuditRow(
        name=_short(mechanism),
        kind="mechanism",
        promise=_parameters(verdict.guarantee),
        worst=float(verdict.worst),
        compared=verdict.pairs,
        proven=verdict.proven,
        tight=verdict.tight,
        witness=str(verdict.witness),
    )


def _parameters(guarantee: Promise) -> dict[str, float]:
    match guarantee:
        case PureDP():
            return {"epsilon": float(guarantee.epsilon)}
        case ApproxDP():
            return {"epsilon": float(guarantee.epsilon), "delta": float(guarantee.delta)}
        case ZCDP():
            return {"rho": float(guarantee.rho)}


def _sampler_row(case: SamplerCase) -> AuditRow:
    found = case.walked()
    wrong = [
        k for k in case.outcomes if not found.agrees_with(k, case.law.mass_bounds(k, bits=128))
    ]
    return AuditRow(
        name=case.name,
        kind="sampler",
        promise={},
        worst=float(found.unresolved),
        compared=found.runs,
        proven=not wrong and found.unresolved <= case.unresolved,
        tight=False,
        witness=f"outcomes {wrong[:5]}" if wrong else "",
    )
