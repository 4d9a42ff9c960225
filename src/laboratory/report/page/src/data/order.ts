// Orders of many numbers and texts, without a comparison for each pair.

const digits = 4,
  sizes = 1 << 16;

/** Two words a number, low before high, whose order as an integer is the numbers' order. NaN always comes last. */
function sortableBits(values: Float64Array, down: boolean): Uint32Array {
  const numbers = new Float64Array(values.length);
  for (let i = 0; i < values.length; ++i) numbers[i] = values[i] + 0; // -0 equals 0
  const bits = new Uint32Array(numbers.buffer), // little endian, as the document is
    turn = down ? 0xffffffff : 0;
  for (let i = 0; i < values.length; ++i) {
    const negative = bits[2 * i + 1] >>> 31;
    const isNumber = values[i] === values[i];
    bits[2 * i] = isNumber ? bits[2 * i] ^ (negative ? 0xffffffff : 0) ^ turn : 0xffffffff;
    bits[2 * i + 1] = isNumber ? bits[2 * i + 1] ^ (negative ? 0xffffffff : 0x80000000) ^ turn : 0xffffffff;
  }
  return bits;
}

/** Indices of `values` in ascending or descending order; equal values stay in their order, NaN comes last. */
export function orderOf(values: Float64Array, down: boolean): Uint32Array {
  const count = values.length,
    bits = sortableBits(values, down),
    places = new Uint32Array(sizes);
  let order = new Uint32Array(count),
    next = new Uint32Array(count);
  for (let i = 0; i < count; ++i) order[i] = i;
  // A radix sort: it takes each digit of 16 bits, the lowest first, and keeps the order of equal ones.
  for (let digit = 0; digit < digits; ++digit) {
    const word = digit >> 1,
      shift = 16 * (digit & 1);
    places.fill(0);
    for (let i = 0; i < count; ++i) ++places[(bits[2 * i + word] >>> shift) & 0xffff];
    if (count && places[(bits[word] >>> shift) & 0xffff] === count) continue; // all equal
    for (let size = 0, sum = 0; size < sizes; ++size) {
      const here = places[size];
      places[size] = sum;
      sum += here;
    }
    for (let i = 0; i < count; ++i) {
      const index = order[i];
      next[places[(bits[2 * index + word] >>> shift) & 0xffff]++] = index;
    }
    [order, next] = [next, order];
  }
  return order;
}

const isDigit = (code: number) => code >= 48 && code <= 57;

/** A text whose order by characters has numbers by their size: each behind its number of digits. */
function sortKey(text: string): string {
  let key = "",
    from = 0;
  for (let i = 0; i < text.length; ) {
    if (!isDigit(text.charCodeAt(i))) {
      ++i;
      continue;
    }
    const before = text.slice(from, i);
    while (text[i] === "0" && isDigit(text.charCodeAt(i + 1))) ++i;
    let end = i + 1;
    while (isDigit(text.charCodeAt(end))) ++end;
    key += before + String.fromCharCode(48 + Math.min(end - i, 16));
    [from, i] = [i, end];
  }
  return (key + text.slice(from)).toLowerCase();
}

/** Ranks of texts: numbers inside of a text by their size, letters without their case. */
export class TextRanks {
  private ranks = new Map<string, number>();

  /** A rank for each text, NaN for "". Ranks stay valid as long as no new text comes. */
  of(texts: string[]): Float64Array {
    const fresh = new Set<string>();
    for (const text of texts) if (!this.ranks.has(text)) fresh.add(text);
    if (fresh.size) {
      const keyed = [...this.ranks.keys(), ...fresh].map((text): [string, string] => [sortKey(text), text]);
      keyed.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
      this.ranks = new Map(keyed.map(([, text], index) => [text, index]));
    }
    const ranks = new Float64Array(texts.length);
    for (let i = 0; i < texts.length; ++i) ranks[i] = texts[i] === "" ? NaN : this.ranks.get(texts[i])!;
    return ranks;
  }
}
