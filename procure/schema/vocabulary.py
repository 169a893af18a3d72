"""The words that tables use, each written once: members are the texts of tables, attributes what goes with them.

Members are texts (:class:`~enum.StrEnum`), so that frames and CSV files hold plain words.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class _Worded(StrEnum):
    """Texts of which each has a word for readers."""

    word: str

    def __new__(cls, name: str, word: str = "") -> Self:
        """A member with its attributes; those that exist are found by their name alone."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.word = word
        return member


class Resource(StrEnum):
    """What a site has a limit of.

    ``word`` and ``unit`` are a planner's; rows of the program count in ``scale`` units, so that its coefficients
    stay near 1: MW, hundreds of square metres, thousands of ports.
    """

    word: str
    unit: str
    scale: float

    def __new__(cls, name: str, word: str = "", unit: str = "", scale: float = 1.0) -> Resource:
        """A member with its attributes; those that exist are found by their name alone."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.word, member.unit, member.scale = word, unit, scale
        return member

    POWER = "power_kw", "power", "kW", 1e3
    POSITIONS = "positions", "positions", "positions", 1.0
    AREA = "area_m2", "area", "m2", 1e2
    LIQUID = "liquid_kw", "liquid cooling", "kW", 1e3
    PORTS = "ports", "ports", "ports", 1e3


class ResilienceKind(StrEnum):
    """What a workload is still served after: units of each pool of a site that are down, a pod that is, or a site."""

    units_down: int
    pod_down: bool
    site_down: bool

    def __new__(cls, name: str, units_down: int = 0, pod_down: bool = False, site_down: bool = False) -> Self:
        """A member with its attributes; those that exist are found by their name alone."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.units_down, member.pod_down, member.site_down = units_down, pod_down, site_down
        return member

    NONE = "none"
    N_PLUS_1 = "n+1", 1
    N_PLUS_2 = "n+2", 2
    POD = "pod", 1, True
    TWO_SITES = "two_sites", 0, False, True


class CacheLoss(StrEnum):
    """Which caches may be lost while a workload is served."""

    NONE = "none"
    CMX_RACK = "cmx_rack"
    STORE = "store"
    COLD_START = "cold_start"


class Lost(_Worded):
    """What a fleet loses at a time."""

    RACK = "rack", "one unit"
    TWO_RACKS = "two_racks", "two units"
    POD = "pod", "one pod"
    CMX_RACK = "cmx_rack", "one CMX rack with its caches"
    STORE = "store", "one store with its caches"
    CACHES = "caches", "all caches"
    SITE = "site", "a site"


class Tier(StrEnum):
    """Where a cache can be kept, the fastest first."""

    HBM = "hbm"
    DRAM = "dram"
    SSD = "ssd"
    CMX = "cmx"

    @property
    def word(self) -> str:
        """As charts and sheets say it."""
        return self.upper()

    @property
    def is_flash(self) -> bool:
        """Whether it wears as it is written."""
        return self in (Tier.SSD, Tier.CMX)


RECOMPUTE = "recompute"
"""Stands for a store where nothing is read back: the whole input is prefilled."""


class Span(_Worded):
    """Part of the horizon: ``word`` is its heading. Orders of the planned quarters are recommended, later ones not."""

    PLANNED = "planned", "Planned quarters"
    LOOKAHEAD = "lookahead", "Look-ahead quarters"

    @classmethod
    def of(cls, planned: object) -> Span:
        """The span of a quarter by whether it is planned."""
        return cls.PLANNED if planned else cls.LOOKAHEAD


class Origin(StrEnum):
    """Where units come from: ``firm`` ones stand or arrive whatever the plan decides."""

    FLEET = "fleet"
    ORDER = "order"
    PURCHASE = "purchase"
    DEFERRED = "deferred"
    """Of a firm order, at a later quarter than agreed; they are not sold."""
    RENT = "rent"
    """They are given back, not sold; their vintage is the quarter in which rent began."""

    @property
    def firm(self) -> bool:
        """Whether they are given, not decided."""
        return self in (Origin.FLEET, Origin.ORDER)


class OrderChange(StrEnum):
    """What the plan does with units of a firm order that it does not take as agreed."""

    CANCEL = "cancel"
    DEFER = "defer"


class Instrument(_Worded):
    """How a step of a site is kept on offer; ``word`` says it to a reader."""

    FIRST_OFFER = "first_offer", "first offer"
    """Free, and not firm: who has it is asked first, and the room may have gone to another."""
    FIRM_HOLD = "firm_hold", "firm hold"
    """A fee for as long as the step is held."""
    EARLY_RENT = "early_rent", "rent started early"
    """Its rent, from the end of the offer on and for good."""


