// Control characters as text. Names in a store may hold any: a newline would end a row, a character of the
// bidirectional algorithm (U+202E) would turn the text behind it around.

// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const short: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const escaped = (letter: string): string =>
  short[letter] ?? `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** "\\u202eevil" for a text with U+202E. */
export const visible = (text: string): string =>
  controls.test(text) ? text.replace(new RegExp(controls, "g"), escaped) : text;

/** Every text inside of a JSON value, keys included. Commands stay as they are typed: they are copied. */
export function visibleIn<T>(value: T): T {
  if (typeof value === "string") return visible(value) as T;
  if (Array.isArray(value)) return value.map(visibleIn) as T;
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [visible(key), key === "command" ? inner : visibleIn(inner)]),
    ) as T;
  return value;
}
