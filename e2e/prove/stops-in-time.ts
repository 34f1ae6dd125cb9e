import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whyNoLink } from "../link/emulator.ts";
import { openLink } from "../link/open-link.ts";
import { runInside } from "../link/run-inside.ts";
import type { Measure } from "./measure.ts";
import { type StopsGiven, stopsFound } from "./stops-inside.ts";

const LINK = { upMbit: 2, downMbit: 20, rttMs: 100 };
const GRACES_SECONDS = [2, 5, 15, 30];

/** Stops of a machine on a home link: what becomes safe in the last seconds, and what is reported about the rest. */
export const stopsInTime: Measure = {
  name: "stops-in-time",
  row: 14,
  says: `\`tidemark run\` on 2 Mbit/s up, 100 ms, asked to stop with ${GRACES_SECONDS.join(", ")} s left while it uploads`,
  whyNot: whyNoLink,
  run: async () => {
    await using undo = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), "tidemark-stops-"));
    undo.defer(() => rmSync(folder, { recursive: true, force: true }));
    const link = await openLink(LINK, "cubic");
    undo.defer(() => link.close());
    const results = join(folder, "results.json");
    const given: StopsGiven = {
      client: link.clientNetns,
      address: link.serverAddress,
      gracesSeconds: GRACES_SECONDS,
      results,
    };
    const code = await runInside(link.serverNetns, "e2e/prove/stops-inside.ts", given);
    if (code !== 0) return { runs: GRACES_SECONDS.length, problems: [`it ended with ${code}`], figures: [] };
    return stopsFound.parse(JSON.parse(readFileSync(results, "utf8")));
  },
};
