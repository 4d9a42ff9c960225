// Slow-downs by company: points that ran beside another problem, over the same points alone in the same experiment.
import { judgementOf } from "./cells";
import type { Dataset } from "./dataset";
import type { Judged } from "./judged";
import type { Setting } from "./schema";

export interface SlowDown {
  point: number; // in company
  alone: number;
  judged: Judged; // time in company / time alone; "faster": alone is faster
}

/** Slow-downs of one column under one setting. */
export interface CompanyMatrix {
  name: string;
  problems: string[]; // down
  companies: string[]; // across: short texts of the problems that ran beside, as they are told apart
  cells: (SlowDown | undefined)[][]; // [problem][company]
}

/** The setting without its company, as a key. */
const bare = ({ company: _company, text: _text, ...rest }: Setting): string => JSON.stringify(rest);

/** The slow-downs of the points in company among `points`. */
export function slowDownsOf(data: Dataset, points: number[]): SlowDown[] {
  const inCompany = points.filter((point) => data.setting(point).company && data.counts(point));
  if (!inCompany.length) return [];
  const keys = data.document.settings.map(bare),
    setting = data.column("setting"),
    experiment = data.column("experiment"),
    problem = data.column("problem"),
    key = (point: number) => `${experiment[point]} ${problem[point]} ${data.columnOf[point]} ${keys[setting[point]]}`;
  const alone = new Map<string, number>(); // also points that were measured again later, in another experiment
  for (let point = 0; point < data.count; ++point)
    if (!data.setting(point).company && data.counts(point)) alone.set(key(point), point);
  return inCompany.flatMap((point) => {
    const other = alone.get(key(point));
    return other === undefined ? [] : [{ point, alone: other, judged: judgementOf(data, point, other) }];
  });
}

/** What ran beside a point, as a short text. */
export function companyTitle(data: Dataset, point: number, title: (text: string) => string): string {
  const company = data.setting(point).company!;
  return `${title(company.problem)} (${company.threads} thread${company.threads === 1 ? "" : "s"}, same ${company.place})`;
}

export function companyMatrices(data: Dataset, points: number[], title: (text: string) => string): CompanyMatrix[] {
  const matrices = new Map<string, CompanyMatrix>();
  for (const one of slowDownsOf(data, points)) {
    const name = `${data.placedText(one.alone)} — ${data.conditionText(one.alone)}`,
      matrix = matrices.get(name) ?? { name, problems: [], companies: [], cells: [] };
    matrices.set(name, matrix);
    const place = (list: string[], text: string) => (list.includes(text) ? list.indexOf(text) : list.push(text) - 1),
      row = place(matrix.problems, title(data.problem(one.point).text));
    (matrix.cells[row] ??= [])[place(matrix.companies, companyTitle(data, one.point, title))] = one;
  }
  return [...matrices.values()];
}