class ReservationOutcome(_Worded):
    """What becomes of a reservation; ``word`` says it to a reader."""

    EXERCISED = "exercised", "exercised"
    LAPSED = "lapsed", "lapses"
    NOT_COUNTED = "not_counted", "not counted on"
    """It is not firm, and the case does not say that the plan may count on it."""


class CostLine(StrEnum):
    """What money is paid for, in the order of reports.

    ``capital`` is capital spending of the plan's own orders; ``serves`` is what serving costs: not what is missed
    without it, nor what it earns; ``operating`` expenses are what a budget of them (``opex_usd``) holds.
    """

    capital: bool
    serves: bool
    operating: bool

    def __new__(cls, name: str, capital: bool = False, serves: bool = True, operating: bool = False) -> CostLine:
        """A member with its attributes; those that exist are found by their name alone."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.capital, member.serves, member.operating = capital, serves, operating
        return member

    HARDWARE = "hardware", True
    ATTACH = "attach", True
    INSTALLATION = "installation", True
    FIRM_ORDERS = "firm orders"
    ORDER_CHANGES = "changes of firm orders"
    """Fees of what is cancelled or deferred."""
    EXPANSIONS = "expansions", True
    RESERVATIONS = "reservations", False, True, True
    """Fees of holds, and rent of space that was started early to keep it."""
    RENT = "rent", False, True, True
    """Of rented units, with the rest of terms that go on after the horizon."""
    RENT_FROM_CAPITAL = "rent from capital", True
    """The same of offers that draw on the budget of capital."""
    SUPPORT = "support", False, True, True
    POWER = "power", False, True, True
    SPACE = "space", False, True, True
    DRIVE_WEAR = "drive wear", False, True, True
    LINKS = "links", False, True, True
    SALES = "sales"
    """Received, so negative."""
    REMOVAL = "removal of sold units"
    RESIDUAL = "residual value"
    """Received, so negative."""
    SHORTFALL = "look-ahead shortfall", False, False
    """The price of what is not served; no money that is paid."""
    PLANNED_SHORTFALL = "planned shortfall", False, False
    """The same of planned quarters, where the objective prices it."""
    INCOME = "income", False, False
    """Received for what is served, so negative; with the objective ``max_margin``."""

    @property
    def order(self) -> int:
        """Place in reports."""
        return list(CostLine).index(self)


class Evidence(_Worded):
    """What a number rests on; ``word`` says it to a reader."""

    MEASURED = "measured", "measured"
    USER = "user", "given in the case"
    PUBLISHED = "published", "published by the maker"
    PRESS = "press", "press report"
    ANALYST = "analyst", "an analyst's figure"
    PHYSICS = "physics", "worked out from physics"
    VENDOR = "vendor claim", "vendor's claim, not tested"
    ASSUMPTION = "assumption", "assumption"
    PROJECTION = "projection", "projected from physics to hardware that is announced for later"

    @property
    def of_premise(self) -> bool:
        """Whether a premise can be stated as such; projections are made here, of operating points."""
        return self is not Evidence.PROJECTION


class SkuKind(StrEnum):
    """What a SKU is."""

    GPU = "gpu"
    """A rack or server of GPUs."""
    LPX = "lpx"
    """A rack that decodes beside GPUs."""
    CMX_RACK = "cmx_rack"
    """A frame for enclosures."""
    CMX_ENCLOSURE = "cmx_enclosure"
    SSD_KIT = "ssd_kit"
    """All drive bays of one rack or server of its host."""


class Role(StrEnum):
    """What an instance of an LLM does."""

    PREFILL = "prefill"
    DECODE = "decode"
    BOTH = "both"


BYTES_PER_GBIT = 1e9 / 8
"""Bandwidths that a planner states are in Gbit/s, tables hold B/s."""


class Unit(StrEnum):
    """Base units that readers see larger: amounts over ``scale`` are in the unit ``shown``."""

    shown: str
    scale: float

    def __new__(cls, name: str, shown: str = "", scale: float = 1.0) -> Unit:
        """A member with its attributes; those that exist are found by their name alone."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.shown, member.scale = shown, scale
        return member

    BYTES = "B", "TB", 1e12
    BYTES_PER_S = "B/s", "GB/s", 1e9
    BYTES_PER_DAY = "B/day", "TB/day", 1e12

    @classmethod
    def shown_for(cls, unit: str) -> tuple[str, float]:
        """The unit that readers see for a base unit, and how many base units it is; itself and 1 for most."""
        found = next((member for member in cls if member == unit), None)
        return (unit, 1.0) if found is None else (found.shown, found.scale)
