import { randomUUID } from "node:crypto";
import type { Stage } from "#e2e/stage/open-stage.ts";
import { waitUntil } from "#e2e/stage/wait-until.ts";
import type { Simulators } from "./drive-simulators.ts";
import { percentile } from "./percentile.ts";
import type { Killed } from "./result.ts";

const WINDOW_MS = 1_000;

/** Returns the largest number of these moments within one second. */
function busiest(moments: readonly number[]): number {
  const sorted = moments.toSorted((a, b) => a - b);
  let from = 0;
  let most = 0;
  for (const [at, moment] of sorted.entries()) {
    while (moment - (sorted[from] ?? moment) >= WINDOW_MS) from++;
    most = Math.max(most, at - from + 1);
  }
  return most;
}

/** Kills the hub with SIGKILL at random moments under load, and starts it again on its data, `kills` times. */
export async function killHubs(
  stage: Stage,
  fleet: { simulators: Simulators; nodeIds: readonly string[]; kills: number },
): Promise<Killed> {
  const { simulators, nodeIds, kills } = fleet;
  const ready: number[] = [];
  const back: number[] = [];
  let most = 0;
  for (let kill = 1; kill <= kills; kill++) {
    const nodeId = nodeIds[Math.floor(Math.random() * nodeIds.length)] ?? "";
    const ordering = stage.client.commands.send
      .mutate({ requestId: randomUUID(), order: { kind: "flush" }, to: { nodeIds: [nodeId] }, validMs: 3_600_000 })
      .catch(() => undefined);
    const moment = performance.now() + Math.random() * 3_000;
    await waitUntil("the moment of the kill", () => performance.now() >= moment, { everyMs: 5 });
    await stage.killHub();
    await ordering;
    const startedAt = performance.now();
    await stage.startHubAgain();
    const readyAt = Date.now();
    ready.push(performance.now() - startedAt);
    await waitUntil(
      "every node is back",
      () => simulators.hellos.filter((at) => at >= readyAt - 500).length >= nodeIds.length,
      { withinMs: 120_000, everyMs: 100 },
    );
    const hellos = simulators.hellos.filter((at) => at >= readyAt - 500);
    back.push((Math.max(...hellos) - readyAt) / 1000);
    most = Math.max(most, busiest(hellos));
    simulators.hellos.length = 0;
    console.log(
      `  kill ${kill}: ready after ${ready.at(-1)?.toFixed(0)} ms, all back after ${back.at(-1)?.toFixed(1)} s`,
    );
  }
  return {
    kills,
    readyMs: { p50: percentile(ready, 0.5), worst: percentile(ready, 1) },
    allBackSeconds: { p50: percentile(back, 0.5), worst: percentile(back, 1) },
    busiestSecond: most / nodeIds.length,
  };
}
