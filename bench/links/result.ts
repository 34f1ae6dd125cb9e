import * as z from "zod";
import { benchDirection, engineName } from "#protocol/benchmarks/plan-input.ts";
import { keepResult } from "../report/keep-result.ts";
import { machineFacts } from "../report/results.ts";
import { REGIONS, STORES } from "./emulated-fleet.ts";

/** Stored results of `links`; its page is made from them. */

const link = z.object({ rttMs: z.number(), upMbit: z.number(), downMbit: z.number(), lossPercent: z.number() });
const store = z.enum(STORES);
const nullable = z.number().nullable();

export const measured = z.object({
  fleet: z.array(
    z.object({
      name: z.string(),
      region: z.enum(REGIONS),
      links: z.object({ "eu-central": link, "us-east": link, "us-west": link }),
    }),
  ),
  engines: z.array(z.object({ engine: engineName, version: z.string().nullable(), missing: z.string().nullable() })),
  bytes: z.number(),
  partBytes: z.number(),
  connections: z.number(),
  perBucket: z.number(),
  seed: z.number(),
  /** Duration of the benchmark, and of the part in which bytes moved. */
  seconds: z.number(),
  movingSeconds: z.number(),
  /** Busy share of all cores during the benchmark. */
  cpu: z.object({ mean: z.number(), p90: z.number() }),
  raw: z.array(z.object({ node: z.string(), store, direction: benchDirection, seconds: z.number() })),
  rates: z.array(
    z.object({
      node: z.string(),
      store,
      direction: benchDirection,
      rttMs: z.number(),
      lossPercent: z.number(),
      linkMbit: z.number(),
      engine: engineName,
      toldMbit: z.number(),
      truthMbit: z.number(),
      share: z.number(),
      linkShare: z.number(),
      agrees: z.boolean(),
    }),
  ),
  rtts: z.array(z.object({ node: z.string(), store, truthMs: z.number(), toldMs: z.number(), agrees: z.boolean() })),
  recounted: z.array(z.object({ what: z.string(), told: nullable, counted: nullable, agrees: z.boolean() })),
  rankings: z.array(
    z.object({
      nodeRegion: z.string(),
      storeRegion: z.string(),
      links: z.enum(["all", "without loss", "with loss"]),
      direction: benchDirection,
      means: z.array(z.object({ engine: engineName, mbit: z.number() })),
      order: z.array(engineName),
    }),
  ),
  /** Summary of each engine, as on the page. */
  summary: z.array(
    z.object({
      engine: engineName,
      direction: benchDirection,
      cases: z.number(),
      failed: z.number(),
      meanMbit: nullable,
      bestShare: nullable,
    }),
  ),
  failingStore: z.object({
    store,
    requests: z.number(),
    failedRequests: z.number(),
    counts: z.array(
      z.object({
        engine: engineName,
        direction: benchDirection,
        cases: z.number(),
        failed: z.number(),
        met: z.number(),
        survived: z.number(),
        withoutCause: z.number(),
        temporary: z.number(),
        final: z.number(),
      }),
    ),
    /** Failed cases at the stores that fail no requests. */
    failedElsewhere: z.number(),
  }),
  /** The node that was killed; null: none was. */
  killed: z
    .object({
      node: z.string(),
      store: z.string(),
      afterSeconds: z.number(),
      /** Cases that the node reported before it died, and those of them in the tables. */
      casesTold: z.number(),
      casesKept: z.number(),
      casesPlanned: z.number(),
      /** Number of its turns by how they ended. */
      turns: z.record(z.string(), z.number()),
    })
    .nullable(),
  turns: z.object({ done: z.number(), failed: z.number(), all: z.number(), clean: z.number() }),
  cases: z.object({ done: z.number(), failed: z.number() }),
});
export type Measured = z.infer<typeof measured>;

const linksResult = measured.extend(machineFacts.shape).extend({
  /** Packets that the emulators dropped because the machine was too slow. */
  refused: z.number(),
});
export type LinksResult = z.infer<typeof linksResult>;

export const keptLinks = keepResult("links", linksResult);
