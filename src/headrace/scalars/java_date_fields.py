"""The single letters of Java's date patterns: what they show, and what they read.

In: a time, or the texts that letters matched.  Out: texts, or a time.  Next: scalars/moments.py
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from headrace.scalars import moments as m
from headrace.scalars.offsets import offset_named
from headrace.scalars.session import zone_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.scalars.java_dates import PatternToken

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_QUARTERS = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")


_NUMBERS: dict[str, Callable[[date, int], int]] = {
    "d": lambda day, _: day.day,
    "D": lambda day, _: day.timetuple().tm_yday,
    "e": lambda day, _: day.isoweekday() % 7 + 1,
    "c": lambda day, _: day.isoweekday() % 7 + 1,
    "u": lambda day, _: day.isoweekday(),
    "F": lambda day, _: (day.day - 1) // 7 + 1,
    "H": lambda _, time: time // m.HOUR,
    "k": lambda _, time: time // m.HOUR or 24,
    "K": lambda _, time: time // m.HOUR % 12,
    "h": lambda _, time: time // m.HOUR % 12 or 12,
    "m": lambda _, time: time // m.MINUTE % 60,
    "s": lambda _, time: time // m.SECOND % 60,
    "S": lambda _, time: time // m.MILLI % 1000,
    "n": lambda _, time: time % m.SECOND,
    "A": lambda _, time: time // m.MILLI,
    "N": lambda _, time: time,
    "w": lambda day, _: week_of_year(day),
    "W": lambda day, _: (day.day + day.replace(day=1).isoweekday() % 7 - 1) // 7 + 1,
}


class MomentFields:
    """A time, letter by letter."""

    def __init__(self, wall: int, zone: tzinfo | None, *, legacy: bool, later: bool) -> None:
        self._wall = wall
        self._fold = int(later)
        self._zone = zone or UTC
        self._legacy = legacy
        self._date = m.day_of(wall)
        self._time = wall % m.DAY

    def text(self, letter: str, count: int) -> str:
        """What a run of a letter shows."""
        if letter in "MLQqEaGzZXxVO" or (letter in "ec" and count >= 3):
            return self._words(letter, count)
        if letter in "yuY" and not (letter == "u" and self._legacy):
            return self._year(letter, count)
        if letter == "S" and not self._legacy:
            return f"{self._time % m.SECOND:09}"[:count].ljust(count, "0")
        return str(_NUMBERS[letter](self._date, self._time)).rjust(count, "0")

    def _year(self, letter: str, count: int) -> str:
        year = _week_year(self._date) if letter == "Y" else self._date.year
        return f"{year % 100:02}" if count == 2 else str(year).rjust(count, "0")

    def _words(self, letter: str, count: int) -> str:
        match letter:
            case "M" | "L":
                return _named(MONTHS[self._date.month - 1], self._date.month, count)
            case "E" | "e" | "c":
                name = DAYS[self._date.weekday()]
                return name[0] if count == 5 else name if count == 4 else name[:3]
            case "Q" | "q":
                quarter = (self._date.month + 2) // 3
                words = {3: f"Q{quarter}", 4: _QUARTERS[quarter - 1]}
                return words.get(count, str(quarter).rjust(min(count, 2), "0"))
            case "a":
                return "AM" if self._time < 12 * m.HOUR else "PM"
            case "G":
                return "Anno Domini" if count == 4 and not self._legacy else "AD"
            case _:
                return self._offset(letter, count)

    def _offset(self, letter: str, count: int) -> str:
        moment = (m.EPOCH + timedelta(seconds=self._wall // m.SECOND)).replace(
            tzinfo=self._zone, fold=self._fold
        )
        if letter == "V":
            return str(self._zone)
        if letter == "z":
            return str(moment.tzname())
        offset = moment.utcoffset() or timedelta()
        if letter == "X" and not offset:
            return "Z"
        sign, minutes = ("-", "+")[offset >= timedelta()], abs(offset) // timedelta(minutes=1)
        hours, rest = divmod(minutes, 60)
        if letter == "O":
            return "GMT" if not minutes else f"GMT{sign}{hours}" + (f":{rest:02}" if rest else "")
        if letter in "Xx" and count == 1:
            return f"{sign}{hours:02}" + (f"{rest:02}" if rest else "")
        colon = ":" if letter in "Xx" and count in (3, 5) else ""
        return f"{sign}{hours:02}{colon}{rest:02}"


def _named(name: str, number: int, count: int) -> str:
    match count:
        case 1 | 2:
            return str(number).rjust(count, "0")
        case 3:
            return name[:3]
        case 5:
            return name[0]
        case _:
            return name


def week_of_year(day: date) -> int:
    """The week of a year in Java's default calendar: weeks begin on Sunday, 1 January is in 1."""
    if _week_year(day) > day.year:
        return 1
    first = date(day.year, 1, 1)
    return (day.timetuple().tm_yday + first.isoweekday() % 7 - 1) // 7 + 1


