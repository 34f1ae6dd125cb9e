import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { machineFacts } from "../report/results.ts";
import { measuredTurns } from "./turn.ts";

/** What `packs` measured, as it is kept: its page is made from it. */

const packsResult = machineFacts.extend({
  link: z.object({ rttMs: z.number(), upMbit: z.number(), downMbit: z.number() }),
  files: z.number(),
  bytes: z.number(),
  turns: measuredTurns,
  /** Packets that the emulator lost because the machine was too slow. */
  refused: z.number(),
});
export type PacksResult = z.infer<typeof packsResult>;

const FILE = join(import.meta.dirname, "../results/packs.json");

export async function savePacksResult(result: PacksResult): Promise<void> {
  await mkdir(dirname(FILE), { recursive: true });
  await writeFile(FILE, `${JSON.stringify(result, null, 2)}\n`);
}

export const readPacksResult = async (): Promise<PacksResult> =>
  packsResult.parse(JSON.parse(await readFile(FILE, "utf8")));
