"""A small case that is right, and a way to make one thing in it wrong."""

import pytest

from procure.case import Case

QUARTERS = [f"{2027 + step // 4}Q{step % 4 + 1}" for step in range(8)]

FILES = {
    "case.toml": 'name = "small"\nfirst_quarter = "2027Q1"\nplanned_quarters = 2\n',
    "forecast.csv": "quarter,workload,peak_requests_per_s\n"
    + "".join(f"{quarter},{name},{10 + i}\n" for i, quarter in enumerate(QUARTERS) for name in ("talk", "code")),
    "workloads.csv": "workload,scenario,card,context_cap_tokens\ntalk,chat,deepseek-v3.2,\n"
    "code,large-coding,deepseek-v3.2,163840\n",
    "sites.csv": "site,from_quarter,power_kw,power_basis,pue,positions,area_m2,pods_max,electricity_usd_per_kwh,"
    "space_usd_per_kw_month\nnorth,2027Q1,10000,it,1.15,60,200,2,0.08,150\n",
    "budget.csv": "quarter,budget_usd\n" + "".join(f"{quarter},1e8\n" for quarter in QUARTERS),
    "fleet.csv": "site,sku,count,in_service,paid_usd_per_unit\nnorth,GB200_NVL72,4,2025Q3,3.7e6\n",
    "orders.csv": "site,sku,count,delivery,price_usd_per_unit\nnorth,vr-nvl72,2,2027Q2,9e6\n",
}


@pytest.fixture
def folder(tmp_path):
    """Write the small case; ``edits`` replaces text in files, ``files`` replaces or (with None) removes whole ones."""

    def write(edits=None, files=None, name="case"):
        target = tmp_path / name
        target.mkdir()
        for file, content in {**FILES, **(files or {})}.items():
            if content is None:
                continue
            for old, new in (edits or {}).get(file, []):
                assert old in content, old
                content = content.replace(old, new, 1)
            (target / file).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return target

    return write


@pytest.fixture
def small(folder):
    return Case.read(folder())
