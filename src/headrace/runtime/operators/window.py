"""The window operator: hands records and time to the strategy that runs its windows.

    record, watermark, timer ─▶ strategy (windows/strategies.py chooses) ─▶ kit ─▶ output

What a window holds is in windows/contents.py.  Next: windows/strategy.py
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from headrace.api.time_domain import TimeDomain
from headrace.data.records import MIN_TIMESTAMP
from headrace.runtime.key_codes import codes_of_column, codes_of_values
from headrace.runtime.key_selectors import column_keys
from headrace.runtime.operators.base import ListCursor
from headrace.runtime.operators.functions import open_function
from headrace.runtime.operators.keyed import TimedOperator
from headrace.runtime.state.provider import USER_STATES, StateProvider
from headrace.runtime.windows.kit import WindowKit, WindowStates
from headrace.runtime.windows.strategies import STRATEGIES, check_stored, choose_strategy
from headrace.spi.state import StateSpec

if TYPE_CHECKING:
    from headrace.data.records import Records
    from headrace.runtime.key_codes import Codes
    from headrace.runtime.operators.base import OperatorRuntime
    from headrace.runtime.watermarks import InputClocks
    from headrace.runtime.windows.description import WindowDescription
    from headrace.runtime.windows.strategy import WindowStrategy

_EVENT, _PROCESSING = TimeDomain.EVENT_TIME, TimeDomain.PROCESSING_TIME


# What functions ask for: by key and window, and by key.
TRIGGER_STATES = StateSpec("trigger/user/", "windows")
STATES_OF_WINDOWS = StateSpec("window-state/user/", "windows")
STATES_OF_KEYS = StateSpec("global-state/user/", "table")


class WindowOperator(TimedOperator):
    """Windows of one step in one subtask.

    Args:
        description: what the program says.
        strategies: the ways to run windows, of which the first that fits is taken.
    """

    def __init__(
        self,
        description: WindowDescription,
        strategies: tuple[type[WindowStrategy], ...] = STRATEGIES,
    ) -> None:
        super().__init__(description.function)
        self.description = description
        self.strategies = strategies

    def state_specs(self) -> tuple[StateSpec, ...]:
        # Which strategy is taken is known when the functions are open: some keep state themselves.
        kept = (spec for strategy in self.strategies for spec in strategy.states)
        return (
            *super().state_specs(), TRIGGER_STATES, STATES_OF_WINDOWS, STATES_OF_KEYS, *kept,
        )  # fmt: skip

    def open(self, runtime: OperatorRuntime) -> None:
        self.trigger_states = _user_states(runtime, TRIGGER_STATES)
        self.window_states = _user_states(runtime, STATES_OF_WINDOWS)
        self.global_states = _user_states(runtime, STATES_OF_KEYS)
        super().open(runtime)
        states = WindowStates(
            own=self.states,
            trigger=self.trigger_states,
            window=self.window_states,
            overall=self.global_states,
            timers={_EVENT: self.event_timers, _PROCESSING: self.processing_timers},
            folded=self._open_folds(),
        )
        self.kit = WindowKit(self.description, runtime, states, self.context_for_user)
        self.strategy = choose_strategy(self.kit, self.strategies)

    def _open_folds(self) -> bool:
        """Open reduce and aggregate; whether they use state of the key."""
        before = len(self.states.declared())
        for function in (self.description.reduce, self.description.aggregate):
            open_function(self, function, self.context_for_user)
        return len(self.states.declared()) > before

    def reload(self, clocks: InputClocks) -> None:
        super().reload(clocks)
        for states in (self.trigger_states, self.window_states, self.global_states):
            states.forget()
        self.kit.watermark = self.current_watermark
        check_stored(self.strategy)
        self.strategy.reload()

    def begin_batch(self) -> None:
        super().begin_batch()
        self.kit.contents.begin_batch(self.runtime.clock(), self.runtime.batch_id)

    def flush(self) -> None:
        self.strategy.flush()
        super().flush()
        for states in (self.trigger_states, self.window_states, self.global_states):
            states.flush()

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        if records.columns is None or not self._process_columns(records):
            self._process_records(records)
        self.kit.flush()

    def _process_columns(self, records: Records) -> bool:
        return self.strategy.process_columns(lambda: self._key_codes(records), records)

    def _process_records(self, records: Records) -> None:
        keys = self.keys(records)
        values, times = ListCursor(records.values), records.timestamps
        try:
            self.strategy.process(keys, values, times or repeat(MIN_TIMESTAMP, len(keys)))
        except Exception as error:
            raise self.failed(error, values.current) from error

    def _key_codes(self, records: Records) -> Codes:
        keying = self.runtime.keyings[0]
        column = None if keying is None else keying.column(records)
        if column is None or keying is None or keying.whole:
            return codes_of_values(self.keys(records))
        return codes_of_column(column, column_keys)

    def advance_watermark(self, timestamp: int) -> None:
        self.kit.watermark = timestamp
        try:
            self.strategy.advance_watermark(timestamp)
        except Exception as error:
            raise self.failed(error) from error
        super().advance_watermark(timestamp)

    def fire_event_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._fire(_EVENT, timestamp, key, namespace)

    def fire_processing_timer(self, timestamp: int, key: Any, namespace: Any) -> None:
        self._fire(_PROCESSING, timestamp, key, namespace)

    def _fire(self, domain: TimeDomain, timestamp: int, key: Any, namespace: Any) -> None:
        try:
            self.strategy.on_timer(domain, timestamp, key, namespace)
        except Exception as error:
            raise self.failed(error) from error

    def after_timers(self) -> None:
        self.kit.flush()


def _user_states(runtime: OperatorRuntime, family: StateSpec) -> StateProvider:
    place = f"{runtime.uid}/{family.name}".removesuffix(f"/{USER_STATES.name}")
    return StateProvider(runtime.store, place, runtime.clock)
