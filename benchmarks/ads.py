"""The ads of Yahoo's streaming benchmark and their campaigns: the small side of the join."""

from __future__ import annotations

CAMPAIGNS, ADS_PER_CAMPAIGN = 100, 10
ADS = {
    f"ad-{number:04d}": f"campaign-{number // ADS_PER_CAMPAIGN:03d}"
    for number in range(CAMPAIGNS * ADS_PER_CAMPAIGN)
}
