// Numbers as text, with units. NaN is "".

/** Four significant digits, without exponents for what people read. */
export function digits(value: number, count = 4): string {
  if (!Number.isFinite(value)) return "";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude < -5 || magnitude > 9) return value.toExponential(count - 1);
  return value.toFixed(Math.max(0, Math.min(12, count - 1 - magnitude)));
}
/** The same without zeros at the end, for axes. */
export const tick = (value: number, count = 3): string => {
  const text = digits(value, count);
  return /\.\d*0$/.test(text) ? text.replace(/\.?0+$/, "") : text;
};
/** How many of the unit that suits a time are one second, and its name. */
export const unitOf = (seconds: number): [number, string] =>
  seconds >= 1 ? [1, "s"] : seconds >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
/** A time with the unit that suits it. */
export function time(seconds: number): string {
  if (!Number.isFinite(seconds)) return "";
  const [factor, unit] = seconds >= 1e-6 ? unitOf(seconds) : [1e9, "ns"];
  return `${digits(seconds * factor)} ${unit}`;
}
export const milliseconds = (seconds: number): string =>
  Number.isFinite(seconds) ? `${digits(seconds * 1e3)} ms` : "";
export const percent = (share: number): string => (Number.isFinite(share) ? `${(share * 100).toFixed(1)} %` : "");
export const ratio = (value: number): string => (Number.isFinite(value) ? `${value.toFixed(3)}×` : "");
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; value >= 1000 && unit + 1 < units.length; ++unit) value /= 1000;
  return `${digits(value, 3)} ${units[unit]}`;
}
export const count = (value: number, noun: string): string =>
  `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
/** "3 of 40"; "3" if nobody knows how many there will be. */
export const outOf = (value: number, planned?: number): string =>
  (planned !== undefined && planned >= value ? [value, planned] : [value]).map((n) => n.toLocaleString("en")).join(" of ");
/** How long one has to wait: "about 20 s", "about 3 min", "about 1.5 h". */
export function wait(seconds: number): string {
  if (seconds < 90) return `about ${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `about ${Math.round(seconds / 60)} min` : `about ${(seconds / 3600).toFixed(1)} h`;
}
/** The status of what another program measured, whose output nobody has checked here. */
export const notVerified = "not_verified";
/** The name of a status as people read it. */
export const statusText = (status: string): string => (status === notVerified ? "not verified here" : status);
/** "2026-11-22 14:03 UTC" of a stored date. */
export const date = (text: string): string => (text ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : "");
/** "2026-11-22 14:03:05" of a stored date, for tables. */
export const moment = (text: string): string => text.slice(0, 19).replace("T", " ");
/** `text` with its middle left out. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) * 0.4);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}
/** The text of a problem without what goes without saying: constants, biases, unit strides, hashes of models. */
export function problemTitle(text: string): string {
  const same = (name: string, list: string) => {
    const values = list.split(",");
    return values.every((value) => value === values[0]) ? `${name} ${values[0]}` : `${name}s ${list}`;
  };
  return text
    .replace(/@[0-9a-f]{16}\b/, "")
    .replace(/:const\b/g, "")
    .replace(/ (?:dilations|strides)=1(?:,1)*(?= |$)/g, "")
    .replace(/ pads=0(?:,0)*(?= |$)/g, "")
    .replace(/ b=\d+(?= |$)/g, "")
    .replace(/ (pad|stride|dilation)s=([\d,]+)/g, (_all, name: string, list: string) => ` ${same(name, list)}`)
    .replace(/(\d)x(?=\d)/g, "$1×");
}
/** The text of a setting without options of `lathe compile` that are its defaults or that stand before. */
export function settingTitle(text: string): string {
  return text.replace(/\bcompile( .*)$/, (_all, options: string) =>
    options
      .replace(/ --target native(?= |$)| --threads \d+(?= |$)| -O 3(?= |$)| --zoo-seed 0(?= |$)/g, "")
      .trim(),
  ).replace(/, $/, "");
}
/** "faster", "ambiguous (too few starts)" */
export const verdictText = (judged: { verdict: string; because?: string }): string =>
  judged.because ? `${judged.verdict} (${judged.because})` : judged.verdict;
/** "0.95 to 1.05" */
export function interval({ low, high, isRange }: { low: number; high: number; isRange: boolean }): string {
  return `${low.toFixed(3)} to ${high.toFixed(3)}${isRange ? " (range)" : ""}`;
}
