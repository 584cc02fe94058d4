"""The page of connectors and formats says what the code says."""

from __future__ import annotations

import sql_connectors_page as generator
from headrace.connectors.tables import TABLE_CONNECTORS
from headrace.formats.tables.registry import TABLE_FORMATS
from source_files import place, tell, tell_if_stale


def test_the_page_of_connectors_is_up_to_date() -> None:
    tell_if_stale(generator.PAGE, generator.page(), "make golden")


def test_every_option_says_what_it_does() -> None:
    connectors = [TABLE_CONNECTORS.new(name) for name in TABLE_CONNECTORS.names()]
    formats = [TABLE_FORMATS.new(name) for name in TABLE_FORMATS.names()]
    options = [option for each in connectors for option in (*each.required, *each.optional)]
    options += [option for each in formats for option in each.options]
    at = place(generator.PAGE, 1)
    tell(
        f"{at} the option {each.key} says nothing (give it a doc where it is defined)"
        for each in options
        if not each.doc
    )
