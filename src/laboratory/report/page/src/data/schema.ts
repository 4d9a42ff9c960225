// The document inside of a report page, version 2. report/PageData.cpp writes it.
//
// Columns are typed arrays in base64, little endian, with one number for each row. A number that is not
// known is NaN; a column that no row knows is absent. `u32` columns named after a text or a list (provider,
// problem, ...) hold indices.

export const schemaVersion = 2;
/** Index of a tuning record without a known experiment or platform. */
export const nobody = 0xffffffff;

export interface Column {
  type: "u8" | "u16" | "u32" | "f64";
  data: string;
}

export interface Bandwidths {
  name: string; // "L1", "L2", "L3", "memory"
  capacity_bytes: number; // 0: memory
  read_gb_s: number[]; // [threads - 1]
  write_gb_s: number[];
  copy_gb_s: number[];
}

export interface Ceilings {
  arithmetic: { type: string; instruction: string; gflops: number[] }[]; // [threads - 1]
  levels: Bandwidths[]; // innermost first
  measured: string;
}

/** What people have attached (`lathe store tag`, `note`, `name`). */
export interface Labels {
  name?: string;
  note?: string;
  tags?: string[];
}

export interface Platform extends Labels {
  key: string;
  name: string;
  cpu: string;
  architecture: string;
  features: string[];
  caches: { name: string; bytes: number; shared_by_threads: number }[];
  cores: number;
  hardware_threads: number;
  memory_bytes: number;
  governor: string;
  boost: string;
  hypervisor: string;
  virtualized: boolean;
  kernel: string;
  compiler: string;
  libraries: Record<string, string>;
  ceilings: Ceilings | null;
}

export interface Experiment extends Labels {
  uuid: string;
  kind: string; // "ops", "bench", "compare", "profile", "segments", "tune", "evaluate", "quantize", "corun", "imported"
  command: string;
  version: string;
  build: string;
  platform: number; // index
  in_turns: boolean; // its points took turns, and are compared round by round
  settings: Record<string, unknown>;
  detail?: Record<string, unknown>; // what was measured: of a profile the graph of the kernels
  started: string;
  finished?: string;
  other_processors?: number;
}

export interface Problem extends Labels {
  operator: string; // "model", "kernel" and "segment" for what is no operator
  text: string;
  flops: number; // 0: not known
  bytes: number;
  detail?: Record<string, unknown>;
}

/** What ran without end beside the measured work. */
export interface Company {
  problem: string;
  provider: string;
  threads: number;
  place: string; // what the CPUs of both sides share: "core", "cache", "socket", "machine"
  least_runs: number;
}

export interface Setting {
  threads: number;
  batch: number;
  type: string;
  layout: string;
  schedule: string; // "": the provider's choice
  cache: string;
  extra: Record<string, unknown>;
  company?: Company; // absent: the work ran alone
  text: string; // without defaults: "2 threads, cold"
}

export interface Estimate {
  network: string;
  context: string;
  provider: string; // "": the fastest of all
  operators: number;
  missing: { problem: string; count: number }[];
  estimate_ms: number;
  measured_ms?: number;
  difference?: number;
}

/** Judgements of pairs of points (judged.ts reads them). */
export interface Pairs {
  partners: Column; // of each point: its pairs with later points
  others: Column; // of each pair: the later point
  judged: Record<string, Record<"verdicts" | "ratios" | "lows" | "highs", Column>>; // by statistic, of each pair
}

export interface Document {
  schema: number;
  title: string;
  command: string;
  lathe: { version: string; build: string };
  created: string;
  baseline: string; // "": the page chooses
  platforms: Platform[];
  experiments: Experiment[];
  problems: Problem[];
  settings: Setting[];
  starts: number[][]; // rounds of each start of a process; []: one start
  texts: string[];
  points: {
    count: number;
    columns: Record<string, Column>;
    pairs: Pairs;
    figures: Record<string, Record<string, number>>; // by index of the point
    round_counts: Column; // rounds of each point
    round_lengths: Column; // samples of each round
    samples_ns: Column;
  };
  tuning: {
    count: number;
    tasks: { text: string; family: string }[];
    columns: Record<string, Column>;
  };
  estimates: Estimate[];
}
