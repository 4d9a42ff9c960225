// The tooltip of a point.
import { tip } from "./plot";
import type { Dataset } from "../data/dataset";
import { count, digits, percent, time } from "../data/format";

export function pointTip(data: Dataset, point: number, more: [string, string][] = []): HTMLElement {
  if (point < 0) return tip([["several points"], ...more]);
  const number = (name: Parameters<Dataset["number"]>[1]) => data.number(point, name);
  const lines: [string, string?][] = [
    [data.problem(point).text],
    [data.scheduledText(point), data.contextText(point)],
    ...more,
  ];
  if (data.timed(point))
    lines.push(
      ["median", time(number("median"))],
      [data.spreadName(point), `${time(number("low"))} to ${time(number("high"))}`],
      ["quartiles", `${time(number("p25"))} to ${time(number("p75"))}`],
      ["samples", count(data.nanoseconds(point).length, "sample")],
    );
  if (data.gflops(point) > 0) lines.push(["speed", `${digits(data.gflops(point))} GFLOPS`]);
  if (number("roofline_share") > 0)
    lines.push(["of the roofline", `${percent(number("roofline_share"))} (${data.text(point, "bound")})`]);
  return tip(lines);
}
