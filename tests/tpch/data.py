"""The eight tables of TPC-H, small and always the same, such that every query finds something.

The columns, the keys that join and the rules between dates and states are those of TPC-H; words
are fewer, so that few lines are enough.  In: a seed.  Out: Arrow tables.  Next: engines.py
"""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

_KEY, _INT, _TEXT, _DAY = pa.int64(), pa.int32(), pa.string(), pa.date32()
_MONEY = pa.decimal128(15, 2)
SQL_TYPES = {_KEY: "BIGINT", _INT: "INT", _TEXT: "STRING", _DAY: "DATE", _MONEY: "DECIMAL(15, 2)"}

COLUMNS: dict[str, dict[str, Any]] = {
    "region": {"r_regionkey": _KEY, "r_name": _TEXT, "r_comment": _TEXT},
    "nation": {"n_nationkey": _KEY, "n_name": _TEXT, "n_regionkey": _KEY, "n_comment": _TEXT},
    "supplier": {
        "s_suppkey": _KEY, "s_name": _TEXT, "s_address": _TEXT, "s_nationkey": _KEY,
        "s_phone": _TEXT, "s_acctbal": _MONEY, "s_comment": _TEXT,
    },
    "customer": {
        "c_custkey": _KEY, "c_name": _TEXT, "c_address": _TEXT, "c_nationkey": _KEY,
        "c_phone": _TEXT, "c_acctbal": _MONEY, "c_mktsegment": _TEXT, "c_comment": _TEXT,
    },
    "part": {
        "p_partkey": _KEY, "p_name": _TEXT, "p_mfgr": _TEXT, "p_brand": _TEXT, "p_type": _TEXT,
        "p_size": _INT, "p_container": _TEXT, "p_retailprice": _MONEY, "p_comment": _TEXT,
    },
    "partsupp": {
        "ps_partkey": _KEY, "ps_suppkey": _KEY, "ps_availqty": _INT, "ps_supplycost": _MONEY,
        "ps_comment": _TEXT,
    },
    "orders": {
        "o_orderkey": _KEY, "o_custkey": _KEY, "o_orderstatus": _TEXT, "o_totalprice": _MONEY,
        "o_orderdate": _DAY, "o_orderpriority": _TEXT, "o_clerk": _TEXT, "o_shippriority": _INT,
        "o_comment": _TEXT,
    },
    "lineitem": {
        "l_orderkey": _KEY, "l_partkey": _KEY, "l_suppkey": _KEY, "l_linenumber": _INT,
        "l_quantity": _MONEY, "l_extendedprice": _MONEY, "l_discount": _MONEY, "l_tax": _MONEY,
        "l_returnflag": _TEXT, "l_linestatus": _TEXT, "l_shipdate": _DAY, "l_commitdate": _DAY,
        "l_receiptdate": _DAY, "l_shipinstruct": _TEXT, "l_shipmode": _TEXT, "l_comment": _TEXT,
    },
}  # fmt: skip

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("KENYA", 0), ("SAUDI ARABIA", 4),
    ("CHINA", 2), ("ROMANIA", 3),
)  # fmt: skip
_COLOURS = ("forest green", "green olive", "antique misty", "forest lime", "navy plum", "red rose")
_SHAPES = ("ECONOMY", "PROMO", "STANDARD", "MEDIUM")
_FINISHES = ("ANODIZED", "POLISHED", "BRUSHED")
_METALS = ("STEEL", "BRASS", "TIN")
_CONTAINERS = ("SM CASE", "SM BOX", "MED BAG", "MED BOX", "LG CASE", "LG BOX")
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_MODES = ("AIR", "AIR REG", "MAIL", "SHIP", "TRUCK", "RAIL")
_INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE")
_WORDS = ("quick", "special", "packages", "requests", "deposits", "Customer", "Complaints")
_FIRST_DAY, _DAYS = datetime.date(1992, 1, 1), 2405
_TODAY = datetime.date(1995, 6, 17)

Lines = list[tuple[Any, ...]]


class _Sizes(NamedTuple):
    suppliers: int = 52
    parts: int = 120
    customers: int = 120
    orders: int = 900


def tables(seed: int = 22) -> dict[str, pa.Table]:
    """The tables by name; the same seed gives the same lines."""
    chance, sizes = random.Random(seed), _Sizes()
    offers = _offers(sizes)
    prices = {key: _money(chance, 90_000, 200_000) for key in range(1, sizes.parts + 1)}
    orders, lineitem = _orders_and_lines(chance, sizes, offers, prices)
    lines: dict[str, Lines] = {
        "region": [(key, name, _comment(chance)) for key, name in enumerate(REGIONS)],
        "nation": [(k, name, r, _comment(chance)) for k, (name, r) in enumerate(NATIONS)],
        "supplier": [_supplier(chance, key) for key in range(1, sizes.suppliers + 1)],
        "customer": [_customer(chance, key) for key in range(1, sizes.customers + 1)],
        "part": [_part(chance, key, price) for key, price in prices.items()],
        "partsupp": [
            (part, each, chance.randint(1, 400), _money(chance, 100, 100_000), _comment(chance))
            for part, found in offers.items()
            for each in found
        ],
        "orders": orders,
        "lineitem": lineitem,
    }
    return {name: _table(name, found) for name, found in lines.items()}


