"""A result that changes while one looks at it, on the whole terminal, a page at a time.

      name | n              Q quits and ends the query, N and P turn pages, F and L go to the
      tea  | 3              first and last page, arrows move; + and - change how often
      milk | 1              the page is drawn again

In: a result in the mode table or changelog.  Out: nothing; the terminal is as before when the
user leaves.  Next: cli/sql/materialized.py keeps the lines
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl

from headrace.cli.sql.display import put, rows_of
from headrace.cli.sql.materialized import ChangelogLines, MaterializedLines
from headrace.cli.sql.progress import progress_of
from headrace.table.tableau import Tableau

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output

    from headrace.cli.sql.settings import DisplaySettings
    from headrace.table.table_result import TableResult

_REFRESH_S = (0.1, 0.25, 0.5, 1.0, 5.0, 10.0)
# lines of the screen that are no lines of the result: title, header of three, border, keys
_FRAME = 6
_KEYS = " Q quit   N/P next/previous page   F/L first/last   ←/→ columns   +/- refresh "


def show_on_screen(
    result: TableResult,
    how: DisplaySettings,
    *,
    keys: Input | None = None,
    output: Output | None = None,
) -> None:
    """Show a result until the user leaves it; the query ends with that, if it still runs.

    Args:
        result: of a query.
        how: in which mode, how wide, how many lines.
        keys: where keys come from; the terminal by default.
        output: where the screen is; the terminal by default.

    Raises:
        HeadraceError: the query has failed.
    """
    screen = ResultScreen(result, how)
    screen.start()
    try:
        screen.application(keys, output).run()
    finally:
        screen.close()
    if screen.error is not None:
        raise screen.error
    put(f"[INFO] {screen.summary()}")


class ResultScreen:
    """The lines of a result, and which of them are on the screen.

    Args:
        result: of a query.
        how: in which mode, how wide, how many lines.
    """

    def __init__(self, result: TableResult, how: DisplaySettings) -> None:
        self._rows = result.collect()
        # a stream has rows to look at; what comes at the end has something to wait for
        self._progress = None if how.streaming else progress_of(result)
        self._how = how
        self._changelog = how.mode == "changelog"
        make = ChangelogLines if self._changelog else MaterializedLines
        self.lines: MaterializedLines = make(how.max_rows)
        self._table = Tableau.for_stream(
            result.get_resolved_schema(),
            kinds=self._changelog,
            zone=how.zone,
            max_width=how.max_width,
        )
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self._page: int | None = 0 if not self._changelog else None  # None: the last one
        self._left = 0
        self._speed = 1
        self._closed = False
        self._updated = time.time()
        self._app: Application[None] | None = None
        self._reader = threading.Thread(target=self._read, name="headrace-sql-result", daemon=True)

    # --- reading -----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read the result."""
        self._reader.start()

    def _read(self) -> None:
        try:
            for row in rows_of(self._rows):
                self.lines.apply(str(row.get_row_kind()), tuple(self._table.texts(row)))
                self._updated = time.time()
        except BaseException as error:
            # a cancelled job ends with an error, too, which the user has asked for
            self.error = None if self._closed else error
        self.ended.set()

    def close(self) -> None:
        """End the query, if it still runs."""
        self._closed = True
        self._rows.close()
        self._reader.join(timeout=30)

    def summary(self) -> str:
        """What is told when the screen is gone."""
        count = len(self.lines)
        what = "changes" if self._changelog else "rows"
        return f"the result had {count} {what if count != 1 else what[:-1]}"

    # --- showing -----------------------------------------------------------------------------

    def application(self, keys: Input | None, output: Output | None) -> Application[None]:
        """The screen as prompt_toolkit runs it."""
        title = Window(FormattedTextControl(self._title), height=1, style="reverse")
        body = Window(FormattedTextControl(self._body), always_hide_cursor=True)
        footer = Window(FormattedTextControl(lambda: [("", _KEYS)]), height=1, style="reverse")
        self._app = Application(
            layout=Layout(HSplit([title, body, footer])),
            key_bindings=self._bindings(),
            full_screen=True,
            input=keys,
            output=output,
        )
        self._app.pre_run_callables.append(self._begin_refreshing)
        return self._app

    def _begin_refreshing(self) -> None:
        app = self._app
        assert app is not None
        app.create_background_task(self._refresh(app))

    async def _refresh(self, app: Application[None]) -> None:
        while True:
            await asyncio.sleep(_REFRESH_S[self._speed])
            if self.error is not None:
                app.exit()
                return
            app.invalidate()

    def _size(self) -> tuple[int, int]:
        assert self._app is not None
        size = self._app.output.get_size()
        return max(1, size.rows - _FRAME), size.columns

    def page(self) -> tuple[int, int]:
        """Which page is shown, and how many there are; both from 1."""
        height, _ = self._size()
        pages = max(1, -(-len(self.lines) // height))
        shown = pages - 1 if self._page is None else min(self._page, pages - 1)
        return shown + 1, pages

    def _title(self) -> StyleAndTextTuples:
        number, pages = self.page()
        mode = "Changelog" if self._changelog else "Table"
        state = f"every {_REFRESH_S[self._speed]:g} s"
        if self.ended.is_set():
            state = "the query has ended"
        elif self._progress is not None:
            state = self._progress.text() or state
        clock = time.strftime("%H:%M:%S", time.localtime(self._updated))
        text = f" {mode}   page {number} of {pages}   {len(self.lines)} lines   {state}   {clock}"
        return [("", text.ljust(self._size()[1]))]

    def _body(self) -> StyleAndTextTuples:
        height, width = self._size()
        number, _ = self.page()
        shown = self.lines.lines((number - 1) * height, number * height)
        if not self._changelog:
            self._table.fit(shown, self._how.max_width)
        lines = [*self._table.header().split("\n"), *(self._table.line(c) for c in shown)]
        lines.append(self._table.border())
        return [("", "\n".join(line[self._left : self._left + width] for line in lines))]

    # --- keys --------------------------------------------------------------------------------

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        def on(*names: str) -> None:
            action = names[0]

            def press(event: KeyPressEvent) -> None:
                self.press(action)
                if action == "q":
                    event.app.exit()
                event.app.invalidate()

            for name in names:
                bindings.add(name)(press)

        on("q", "Q", "c-c", "c-d", "escape")
        on("n", "N", "pagedown", "down", "space")
        on("p", "P", "pageup", "up")
        on("f", "F", "home")
        on("l", "L", "end")
        on("left")
        on("right")
        on("+")
        on("-")
        on("r", "R")
        return bindings

    def press(self, key: str) -> None:
        """What a key does: n, p, f, l, left, right, + or -; others nothing."""
        number, pages = self.page()
        if key == "n":
            self._page = number if number < pages else None if self._page is None else pages - 1
        elif key == "p":
            self._page = max(0, number - 2)
        elif key == "f":
            self._page = 0
        elif key == "l":
            self._page = None
        elif key in ("left", "right"):
            self._left = max(0, self._left + (20 if key == "right" else -20))
        elif key in ("+", "-"):
            step = 1 if key == "+" else -1
            self._speed = min(max(0, self._speed + step), len(_REFRESH_S) - 1)
