import * as z from "zod";
import { keepResult } from "../report/keep-result.ts";
import { machineFacts } from "../report/results.ts";
import { measuredTurns } from "./turn.ts";

/** Stored results of `packs`; its page is made from them. */

const packsResult = machineFacts.extend({
  link: z.object({ rttMs: z.number(), upMbit: z.number(), downMbit: z.number() }),
  files: z.number(),
  bytes: z.number(),
  turns: measuredTurns,
  /** Packets that the emulator dropped because the machine was too slow. */
  refused: z.number(),
});
export type PacksResult = z.infer<typeof packsResult>;

export const keptPacks = keepResult("packs", packsResult);
