// Settings of an experiment as people read them.
import { bytes, count } from "./format";

const units: Record<string, string> = { ms: "ms", us: "µs" };

function numberText(value: number, unit: string): string {
  if (unit === "bytes") return bytes(value);
  const text = Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(6)));
  return units[unit] ? `${text} ${units[unit]}` : text;
}

/** A setting as a name and a text; "" for what is not set: nothing, none, no, no limit. */
function settingText(name: string, value: unknown): [string, string] {
  const [, what, unit] = /^(.*)_(ms|us|bytes)$/.exec(name) ?? ["", name, ""];
  const title = what.replaceAll("_", " ");
  if (value === null || value === undefined || value === false || value === 0 || value === "") return [title, ""];
  if (value === true) return [title, "yes"];
  if (typeof value === "number") return [title, numberText(value, unit)];
  if (Array.isArray(value)) {
    const plain = value.every((item) => typeof item === "string" || typeof item === "number");
    return [title, plain ? value.join(", ") : count(value.length, "value")];
  }
  if (typeof value === "object")
    return [
      title,
      settingFacts(value as Record<string, unknown>)
        .map((fact) => fact.join(" "))
        .join(", "),
    ];
  return [title, String(value)];
}

/** What is set, by name: "max seconds" "0.3". */
export const settingFacts = (settings: Record<string, unknown>): [string, string][] =>
  Object.entries(settings)
    .filter(([name]) => name !== "machine") // which has a card of its own
    .map(([name, value]) => settingText(name, value))
    .filter(([, text]) => text);
