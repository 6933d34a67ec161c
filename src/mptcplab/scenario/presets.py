# SPDX-License-Identifier: GPL-2.0-only
"""Presets of paths: their numbers, and the source of each number.

A preset is a table that the user could have written under [[path]], and is read in the same way.
A trace that `preset_traces.py` has drawn has the values that vary. Every number has a reason: its
meaning, with the source in brackets, or a statement that it has none.
`python -m checks.keys` writes them into docs/presets.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mptcplab.scenario.limits import DIRECTIONS
from mptcplab.traces.preset_traces import FOLDER

NO_SOURCE = "typical, no source"
#: The numbers of each direction.
KEYS = ("rate", "delay", "loss", "queue")


@dataclass(frozen=True)
class Source:
    """A publication: its title, and where it can be read."""

    title: str
    address: str


@dataclass(frozen=True)
class Preset:
    """A path of one kind of link: its table, and by key the reason for each number in it.

    `ranges` has the lowest and highest of what its traces vary, by key.
    """

    name: str
    summary: str
    path: Mapping[str, Any]
    reasons: Mapping[str, str]
    ranges: Mapping[str, str] = field(default_factory=dict)

    def numbers(self) -> dict[str, str]:
        """Every number of the table by its key; numbers of the path appear for each direction."""
        found = {}
        for direction in DIRECTIONS:
            for key in KEYS:
                value = self.path[direction].get(key, self.path.get(key))
                value = self.ranges.get(f"{direction}.{key}", value)
                if value is not None:
                    found[f"{direction}.{key}"] = str(value)
        return found

    def sources(self) -> list[str]:
        """The labels of the sources of its numbers, in the order of `SOURCES`."""
        text = " ".join(self.reasons.values())
        return [label for label in SOURCES if f"[{label}]" in text]


SOURCES: Mapping[str, Source] = {
    "ofcom-2023": Source(
        "Ofcom, Mobile Matters 2023, 20 July 2023: averages of 4G and 5G in the UK, October 2022 "
        "to March 2023; as reported by ISPreview.",
        "https://www.ispreview.co.uk/index.php/2023/07/"
        "ofcom-publish-benchmarks-of-uk-5g-4g-and-3g-mobile-networks.html",
    ),
    "ofcom-2024": Source(
        "Ofcom, Mobile Matters 2024: average response time of each operator in the UK, October "
        "2023 to March 2024; Ofcom's summary.",
        "https://ofcom.org.uk/phones-and-broadband/mobile-phones/"
        "which-mobile-operator-has-the-longest-file-download-time/",
    ),
    "opensignal-2021": Source(
        "Opensignal, Quantifying the mmWave 5G experience in the US, July 2021: averages of each "
        "operator, March to June 2021; as reported by the IEEE ComSoc Technology Blog.",
        "https://techblog.comsoc.org/2021/07/13/"
        "opensignal-reports-shed-light-on-5g-mmwave-and-5g-user-experiences",
    ),
    "ts-23.203": Source(
        "3GPP TS 23.203, Policy and charging control architecture, table 6.1.7: QCI 9.",
        "https://www.tech-invite.com/3m23/toc/tinv-3gpp-23-203_f.html",
    ),
    "ts-23.501": Source(
        "3GPP TS 23.501, System architecture for the 5G System, table 5.7.4-1: 5QI 9; as in "
        "TR 26.925.",
        "https://www.tech-invite.com/3m26/toc/tinv-3gpp-26-925_f.html",
    ),
    "sui-2016": Source(
        "Sui et al., Characterizing and Improving WiFi Latency in Large-Scale Operational "
        "Networks, 2016: 47,000 devices on a campus; abstract and introduction.",
        "https://doi.org/10.1145/2906388.2906393",
    ),
    "ookla-2025": Source(
        "Ookla, Speedtest data of Starlink in the US, first quarter of 2025: medians; as reported "
        "by Telecompetitor.",
        "https://www.telecompetitor.com/starlink-shows-gains-in-speed-test-report/",
    ),
    "michel-2022": Source(
        "Michel et al., A First Look at Starlink Performance, IMC 2022: a terminal in Belgium; the "
        "authors' summary.",
        "https://blog.apnic.net/2022/11/28/fact-checking-starlinks-performance-figures",
    ),
    "huston-2024": Source(
        "Huston, A transport protocol's view of Starlink, APNIC, 17 May 2024; as reported by The "
        "Register.",
        "https://www.theregister.com/2024/05/22/starlink_tcp_performance_evaluation/",
    ),
    "aalborg-2026": Source(
        "Aalborg University, Statistical Characterization and Prediction of E2E Latency over LEO "
        "Satellite Networks, 2026: 500 probes a second each way over Starlink; abstract.",
        "https://arxiv.org/html/2601.08439v1",
    ),
    "mohan-2024": Source(
        "Mohan et al., A Multifaceted Look at Starlink Performance, WWW 2024: rate and delay "
        "change at the same instants everywhere, each 15 s; abstract.",
        "https://arxiv.org/abs/2310.09242",
    ),
    "tanveer-2023": Source(
        "Tanveer et al., Making Sense of Constellations, 2023: the seconds of a minute at which "
        "satellites change; as cited by others, not read here.",
        "https://doi.org/10.1145/3624354.3630586",
    ),
    "nguyen-2014": Source(
        "Nguyen et al., Towards Understanding TCP Performance on LTE/EPC Mobile Networks, 2014: "
        "load in a cell cuts the rate of a device dramatically; abstract.",
        "https://studylib.net/doc/14190314/towards-understanding-tcp-performance-on-lte-epc-mobile-n...",
    ),
    "jiang-2012": Source(
        "Jiang et al., Tackling Bufferbloat in 3G/4G Mobile Networks, IMC 2012: the networks of "
        "five operators hold so much that TCP's window grows without loss; abstract, which has no "
        "numbers.",
        "https://vdocuments.net/tackling-bufferbloat-in-3g4g-mobile-networks.html",
    ),
    "malayter-2012": Source(
        "Malayter, Bufferbloat on a 3G network, 2012: round trips of 92 ms to 1.7 s to the first "
        "router, almost without loss, at a busy railway station.",
        "https://blog.malayter.com/2012/02/bufferbloat-on-a-3g-network.html",
    ),
    "weakest-link": Source(
        "WiFi can be the weakest link of round trip network latency in the wild, 2016: 47 access "
        "points of a campus, two months; abstract.",
        "https://paperexplained.cn/articles/paper/detail/aadd9fa14b6597dd00f5d77157bad602709f7d33",
    ),
    "anomaly-2017": Source(
        "Hoiland-Jorgensen et al., Ending the Anomaly: Achieving Low Latency and Airtime Fairness "
        "in WiFi, USENIX ATC 2017: stations share a channel so that each gets the same throughput; "
        "abstract and introduction.",
        "https://www.usenix.org/conference/atc17/technical-sessions/presentation/hoilan-jorgesen",
    ),
    "wifi-rework": Source(
        "Bufferbloat project, Wifi Stack Rework: 600 ms or more are commonly observed under load "
        "with one station at 6 Mbit/s.",
        "https://www.bufferbloat.net/projects/make-wifi-fast/wiki/Wifi_Stack_Rework/",
    ),
    "vdsl-line": Source(
        "kralo, Expect the following latencies to the first hop: 10,000 probes over one VDSL2 line "
        "(profile 17a with vectoring, ITU-T G.993.5) of Deutsche Telekom.",
        "https://gist.github.com/kralo/811f6e427233bba71d0ce2487c64d905",
    ),
    "ookla-2022": Source(
        "Ookla, Speedtest data of fixed providers in the US, June 2022: medians; as reported by "
        "Telecompetitor.",
        "https://www.telecompetitor.com/cox-nears-200-mbps-download-in-june-ookla-speedtest-results/",
    ),
    "802.3ab": Source(
        "IEEE 802.3ab, 1000BASE-T; its bound of bit errors as reported by Hubbell Premise Wiring.",
        "http://www.hubbell-premise.com/Press/BERtesting.asp",
    ),
    "linux": Source(
        "Linux, the default txqueuelen, DEFAULT_TX_QUEUE_LEN.",
        "Linux, include/net/pkt_sched.h",
    ),
}


def _both(key: str, reason: str) -> dict[str, str]:
    return {f"up.{key}": reason, f"down.{key}": reason}


def _queue_of(time: str, why: str) -> dict[str, str]:
    return _both("queue", f"{why} {time} of packets, the delay line included")


def _trace(name: str, direction: str, **columns: str) -> dict[str, Any]:
    """A trace of `preset_traces.py`; its rates are those of one direction."""
    columns = {"time": "time_s", "rate": f"{direction}_mbit", **columns}
    return {"file": str(FOLDER / f"{name}.csv"), "columns": columns}


_HUNDRED_MS = _queue_of("100 ms", f"{NO_SOURCE}:")
_QCI_9 = "the bound of QCI 9, the class of ordinary traffic [ts-23.203]"
_5QI_9 = "the bound of 5QI 9, the class of ordinary traffic [ts-23.501]"

_ALL = (
    Preset(
        "wifi",
        "Wi-Fi that others share, fibre behind it",
        {
            "delay": "5.5ms",
            "loss": "0%",
            "up": {"rate": "50mbit", "queue": 413},
            "down": {"rate": "50mbit", "queue": 413},
        },
        {
            **_both("rate", f"{NO_SOURCE}: one channel carries both directions"),
            **_both(
                "delay",
                "half of 3 ms, a usual latency of the hop (a tenth exceed 20 ms) [sui-2016], plus "
                "the 4 ms of fibre behind it [ookla-2022]",
            ),
            **_both("loss", f"{NO_SOURCE}: the link retransmits losses on the air"),
            **_HUNDRED_MS,
        },
    ),
    Preset(
        "lte",
        "4G of a phone, a server nearby",
        {
            "delay": "10.5ms",
            "loss": "0.0001%",
            "up": {"rate": "7.6mbit", "queue": 190},
            "down": {"rate": "29.5mbit", "queue": 730},
        },
        {
            "up.rate": "average upload of 4G [ofcom-2023]",
            "down.rate": "average download of 4G [ofcom-2023]",
            **_both(
                "delay",
                "half of 21 ms, the middle of the operators' response times over 4G, 18.3 to "
                "23.7 ms [ofcom-2024]",
            ),
            **_both("loss", f"{_QCI_9}; the layers below IP retransmit losses on the air"),
            **_queue_of("300 ms", "the delay budget of QCI 9 [ts-23.203]:"),
        },
    ),
    Preset(
        "5g-sub6",
        "5G below 6 GHz of a phone, a server nearby",
        {
            "delay": "9.5ms",
            "loss": "0.0001%",
            "up": {"rate": "14.7mbit", "queue": 364},
            "down": {"rate": "129.9mbit", "queue": 3220},
        },
        {
            "up.rate": "average upload of 5G, assumed to be all below 6 GHz [ofcom-2023]",
            "down.rate": "average download of 5G, assumed to be all below 6 GHz [ofcom-2023]",
            **_both(
                "delay",
                "half of 19 ms, the middle of the operators' response times over 5G, 16.3 to "
                "21.4 ms [ofcom-2024]",
            ),
            **_both("loss", f"{_5QI_9}; the layers below IP retransmit losses on the air"),
            **_queue_of("300 ms", "the delay budget of 5QI 9 [ts-23.501]:"),
        },
    ),
    Preset(
        "5g-mmwave",
        "5G above 24 GHz of a phone in sight of its mast",
        {
            "delay": "9.5ms",
            "loss": "0.0001%",
            "up": {"rate": "30.8mbit", "queue": 763},
            "down": {"rate": "618.4mbit", "queue": 15300},
        },
        {
            "up.rate": "average upload of Verizon over mmWave [opensignal-2021]",
            "down.rate": "average download of Verizon over mmWave [opensignal-2021]",
            **_both("delay", f"{NO_SOURCE}: as `5g-sub6`"),
            **_both("loss", f"{_5QI_9}; a blocked beam is an event, not a loss at random"),
            **_queue_of("300 ms", "the delay budget of 5QI 9 [ts-23.501]:"),
        },
    ),
    Preset(
        "starlink",
        "a Starlink terminal at home",
        {
            "delay": "25ms",
            "loss": "0.5%",
            "up": {"rate": "14.8mbit", "queue": 92},
            "down": {"rate": "104.7mbit", "queue": 650},
        },
        {
            "up.rate": "median upload [ookla-2025]",
            "down.rate": "median download [ookla-2025]",
            **_both("delay", "half of 50 ms, the median round trip to Europe [michel-2022]"),
            **_both(
                "loss",
                "half of 1 %, the lower end of the reported loss [huston-2024], assumed to be the "
                "sum of both directions; it comes in bursts there, one by one here",
            ),
            **_queue_of(
                "75 ms",
                "the delay, plus at most 50 ms of waiting when the satellite changes "
                "[huston-2024]:",
            ),
        },
    ),
    Preset(
        "dsl",
        "a VDSL2 line, 50 Mbit/s",
        {
            "delay": "5.4ms",
            "loss": "0%",
            "up": {"rate": "10mbit", "queue": 83},
            "down": {"rate": "50mbit", "queue": 413},
        },
        {
            **_both("rate", "rate of the line [vdsl-line]"),
            **_both("delay", "half of 10.8 ms, the mean round trip to a host [vdsl-line]"),
            **_both("loss", "no loss in 10,000 probes [vdsl-line]"),
            **_HUNDRED_MS,
        },
    ),
    Preset(
        "fibre",
        "fibre to the home",
        {
            "delay": "4ms",
            "loss": "0%",
            "up": {"rate": "112mbit", "queue": 925},
            "down": {"rate": "171mbit", "queue": 1412},
        },
        {
            "up.rate": "median upload of Verizon, assumed to be fibre [ookla-2022]",
            "down.rate": "median download of Verizon, assumed to be fibre [ookla-2022]",
            **_both("delay", "half of 8 ms, the median latency of Verizon [ookla-2022]"),
            **_both("loss", NO_SOURCE),
            **_HUNDRED_MS,
        },
    ),
    Preset(
        "ethernet",
        "Gigabit Ethernet within a building",
        {
            "delay": "100us",
            "loss": "0%",
            "up": {"rate": "1gbit", "queue": 1000},
            "down": {"rate": "1gbit", "queue": 1000},
        },
        {
            **_both("rate", "rate of 1000BASE-T [802.3ab]"),
            **_both("delay", f"{NO_SOURCE}: two or three switches"),
            **_both(
                "loss",
                "at most one bit in 10^10, so one full frame in 800,000 [802.3ab]; no loss here",
            ),
            **_both("queue", "1000 packets, the default of an Ethernet device in Linux [linux]"),
        },
    ),
    Preset(
        "starlink-steps",
        "starlink as it varies: another rate and delay each 15 s",
        {
            "up": {
                "trace": _trace("starlink-steps", "up", delay="delay_ms", loss="loss_percent"),
                "queue": 128,
            },
            "down": {
                "trace": _trace("starlink-steps", "down", delay="delay_ms", loss="loss_percent"),
                "queue": 908,
            },
        },
        {
            **_both(
                "rate",
                "a new rate at seconds 12, 27, 42 and 57 of each minute [tanveer-2023], "
                "everywhere at once [mohan-2024], uniform from 0.5 to 1.5 times the median of "
                "`starlink` [ookla-2025], with the same factor in both directions; typical, no "
                "source: how far it varies",
            ),
            **_both(
                "delay",
                "a new delay at the same instants, uniform from 15 to 35 ms: half of round trips "
                "around the median of 50 ms [michel-2022], within the observed 30 to 80 ms "
                "[huston-2024]; 20 ms more from 75 ms before a change to 140 ms after it "
                "[aalborg-2026], half of the 30 to 50 ms that a change adds to a round trip "
                "[huston-2024]",
            ),
            **_both(
                "loss",
                "0.5 % on average, as `starlink` [huston-2024]; typical, no source: half of it in "
                "these 215 ms of each 15 s, and half in between",
            ),
            **_queue_of(
                "105 ms",
                "the longest delay, plus at most 50 ms of waiting when the satellite changes "
                "[huston-2024], at the median rate:",
            ),
        },
        {
            "up.rate": "7.5..22.1mbit",
            "down.rate": "52.8..156.3mbit",
            **_both("delay", "15..55ms"),
            **_both("loss", "0.25..17.7%"),
        },
    ),
    Preset(
        "lte-bloated",
        "4G in a cell that up to three others load, with a deep queue",
        {
            "delay": "10.5ms",
            "loss": "0.0001%",
            "up": {"trace": _trace("lte-bloated", "up"), "queue": 512},
            "down": {"trace": _trace("lte-bloated", "down"), "queue": 1986},
        },
        {
            **_both(
                "rate",
                "on average the rates of `lte` [ofcom-2023]; others in the cell cut the rate "
                "[nguyen-2014]; typical, no source: zero to three others, equally often, with "
                "equal shares, a new number each 5 s",
            ),
            **_both("delay", "as `lte` [ofcom-2024]: without load"),
            **_both("loss", f"{_QCI_9}; the layers below IP retransmit losses on the air"),
            **_queue_of(
                "1.7 s",
                "so deep that TCP sees no loss for long [jiang-2012]: at the lowest rate the "
                "longest round trip of a busy 3G cell [malayter-2012]; no number for 4G found;",
            ),
        },
        {"up.rate": "3.65..14.6mbit", "down.rate": "14.15..56.6mbit"},
    ),
    Preset(
        "wifi-busy",
        "Wi-Fi on whose channel up to seven others send",
        {
            "delay": "5.5ms",
            "loss": "0%",
            "up": {"trace": _trace("wifi-busy", "up"), "queue": 310},
            "down": {"trace": _trace("wifi-busy", "down"), "queue": 310},
        },
        {
            **_both(
                "rate",
                "alone, as `wifi`; sending stations have the same throughput [anomaly-2017]; "
                "typical, no source: zero to seven others, equally often, a new number each second",
            ),
            **_both(
                "delay",
                "as `wifi` [sui-2016], [ookla-2022]: without load. Under load the hop takes more "
                "than 20 ms for half of the packets, and more than 100 ms for a tenth "
                "[weakest-link]; here the queue adds it",
            ),
            **_both("loss", f"{NO_SOURCE}: the link retransmits losses on the air"),
            **_queue_of(
                "600 ms",
                "commonly observed with a station at 6 Mbit/s [wifi-rework]: at 6.25 Mbit/s",
            ),
        },
        _both("rate", "6.25..50mbit"),
    ),
)

PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in _ALL}
