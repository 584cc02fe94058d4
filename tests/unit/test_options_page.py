"""The page of options says what the code says."""

from __future__ import annotations

import options_page


def test_the_options_page_is_up_to_date() -> None:
    assert options_page.PAGE.read_text(encoding="utf-8") == options_page.page(), "run make golden"
