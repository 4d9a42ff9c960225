// The sections in the order of the page.
import type { Section } from "../ui/view";
import { best } from "./best";
import { company } from "./company";
import { curves } from "./curves";
import { environment } from "./environment";
import { failures, unverified } from "./failures";
import { graph } from "./graph";
import { confusions, estimates, networks } from "./networks";
import { overview } from "./overview";
import { points } from "./points";
import { profile } from "./profile";
import { roofline } from "./roofline";
import { segments } from "./segments";
import { speedups } from "./speedups";
import { sweeps } from "./sweeps";
import { tuning } from "./tuning";
import { violins } from "./violins";

export const sections: Section[] = [
  overview,
  networks,
  sweeps,
  estimates,
  violins,
  curves,
  speedups,
  roofline,
  best,
  company,
  segments,
  profile,
  graph,
  tuning,
  confusions,
  points,
  failures,
  unverified,
  environment,
];
