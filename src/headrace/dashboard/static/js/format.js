// Figures for people. What is not known is a dash, never a zero.

export const NONE = "–";
const BEGIN = -9e18; // Flink's Long.MIN_VALUE as a watermark: nothing was seen yet
const END = 9e18; // and Long.MAX_VALUE: the input has ended

/** A number out of an answer, or null: Flink writes figures as texts, and NaN for what it lacks. */
export function figure(value) {
  if (value === null || value === undefined || value === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

export function count(value) {
  const number = figure(value);
  return number === null ? NONE : Math.round(number).toLocaleString("en-US");
}

/** 1,234 -> "1.23 k"; for places where a whole number would not fit. */
export function short(value) {
  const number = figure(value);
  if (number === null) return NONE;
  const size = Math.abs(number);
  if (size < 1000)
    return size >= 10 || Number.isInteger(number)
      ? String(Math.round(number))
      : number.toFixed(size < 0.095 ? 2 : 1);
  const power = Math.min(4, Math.floor(Math.log10(size) / 3));
  return `${threeDigits(number / 1000 ** power)} ${["", "k", "M", "G", "T"][power]}`;
}

const threeDigits = (number) => number.toFixed(Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2);

/** The same without zeros at the end, for axes. */
export const trimmed = (text) =>
  String(text)
    .replace(/(\.\d*?)0+(?=\D|$)/, "$1")
    .replace(/\.(?=\D|$)/, "");

export const rate = (value) => (figure(value) === null ? NONE : `${short(value)}/s`);

export function bytes(value) {
  const number = figure(value);
  if (number === null || number < 0) return NONE;
  if (number < 1024) return `${Math.round(number)} B`;
  const power = Math.min(4, Math.floor(Math.log2(number) / 10));
  return `${threeDigits(number / 1024 ** power)} ${["", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

export function duration(ms) {
  const number = figure(ms);
  if (number === null || number < 0) return NONE;
  if (number < 1000) return `${Math.round(number)} ms`;
  if (number < 60_000) return `${(number / 1000).toFixed(number < 10_000 ? 1 : 0)} s`;
  const units = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1000],
  ];
  const first = units.findIndex(([, size]) => number >= size);
  return units
    .slice(first, first + 2)
    .map(
      ([unit, size], index) =>
        `${Math.floor(index ? (number % units[first][1]) / size : number / size)} ${unit}`,
    )
    .join(" ");
}

const known = (ms) => figure(ms) !== null && ms > 0;
const day = new Intl.DateTimeFormat("en-GB", { year: "numeric", month: "short", day: "numeric" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const time = (ms) => (known(ms) ? clock.format(new Date(ms)) : NONE);
export function moment(ms) {
  if (!known(ms)) return NONE;
  const date = new Date(ms);
  const today = day.format(date) === day.format(new Date());
  return today ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`;
}

export const percent = (share) => (figure(share) === null ? NONE : `${Math.round(share * 100)} %`);

export function watermark(value) {
  const number = figure(value);
  if (number === null) return NONE;
  if (number <= BEGIN) return "none yet";
  if (number >= END) return "end of input";
  return moment(number);
}

/** How far event time is behind the clock in ms; null if there is no watermark to compare. */
export function lag(value, now) {
  const number = figure(value);
  return number === null || number <= BEGIN || number >= END ? null : Math.max(0, now - number);
}