def _table(name: str, lines: Lines) -> pa.Table:
    columns = list(zip(*lines, strict=True))
    types = COLUMNS[name]
    return pa.table(
        {
            column: pa.array(values, kind)
            for (column, kind), values in zip(types.items(), columns, strict=True)
        }
    )


def _money(chance: random.Random, low: int, high: int) -> Decimal:
    return Decimal(chance.randint(low, high)).scaleb(-2)


def _comment(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=4))


def _phone(chance: random.Random, nation: int) -> str:
    return f"{nation + 10}-{chance.randint(100, 999)}-{chance.randint(1000, 9999)}"


def _supplier(chance: random.Random, key: int) -> tuple[Any, ...]:
    nation = key % len(NATIONS)
    balance = _money(chance, -99_999, 999_999)
    phone = _phone(chance, nation)
    return (key, f"Supplier#{key:09}", f"{key} Road", nation, phone, balance, _comment(chance))


def _customer(chance: random.Random, key: int) -> tuple[Any, ...]:
    nation = chance.randrange(len(NATIONS))
    balance = _money(chance, -99_999, 999_999)
    return (
        key, f"Customer#{key:09}", f"{key} Lane", nation, _phone(chance, nation), balance,
        chance.choice(_SEGMENTS), _comment(chance),
    )  # fmt: skip


def _part(chance: random.Random, key: int, price: Decimal) -> tuple[Any, ...]:
    maker = chance.randint(1, 3)
    kind = f"{chance.choice(_SHAPES)} {chance.choice(_FINISHES)} {chance.choice(_METALS)}"
    return (
        key, chance.choice(_COLOURS), f"Manufacturer#{maker}", f"Brand#{maker}{key % 3 + 1}", kind,
        chance.randint(1, 15), chance.choice(_CONTAINERS), price, _comment(chance),
    )  # fmt: skip


def _offers(sizes: _Sizes) -> dict[int, list[int]]:
    """For each part four suppliers."""
    step = sizes.suppliers // 4
    return {
        part: [
            (part + i * (step + part // sizes.suppliers)) % sizes.suppliers + 1 for i in range(4)
        ]
        for part in range(1, sizes.parts + 1)
    }


def _orders_and_lines(
    chance: random.Random,
    sizes: _Sizes,
    offers: dict[int, list[int]],
    prices: dict[int, Decimal],
) -> tuple[Lines, Lines]:
    # a third of all customers has no order, and keys of orders have gaps
    buyers = [key for key in range(1, sizes.customers + 1) if key % 3]
    orders: Lines = []
    lineitem: Lines = []
    for number in range(sizes.orders):
        key = number // 8 * 32 + number % 8 + 1
        day = _FIRST_DAY + datetime.timedelta(days=chance.randrange(_DAYS))
        lines = [
            _line(chance, key, place, day, offers, prices)
            for place in range(1, chance.randint(1, 7) + 1)
        ]
        lineitem += lines
        states = {line[9] for line in lines}
        total = sum((line[5] * (1 - line[6]) * (1 + line[7]) for line in lines), Decimal(0))
        orders.append((
            key, chance.choice(buyers), states.pop() if len(states) == 1 else "P",
            total.quantize(Decimal("0.01")), day, chance.choice(_PRIORITIES),
            f"Clerk#{chance.randint(1, 9):09}", 0, _comment(chance),
        ))  # fmt: skip
    return orders, lineitem


def _line(
    chance: random.Random,
    order: int,
    place: int,
    ordered: datetime.date,
    offers: dict[int, list[int]],
    prices: dict[int, Decimal],
) -> tuple[Any, ...]:
    part = chance.choice(list(prices))
    quantity = chance.randint(1, 50)
    shipped = ordered + datetime.timedelta(days=chance.randint(1, 121))
    committed = ordered + datetime.timedelta(days=chance.randint(30, 90))
    received = shipped + datetime.timedelta(days=chance.randint(1, 30))
    flag = chance.choice("RA") if received <= _TODAY else "N"
    return (
        order, part, chance.choice(offers[part]), place, Decimal(quantity), quantity * prices[part],
        _money(chance, 0, 10), _money(chance, 0, 8), flag, "O" if shipped > _TODAY else "F",
        shipped, committed, received, chance.choice(_INSTRUCTIONS), chance.choice(_MODES),
        _comment(chance),
    )  # fmt: skip
