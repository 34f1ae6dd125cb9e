import * as z from "zod";
import { faultData } from "../faults/fault-data.ts";
import { id } from "../base/names.ts";
import { newBenchSettings, startBenchInput } from "./plan-input.ts";

/** A benchmark of a node's own link, as a single turn, that somebody starts on the node's command line. */

/** Names a bucket profile by its name or id. */
export const benchTargetInput = z.object({ profile: z.string().trim().min(1).max(128) });

export interface BenchTarget {
  profileId: string;
  profileName: string;
  bucket: string;
  /** Credentials that an admin gave for engines that cannot use presigned requests. */
  lends: "nothing" | "key" | "key-and-grant";
}

export const startOwnBenchInput = z.object({
  /** Made by the node: a repeated request starts no second benchmark. */
  id,
  profileId: id,
  settings: newBenchSettings,
  seed: startBenchInput.shape.seed,
});

export const endOwnBenchInput = z.object({
  turnId: id,
  outcome: z.enum(["done", "failed", "cancelled"]),
  fault: faultData.nullable(),
});
