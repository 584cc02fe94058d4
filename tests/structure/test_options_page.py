"""The page of options says what the code says."""

from __future__ import annotations

import options_page
from source_files import tell_if_stale


def test_the_options_page_is_up_to_date() -> None:
    tell_if_stale(options_page.PAGE, options_page.page(), "make golden")
