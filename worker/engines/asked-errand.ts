import * as z from "zod";
import { faultData } from "#protocol/faults/fault-data.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import { storeTrust } from "#protocol/wire/store-trust.ts";

/** What a second Tidemark is asked over its stdin, and what it answers with on stdout: keys are on no command line. */

const bytes = z.number().int().nonnegative();

export const askedErrand = z.object({
  engine: z.enum(["tidemark", "tidemark-auto", "sdk"]),
  direction: z.enum(["up", "down"]),
  access: z.object({
    endpoint: z.string(),
    region: z.string(),
    bucket: z.string(),
    addressing: z.enum(["path", "virtual-host"]),
    // Written by the process that reads it, a version of itself.
    traits: z.custom<StoreTraits>((value) => typeof value === "object" && value !== null),
    trust: storeTrust.optional(),
  }),
  /** Null: a hub signs. */
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
export type AskedErrand = z.infer<typeof askedErrand>;

export const errandAnswer = z.object({ type: z.literal("errand"), fault: faultData.nullable() });
export type ErrandAnswer = z.infer<typeof errandAnswer>;
