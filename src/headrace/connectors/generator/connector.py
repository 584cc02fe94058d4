"""The name by which this connector is found (pyproject.toml).  Next: datagen.py"""

from __future__ import annotations

from headrace.connectors.generator.datagen import DataGeneratorSource
from headrace.connectors.generator.number_seq import NumberSequenceSource
from headrace.spi.connector import Connector

CONNECTOR = Connector(
    "Numbers and generated records", sources=(DataGeneratorSource, NumberSequenceSource)
)
