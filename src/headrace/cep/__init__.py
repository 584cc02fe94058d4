"""Complex event processing: patterns over streams, with the names of Flink's CEP library.

    pattern.py      what users write            conditions.py, skip_strategy.py: its parts
    compiler.py     stages ─▶ states and edges  automaton.py: which edges an event takes
    nfa.py          one step per event of a key shared_buffer.py: the events of partial matches

    pattern_stream.py  CEP.pattern(...)         operator.py: events and time of all keys
    documents.py    patterns as JSON            dynamic_patterns.py: CEP.dynamic_patterns(...)

The automaton is pure: nothing of it knows streams.
"""

from __future__ import annotations

from headrace.cep.conditions import (
    IterativeCondition,
    RichIterativeCondition,
    SimpleCondition,
)
from headrace.cep.documents import PatternDocument
from headrace.cep.dynamic_patterns import DynamicPatternStream
from headrace.cep.functions import (
    MatchedEvents,
    PatternFlatSelectFunction,
    PatternProcessFunction,
    PatternSelectFunction,
)
from headrace.cep.pattern import GroupPattern, Pattern, WithinType
from headrace.cep.pattern_stream import CEP, PatternStream, UnboundedPatternWarning
from headrace.cep.skip_strategy import AfterMatchSkipStrategy

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "DynamicPatternStream",
    "GroupPattern",
    "IterativeCondition",
    "MatchedEvents",
    "Pattern",
    "PatternDocument",
    "PatternFlatSelectFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "RichIterativeCondition",
    "SimpleCondition",
    "UnboundedPatternWarning",
    "WithinType",
]
