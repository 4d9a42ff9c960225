// What `lathe serve` puts into its pages beside the document of reports. serve/ writes it.
import type { Experiment } from "./schema";

export interface Live {
  page: "index" | "report" | "compare" | "error";
  position: string; // of the store, for /events
  store: string; // its name
}

/** An experiment in lists and events. */
export interface Entry {
  uuid: string;
  kind: string;
  command: string;
  version: string;
  started: string;
  finished: string; // "": not finished
  platform: string; // key
  cpu: string;
  points: number;
  passed: number;
  records: number; // of tuning
  records_passed: number;
  state: "running" | "finished" | "stopped"; // stopped: its process is gone
  pid?: number; // of the process that measures it
  planned_points?: number; // that a running one will have, if its command knows
  host?: string; // where that is, if elsewhere: nobody can tell whether it still runs
}

export interface Machine {
  key: string;
  name: string;
  cores: number;
  hardware_threads: number;
  memory_bytes: number;
  kernel: string;
  compiler: string;
  experiments: number;
  points: number;
  last: string;
}

export interface Model {
  text: string;
  experiments: string[];
  providers: string[];
  points: number;
  passed: number;
  last: string;
}

export interface IndexDocument {
  live: Live;
  experiments: Entry[];
  platforms: Machine[];
  models: Model[];
  lathe: string;
}

interface SideTime {
  status: string;
  reason: string;
  median_ms?: number;
}
export interface ComparedPoint {
  operator: string;
  problem: string;
  column: string;
  schedule: string;
  setting_text: string;
  before?: SideTime;
  after?: SideTime;
  ratio?: number; // time before / time after
  ratio_low?: number;
  ratio_high?: number;
  confidence?: number | null; // null: the interval is only the range
  verdict?: "faster" | "slower" | "same" | "ambiguous";
  too_few_starts?: boolean; // for faster and slower
  ambiguous_because?: string;
}
export type ComparedSide = Omit<Experiment, "platform" | "in_turns"> & { platform: string; platform_name: string; points: number };
export interface CompareDocument {
  live: Live;
  before: ComparedSide;
  after: ComparedSide;
  points: ComparedPoint[];
  faster: number;
  slower: number;
  same: number;
  ambiguous: number;
  only_before: number;
  only_after: number;
  too_few_starts: number; // points
  geometric_mean?: number;
  geometric_mean_low?: number;
  geometric_mean_high?: number;
  geometric_mean_is_range?: boolean;
}

export interface ErrorDocument {
  live: Live;
  message: string;
  status: number; // 404: the store has no such thing; 503: the store cannot be read now, or the server is busy
}

/** An event. */
export interface Change {
  experiments: Entry[];
  gone: string[]; // uuids
  trouble: string; // why the store cannot be read now; "": it can
}
