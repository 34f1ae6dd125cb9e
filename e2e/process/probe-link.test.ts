import { expect, test } from "vitest";
import { CannotRun } from "../link/cannot-run.ts";
import { whyNoLink } from "../link/emulator.ts";
import { openLink } from "../link/open-link.ts";
import { probeOver } from "../link/probe-over.ts";
import { testedWorker } from "../stage/start-worker.ts";

/**
 * The rates that are told are those of the link, and not of the loopback below it, which is a hundred times faster. How exactly,
 * over many links and on a quiet machine: `npm run prove -- --measure probed-link`.
 */
const LINK = { upMbit: 5, downMbit: 20, rttMs: 30 };

if (whyNoLink() === null) {
  test("over a link of 5 and 20 Mbit/s, what is reported is about that", async () => {
    const probed = await probeOver(LINK, testedWorker(), ["--probe-time", "4s"]);
    expect(probed.rttMs).toBeGreaterThanOrEqual(LINK.rttMs);
    for (const share of [probed.up, probed.down]) {
      // A busy machine sends less than the link takes; never can it send more.
      expect(share).toBeGreaterThan(0.02);
      expect(share).toBeLessThan(1.5);
    }
  });
} else {
  test("a machine that cannot emulate a link says why", async () => {
    await expect(openLink(LINK, "cubic")).rejects.toThrow(CannotRun);
  });
}
