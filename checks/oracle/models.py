# SPDX-License-Identifier: GPL-2.0-only
"""The models of schedulers by name, and the forms that are compared with them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from checks.oracle.v09x import Model
from mptcplab.errors import MptcplabError
from mptcplab.mistakes import shown
from mptcplab.scenario import scheduler as schedulers


def _model(name: str) -> type[Model]:
    """The class of that name in the module of that name."""
    module = import_module(f"{__package__}.{name}")
    model: type[Model] = {each.lower(): found for each, found in vars(module).items()}[name]
    return model


#: The model of each scheduler that has one, in a module of its own.
MODELS: Mapping[str, type[Model]] = {
    name: _model(name)
    for name in schedulers.known()
    if Path(__file__).with_name(f"{name}.py").exists()
}


#: What all runs are of: schedulers without parameters, and with those that make another published
#: one of them, as `NAME:PARAM=VALUE`.
FORMS: tuple[str, ...] = (
    *MODELS,
    # LowRTT and its extras with which Paasch et al. measured; "default" of v0.95 without its own
    "minrtt:rp=off",
    "minrtt:v089=on",
    "minrtt:v089=on:rp=off",
    "minrtt:v089=on:bm=on",
    "minrtt:v089=on:rp=off:bm=on",
    # as the papers have them, not the modules
    "blest:paper=on",
    "ecf:paper_k=on:paper_delta=on",
    "ols:exp3=on",
    # steering modes of ATSSS: active-standby, smallest delay, load-balancing, priority-based
    "weighted:share2=0",
    "weighted:fastest=on",
    "weighted:share1=70:share2=30:strict=on",
    "weighted:share1=70:share2=30:max_rtt_ms=60",
    "weighted:cost2=1",
    "weighted:cost2=1:max_rtt_ms=60",
    # cheapest pipe first
    "weighted:cost2=1:patience_ms=0:fastest=on",
    # shares that are no whole part of a segment, three costs and a cap
    "weighted:share1=3:share2=7:cost3=1:cap2_mb=1",
    # deployed within a short run: both stages; the deterministic one, with the program's reward;
    # and with the alpha of the ns-3 port, learning again
    "peekaboo:learn=20",
    "peekaboo:learn=20:own_packet=on:stay_wait_percent=100:stay_send_percent=100",
    "peekaboo:learn=20:alpha_permille=800:relearn=50",
    # not published: ours, as its page has it
    "earliest:repeat=on",
    "earliest:warm_kbps=8000",
)


def model_of(form: str) -> tuple[str, type[Model]]:
    """The scheduler of a form, and its model. Raises MptcplabError when there is none."""
    name = form.partition(":")[0].strip()
    if name not in MODELS:
        raise MptcplabError(
            f"{shown(form)}: no model of this scheduler; there are those of {', '.join(MODELS)}"
        )
    return name, MODELS[name]


def params_of(form: str) -> dict[str, int]:
    """The parameters of a form that are not at their defaults, by name.

    Raises MptcplabError when there is no model of the scheduler, or it lacks one of them, and when
    it is no form.
    """
    _, model = model_of(form)
    try:
        choice, _ = schedulers.choose(form, schedulers.known(), Path())
    except schedulers.SpecError as error:
        raise MptcplabError(f"{shown(form)}: {error}") from None
    changed = {setting.name: setting.value for setting in choice.changed}
    for each in changed:
        if each not in model.knows:
            known = f"it has {', '.join(sorted(model.knows))}" if model.knows else "it has none"
            raise MptcplabError(
                f"{shown(form)}: the model of {choice.name} has no parameter {each}; {known}"
            )
    return changed
