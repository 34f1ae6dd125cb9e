import * as z from "zod";
import { faultData } from "../faults/fault-data.ts";
import { id } from "../base/names.ts";
import { benchSettings, startBenchInput } from "./plan-input.ts";

/** How a node begins a benchmark of its own link, of one turn, when somebody asks it to on its command line. */

/** A bucket profile by its name or its id. */
export const benchTargetInput = z.object({ profile: z.string().trim().min(1).max(128) });

export interface BenchTarget {
  profileId: string;
  profileName: string;
  bucket: string;
  /** What an admin gave for the engines that cannot do with signatures. */
  lends: "nothing" | "key" | "key-and-grant";
}

export const startOwnBenchInput = z.object({
  /** Made by the node: the same request again is the same benchmark. */
  id,
  profileId: id,
  settings: benchSettings,
  seed: startBenchInput.shape.seed,
});

export const endOwnBenchInput = z.object({
  turnId: id,
  outcome: z.enum(["done", "failed", "cancelled"]),
  fault: faultData.nullable(),
});
