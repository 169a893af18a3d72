"""Family 14 in the program: workloads that ask for it are served after a loss of racks, caches, a pod or a site."""

from __future__ import annotations

from procure.families.survivability.program.left import add_variables, caches_in_parts, copies_left_in_pods, units_left
from procure.families.survivability.program.served import (
    copies_after_loss,
    fallback,
    instances_after_loss,
    served_elsewhere,
    spared_by_hits,
    used_where_served,
    work_after_loss,
)
from procure.families.survivability.program.told import survival
from procure.program.part import Part

PROGRAM = Part(
    (
        units_left,
        caches_in_parts,
        copies_left_in_pods,
        work_after_loss,
        spared_by_hits,
        instances_after_loss,
        copies_after_loss,
        used_where_served,
        served_elsewhere,
    ),
    add_variables,
    tables={"fallback": fallback, "survival": survival},
)
