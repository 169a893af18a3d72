"""``case.toml``: the settings of a case, checked, with every default a premise."""

from __future__ import annotations

import re
import tomllib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from procure.catalogue import Catalogue
from procure.errors import Fault, InputError, guard_reader, nearest
from procure.quarter import Quarter

REQUIRED = ("name", "first_quarter", "planned_quarters")
"""Settings without a default."""

FILE = "case.toml"

TOKEN_WORTHS = tuple(
    f"lookahead_short_usd_per_million_{kind}_tokens" for kind in ("cached_input", "computed_input", "output")
)
"""Settings, and columns of ``workloads``, with the worth of a token not served in the look-ahead."""

REPLACED = {"lookahead_short_usd_per_million_tokens": TOKEN_WORTHS}
"""Settings of earlier versions, and what is stated in their place."""


COMPUTED = "computed"
"""A share that follows from others: of returns from routing, homes and the requests in flight; of units that are up
from how often they fail and how long they take to repair."""


class Settings(BaseModel):
    """Settings of one case; units are in the names, shares are fractions."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    name: str = Field(min_length=1, max_length=100, description="Name of the case; names its folder of results.")
    description: str = Field(description="What the case is about.")
    first_quarter: str = Field(description="First planned quarter, such as 2027Q1.")
    planned_quarters: int = Field(ge=1, le=40, description="Quarters whose orders are recommended.")
    lookahead_quarters: int = Field(
        ge=0, le=40, description="Quarters after them, so that the horizon hides no order; longest lead + 2 or more."
    )
    fiscal_year_start: int = Field(ge=1, le=4, description="Calendar quarter in which the fiscal year begins.")
    discount_rate_per_year: float = Field(ge=0, le=1, description="Discount rate of all cash.")
    budget_basis: Literal["payment", "commitment"] = Field(
        description="Charge the budget when money is paid, or the whole order in its quarter."
    )
    budget_carry: Literal["within_year", "none", "unlimited"] = Field(
        description="Whether unspent budget moves to the next quarter."
    )
    objective: Literal["min_cost", "min_cost_priced", "max_served", "max_served_tokens", "max_margin"] = Field(
        description="What is best: least shortfall, then least cost (min_cost); least cost with what is not served at "
        "its price (min_cost_priced); most requests or tokens by priority within the budgets, then least cost "
        "(max_served, max_served_tokens); most income less cost (max_margin)."
    )
    isl_growth_per_year: float = Field(ge=-0.9, le=20, description="Growth of input length for all workloads.")
    growth_route: Literal["first_prompt", "turns", "cap"] = Field(
        description="How sequences grow: longer first prompts, more turns, or a higher context cap."
    )
    may_buy: list[str] = Field(description="SKUs that may be ordered; all others only stand if they exist already.")
    resale: Literal["none", "existing", "all"] = Field(
        description="What the plan may sell: nothing, what stands when it begins, or also what is on order and bought."
    )
    availability: float | str = Field(
        description="Share of installed units in working order: a share, or computed from how often units of a SKU "
        "fail and how long they take to repair."
    )
    spare_share: float = Field(ge=0, lt=1, description="Share of working units held in reserve.")
    resilience: Literal["none", "n+1", "n+2", "pod", "two_sites"] = Field(
        description="What every workload is still served after: nothing, the loss of one or two units of each pool "
        "of a site (n+1, n+2), of one unit of each and of any one pod of a site (pod), or of any one site (two_sites)."
    )
    cache_loss: Literal["none", "cmx_rack", "store", "cold_start"] = Field(
        description="Which caches may be lost while every workload is served: none, those of one CMX rack of a site "
        "(cmx_rack), those of any one store of a site (store), or all of them (cold_start)."
    )
    energy_share_of_nameplate_prefill: float = Field(
        ge=0, le=1, description="Draw of a GPU unit busy with prefill, of its maximum; for energy, not for limits."
    )
    energy_share_of_nameplate_decode: float = Field(
        ge=0, le=1, description="Draw of a GPU unit busy with decode, of its maximum; for energy, not for limits."
    )
    power_modes: Literal["max_p", "by_quarter"] = Field(
        description="Whether racks run at full power (max_p), or the plan may run some at Max-Q, by site and quarter."
    )
    placement_tolerance: float = Field(
        ge=0,
        lt=1,
        description="Share of its cost that a plan may cost more so that less of the service moves to other hardware "
        "between quarters; 0: the cheapest service, whatever moves.",
    )
    dayparts: Literal["peak", "clock"] = Field(
        description="Whether work is sized at one coincident peak, work that may wait on top of it at its mean (peak), "
        "or by clock hour: peaks as they coincide, work that may wait placed in quiet hours (clock)."
    )
    dayparts_most: int = Field(
        ge=1, le=24, description="Parts of the day at most; hours of like load are one part, sized at its highest hour."
    )
    utilisation_cap: float = Field(gt=0, le=1, description="Busy share of serving units at the peak.")
    store_utilisation_cap: float = Field(gt=0, le=1, description="Used share of a store's bytes and bandwidth.")
    ttft_share: float = Field(gt=0, le=1, description="Share of requests that must meet their TTFT.")
    tps_percentile: float = Field(gt=0, lt=100, description="Percentile of users whose speed is promised.")
    vintage: Literal["none", "base", "fast"] = Field(description="How fast software gets better.")
    points: Literal["low", "base", "high"] = Field(
        description="Which end of the band of operating points is planned with, and of prefill in service."
    )
    max_extrapolation: float = Field(
        ge=0, description="Doublings from the nearest measurement beyond which an operating point is not offered."
    )
    routing: Literal["affinity", "plain"] = Field(
        description="Whether routers follow sessions or caches (affinity), or heed load alone (plain)."
    )
    router_release_load: float = Field(
        gt=0, le=5, description="Busy share of a home at which the router sends a return elsewhere."
    )
    router_fidelity: float = Field(
        ge=0, le=1, description="Share of the returns meant for their home that get there and find their copy."
    )
    shared_store_fidelity: float = Field(
        ge=0, le=1, description="The same of a store that the racks of a pod or site share."
    )
    hbm_home: Literal["tray", "rack"] = Field(description="The unit whose HBM a request can read.")
    dram_home: Literal["tray", "rack", "pod", "site"] = Field(
        description="The unit whose DRAM a request can read; racks of a pod or site read their peers'."
    )
    ssd_home: Literal["tray", "rack", "pod", "site"] = Field(
        description="The unit whose drives a request can read; racks of a pod or site read their peers'."
    )
    peer_dram_bytes_per_s_per_gpu: float = Field(gt=0, description="How fast one GPU reads the DRAM of another rack.")
    peer_ssd_bytes_per_s_per_gpu: float = Field(gt=0, description="How fast one GPU reads the drives of another rack.")
    read_ports: Literal["both", "prefill"] = Field(
        description="Whose network ports read stores that several units share: of the units that do not decode "
        "(prefill), or of those that decode as well, which pass on what they read (both)."
    )
    gpus_per_tray: int = Field(ge=1, description="GPUs of a tray of a rack; a server of 8 GPUs or less is one tray.")
    llms_per_home: int = Field(ge=1, description="LLMs that share a home, each with its part of the requests.")
    whole_instances_up_to: float = Field(
        ge=0, description="Loads of an LLM that need at most so many instances are counted in whole ones; 0: none."
    )
    whole_instances_least_share: float = Field(
        ge=0,
        le=1,
        description="Share of all loads, on the same pool, below which an instance is too little to be counted whole.",
    )
    instance_roles: Literal["by_load", "apart", "shared"] = Field(
        description="Whether an instance prefills or decodes (apart), does both (shared), or both where one carries "
        "the whole load (by_load)."
    )
    cache_moves: Literal["none", "exclusive", "write_through"] = Field(
        description="Whether a parked cache may move once to a slower store: not at all, with its bytes read and "
        "written then (exclusive), or written to both stores when it is parked (write_through)."
    )
    flash_writes: Literal["write_once", "write_through"] = Field(
        description="Whether parking again writes new tokens only (write_once), or the whole cache (write_through)."
    )
    flash_wear: Literal["cap", "replace"] = Field(
        description="Whether drives are written to within their endurance (cap), or worn ones replaced at their price."
    )
    write_amplification: float = Field(
        gt=0, description="Bytes written to flash for each that a store is given, over those that ratings assume."
    )
    flash_rated_years: float = Field(gt=0, description="Years for which drive writes per day are rated.")
    rack_local_return_share: float | str = Field(
        description="Share of returns that reach a copy in HBM, DRAM or drives: computed, or a share stated."
    )
    pod_return_share: float | str = Field(
        description="Share of returns that reach a copy in CMX: computed, or a share stated."
    )
    nvl72_per_pod: int = Field(ge=1, description="NVL72 racks of a pod.")
    lpx_per_pod: int = Field(ge=0, description="LPX racks that fit into a pod.")
    cmx_racks_per_pod: int = Field(ge=0, description="CMX racks that fit into a pod.")
    lookahead_short_usd_per_million_cached_input_tokens: float = Field(
        ge=0,
        description="Worth of a million tokens of input found in a cache: what they sell for, and the price "
        "of those not served in the look-ahead, or in any quarter where the objective prices them.",
    )
    lookahead_short_usd_per_million_computed_input_tokens: float = Field(
        ge=0, description="The same of a million tokens of input to be prefilled."
    )
    lookahead_short_usd_per_million_output_tokens: float = Field(
        ge=0, description="The same of a million tokens of output, thinking included."
    )

    @field_validator("first_quarter")
    @classmethod
    def _quarter(cls, text: str) -> str:
        quarter = Quarter(text)
        if not 2000 <= quarter.year <= 2100:
            raise ValueError("a quarter between 2000Q1 and 2100Q4")
        return str(quarter)

    @field_validator("name")
    @classmethod
    def _folder_name(cls, text: str) -> str:
        if text.strip(" .") == "" or not text.isprintable() or any(mark in text for mark in '/\\:*?"<>|'):
            raise ValueError(r'a name that a folder can have, without / \ : * ? " < > |')
        return text

    @field_validator("rack_local_return_share", "pod_return_share", mode="before")
    @classmethod
    def _share_or_computed(cls, value: object) -> object:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value != COMPUTED and not (number and 0 <= float(str(value)) <= 1):
            raise ValueError(f"a share from 0 to 1, or {COMPUTED}")
        return value

    @field_validator("availability", mode="before")
    @classmethod
    def _up_or_computed(cls, value: object) -> object:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value != COMPUTED and not (number and 0 < float(str(value)) <= 1):
            raise ValueError(f"a share above 0 and at most 1, or {COMPUTED}")
        return value

    @field_validator("may_buy")
    @classmethod
    def _each_once(cls, names: list[str]) -> list[str]:
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"each SKU once; {', '.join(twice)} comes twice")
        return names


def parse_toml(content: bytes) -> tuple[dict[str, Any], list[Fault]]:
    """The keys of ``case.toml`` and what is wrong with the file itself."""
    try:
        with guard_reader(FILE, "Not valid TOML."):
            return _loaded(content)
    except InputError as error:
        return {}, error.faults


def _loaded(content: bytes) -> tuple[dict[str, Any], list[Fault]]:
    try:
        return tomllib.loads(content.decode("utf-8-sig")), []
    except UnicodeDecodeError as error:
        return {}, [Fault(FILE, 0, "", "", f"Save the file as UTF-8; byte {error.start} is not.")]
    except tomllib.TOMLDecodeError as error:
        return {}, [Fault(FILE, 0, "", "", f"Not valid TOML: {error}.", 'Texts need quotes: first_quarter = "2027Q1".')]


def build(given: dict[str, Any], catalogue: Catalogue) -> tuple[Settings | None, list[str], list[Fault]]:
    """Settings from the given keys; names of the defaults used; what is wrong."""
    faults: list[Fault] = []
    known = tuple(Settings.model_fields)
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key in known:
            values[key] = value
        elif key in REPLACED:
            expected = f"Replaced: state {', '.join(REPLACED[key])} instead, or leave them to their premises."
            faults.append(Fault(FILE, 0, key, _show(value), expected))
        else:
            faults.append(Fault(FILE, 0, key, _show(value), "A setting of a case.", nearest(key, known)))
    used: list[str] = []
    faults += _percentile(given, catalogue)
    for key in known:
        if key in values:
            continue
        if key in REQUIRED:
            faults.append(Fault(FILE, 0, key, "", f"Needed. {Settings.model_fields[key].description}"))
        else:
            values[key] = typed(key, catalogue.premise(f"case/{key}").value)
            used.append(key)
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        for item in error.errors():
            key = ".".join(str(part) for part in item["loc"])
            if item["type"] == "missing":
                continue
            described = Settings.model_fields[key].description if key in known else ""
            faults.append(Fault(FILE, 0, key, _show(item.get("input")), f"{_say(item)} {described}".strip()))
        return None, used, faults
    return (None if faults else settings), used, faults


def _percentile(given: dict[str, Any], catalogue: Catalogue) -> list[Fault]:
    """Percentiles of speed are those for which the packaged data have a factor over the median."""
    value = given.get("tps_percentile", catalogue.premise("case/tps_percentile").value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return []  # said by its type
    factors = [re.fullmatch(r"performance/tps_p([0-9.]+)_over_median", path) for path in catalogue.premises]
    known = sorted({50.0, *(float(found[1]) for found in factors if found)})
    if value in known:
        return []
    shown = ", ".join(f"{percentile:g}" for percentile in known)
    return [Fault(FILE, 0, "tps_percentile", _show(value), f"One of {shown}: of others no factor is known.")]


def _say(item: Any) -> str:
    text = str(item["msg"]).removeprefix("Value error, ")
    return text[0].upper() + text[1:] + "."


def _show(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 1_000:
        return "a number of hundreds of digits"
    return value if isinstance(value, str) else repr(value)


def problem(key: str, value: object) -> str:
    """What is expected of the value of a setting, "" for one that fits."""
    info = Settings.model_fields[key]
    kind: Any = Annotated[info.annotation, info]
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        return f"{' '.join(_say(item) for item in error.errors())} {info.description}"
    return ""


def typed(key: str, value: float | str) -> object:
    """A premise as the setting's own type: whole numbers where it is a count, names apart where it is a list."""
    if Settings.model_fields[key].annotation == list[str]:
        return str(value).split()
    whole = Settings.model_fields[key].annotation is int and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value
