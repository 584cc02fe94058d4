"""The sizes that decide how state is laid out; decisions 0004 and 0009 have the measurements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of one table. Tests make them small, so that every path runs."""

    # a page that is stored in more bytes than this splits
    page_bytes: int = 16 * 1024
    # a value of so many bytes has a record of its own
    own_record_bytes: int = 256
    # about so many entries are unpickled to find one
    bucket_entries: int = 16
    # the hot region: so many entries and stored bytes
    hot_entries: int = 100_000
    hot_bytes: int = 16 << 20
    # about so many bytes of them are stored together: all are read when a table opens
    segment_bytes: int = 64 * 1024
    # a page with fewer changes than this share of its entries is not worth writing ...
    sparse_share: int = 8
    # ... if there are at least so many such pages
    sparse_pages: int = 4
    # a list or map of a key with more entries, or more bytes, is stored in parts of its own
    inline_entries: int = 512
    inline_bytes: int = 4096
    # a part of a large list
    chunk_bytes: int = 16 * 1024


LIMITS = Limits()