def _week_year(day: date) -> int:
    """The year that a week belongs to."""
    next_first = date(day.year + 1, 1, 1) if day.year < 9999 else None
    if next_first is None:
        return day.year
    begins = next_first - timedelta(days=next_first.isoweekday() % 7)
    return day.year + 1 if day >= begins else day.year


def words_expression(letter: str, count: int) -> str:
    """What a letter that stands for words matches."""
    match letter:
        case "M" | "L":
            names = MONTHS if count == 4 else [name[:3] for name in MONTHS]
            return "|".join([*names, *(MONTHS if count != 4 else ())][::-1])
        case "E" | "e" | "c":
            return "|".join([*DAYS, *(name[:3] for name in DAYS)])
        case "a":
            return "(?:AM|PM|am|pm)"
        case "G":
            return "Anno Domini|AD|BC"
        case "Q" | "q":
            return "|".join([*_QUARTERS, "Q[1-4]"])
        case "V":
            return r"[A-Za-z0-9_+\-/:]+"
        case "z":
            return r"[A-Za-z0-9_+\-/:]+"
        case _:
            return r"Z|(?:GMT)?[+-]\d{1,2}(?::?\d{2})?(?::?\d{2})?"


class ReadFields:
    """What letters of a pattern matched in a text."""

    def __init__(self, found: list[tuple[PatternToken, str]], legacy: bool) -> None:  # noqa: FBT001
        self._texts = {token.letter: text.strip() for token, text in found}
        self._counts = {token.letter: token.count for token, _ in found}
        self._legacy = legacy

    def _number(self, *letters: str) -> int | None:
        for letter in letters:
            if letter in self._texts:
                return int(self._texts[letter])
        return None

    def _year(self) -> int:
        letter = next((each for each in ("u", "y", "Y") if each in self._texts), None)
        if letter is None or (letter == "u" and self._legacy):
            return 1970
        text = self._texts[letter]
        if self._counts[letter] == 2 and len(text) == 2:
            return _full_year(int(text)) if self._legacy else 2000 + int(text)
        return int(text)

    def _month(self) -> int:
        text = self._texts.get("M", self._texts.get("L"))
        if text is None:
            quarter = self._texts.get("Q", self._texts.get("q"))
            return 1 if quarter is None else int(quarter.removeprefix("Q")[0]) * 3 - 2
        if text.lstrip("+-").isdigit():
            return int(text)
        return next(i for i, name in enumerate(MONTHS, 1) if name.lower().startswith(text.lower()))

    def _hour(self) -> int:
        whole = self._number("H")
        if whole is not None:
            return whole
        late = self._number("k")
        if late is not None:
            return late % 24
        half = self._number("h", "K")
        if half is None:
            return 0
        return half % 12 + (12 if self._texts.get("a", "AM").upper() == "PM" else 0)

    def _fraction(self) -> int:
        text = self._texts.get("S")
        if text is not None:
            if self._legacy:
                return int(text) * m.MILLI
            return int(text[:9].ljust(9, "0"))
        return self._number("n") or 0

    def smart_wall(self) -> int:
        """Nanoseconds on the wall clock; a day behind the end of its month is the last.

        Raises:
            ValueError: a part is out of its range.
        """
        from headrace.scalars.casting.times import smart_nanos

        year = self._year()
        day_of_year = self._number("D")
        hour, minute = self._hour(), self._number("m") or 0
        second, fraction = self._number("s") or 0, self._fraction()
        if day_of_year is not None and "M" not in self._texts:
            start = smart_nanos(year, 1, 1, hour, minute, second, fraction)
            return start + (day_of_year - 1) * m.DAY
        day = self._number("d")
        return smart_nanos(
            year, self._month(), 1 if day is None else day, hour, minute, second, fraction
        )

    def lenient_wall(self) -> int:
        """Nanoseconds on the wall clock; parts out of their range run over, as in Java."""
        day = m.add_months(date(self._year(), 1, 1), self._month() - 1)
        number = self._number("d")
        days = (1 if number is None else number) - 1
        if "D" in self._texts and "M" not in self._texts:
            days = int(self._texts["D"]) - 1
        time = self._hour() * m.HOUR + (self._number("m") or 0) * m.MINUTE
        time += (self._number("s") or 0) * m.SECOND + self._fraction()
        return m.day_nanos(day) + days * m.DAY + time

    def offset_nanos(self) -> int | None:
        """The distance from UTC that the text names; None if it names none."""
        for letter in ("X", "Z", "x", "z", "V"):
            text = self._texts.get(letter)
            if text is not None:
                zone = offset_named(text) or zone_named(text)
                offset = zone.utcoffset(datetime(1970, 1, 1))
                return (offset or timedelta()) // timedelta(microseconds=1) * m.MICRO
        return None


def _full_year(two: int) -> int:
    """A year of two digits: within 80 years before and 20 after today."""
    today = datetime.now(UTC).year
    year = today - today % 100 + two
    if year > today + 20:
        return year - 100
    return year + 100 if year <= today - 80 else year
