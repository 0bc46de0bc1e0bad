"""The price of a parcel: price.py WEIGHT_KG ZONE"""

import sys

BASE = {"home": 4.99, "europe": 12.9, "world": 24.5}
PER_KG = {"home": 0.8, "europe": 1.9, "world": 6.2}


def price(weight: float, zone: str) -> float:
    return BASE[zone] + PER_KG[zone] * weight


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in BASE:
        sys.exit(f"usage: price.py WEIGHT_KG {'|'.join(BASE)}")
    print(f"{price(float(sys.argv[1]), sys.argv[2]):.2f} EUR")
