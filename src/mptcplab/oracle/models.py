# SPDX-License-Identifier: GPL-2.0-only
"""The models of schedulers by name."""

from __future__ import annotations

from collections.abc import Mapping

from mptcplab.errors import MptcplabError
from mptcplab.oracle.backup import Backup
from mptcplab.oracle.blest import Blest
from mptcplab.oracle.burst import Burst
from mptcplab.oracle.daps import Daps
from mptcplab.oracle.ecf import Ecf
from mptcplab.oracle.first import First
from mptcplab.oracle.inorder import InOrder
from mptcplab.oracle.minrtt import MinRtt
from mptcplab.oracle.musher import Musher
from mptcplab.oracle.ols import Ols
from mptcplab.oracle.otias import Otias
from mptcplab.oracle.redundant import Redundant
from mptcplab.oracle.roundrobin import RoundRobin
from mptcplab.oracle.sttf import Sttf
from mptcplab.oracle.thinstream import ThinStream
from mptcplab.oracle.v09x import Model

MODELS: Mapping[str, type[Model]] = {
    "first": First,
    "backup": Backup,
    "burst": Burst,
    "minrtt": MinRtt,
    "roundrobin": RoundRobin,
    "redundant": Redundant,
    "blest": Blest,
    "ecf": Ecf,
    "otias": Otias,
    "sttf": Sttf,
    "daps": Daps,
    "musher": Musher,
    "inorder": InOrder,
    "thinstream": ThinStream,
    "ols": Ols,
}


def model_of(scheduler: str) -> type[Model]:
    """Raises MptcplabError when there is none."""
    if scheduler not in MODELS:
        raise MptcplabError(
            f"no model of scheduler {scheduler}; there are those of {', '.join(MODELS)}"
        )
    return MODELS[scheduler]
