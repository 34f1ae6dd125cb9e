import * as z from "zod";
import { faultData } from "#protocol/faults/fault-data.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { storeTrust } from "#protocol/wire/store-trust.ts";

/** Request on the stdin of a second Tidemark process, and its answer on stdout. Stdin keeps keys off command lines. */

const bytes = z.number().int().nonnegative();

export const engineRequest = z.object({
  engine: z.enum(["tidemark", "tidemark-auto", "sdk"]),
  direction: z.enum(["up", "down"]),
  access: z.object({
    endpoint: z.string(),
    region: z.string(),
    bucket: z.string(),
    addressing: z.enum(["path", "virtual-host"]),
    // Not validated further: the process that wrote the request is the same version of this program.
    traits: z.custom<StoreTraits>((value) => typeof value === "object" && value !== null),
    trust: storeTrust.optional(),
  }),
  /** Null when a hub signs the requests. */
  credential: z
    .object({ accessKeyId: z.string(), secretAccessKey: z.string(), sessionToken: z.string().optional() })
    .nullable(),
  hub: z.object({ base: z.string(), credential: z.string(), turnId: z.string(), aheadMs: z.number() }).nullable(),
  key: z.string(),
  path: z.string(),
  scratch: z.string(),
  sizeBytes: bytes,
  partBytes: bytes,
  connections: z.number().int().positive(),
});
export type EngineRequest = z.infer<typeof engineRequest>;

export const engineAnswer = z.object({ type: z.literal("engine-answer"), fault: faultData.nullable() });
export type EngineAnswer = z.infer<typeof engineAnswer>;
