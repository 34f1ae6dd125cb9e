import { randomUUID } from "node:crypto";
import type { EngineName } from "#protocol/benchmarks/engines.ts";
import { USUAL_SETTINGS } from "#protocol/benchmarks/plan-input.ts";
import type { Stage } from "./open-stage.ts";
import type { RogueNode } from "./rogue-node.ts";

const ENGINES: readonly EngineName[] = ["tidemark", "tidemark-auto"];

/**
 * Reports a finished benchmark of one node with invented results: Tidemark in both directions at about `bytesPerSecond`, and
 * one failed case. No bytes are transferred. Returns the id of the benchmark.
 */
export async function tellBenchmark(
  stage: Stage,
  rogue: RogueNode,
  about: { bytesPerSecond: number; rttMs: number },
): Promise<string> {
  const id = randomUUID();
  const { rttMs, bytesPerSecond } = about;
  const settings = { ...USUAL_SETTINGS, engines: [...ENGINES] };
  const { turnId } = await rogue.node.benchStart.mutate({ id, profileId: stage.profileId, settings, seed: 7 });
  const looked = ENGINES.map((engine) => ({ engine, version: "1.0.0", missing: null }));
  await rogue.node.benchBegin.mutate({ turnId, rttMs, engines: looked });
  const { cases } = await rogue.node.benchTurn.query({ turnId });
  for (const [index, one] of cases.entries()) {
    const rate = bytesPerSecond * (one.direction === "up" ? 1 : 4) * (1 + index / 10);
    const failed = index === 0;
    await rogue.node.benchCase.mutate({
      turnId,
      end: {
        ...one,
        bytes: settings.sizeBytes,
        tookMs: (settings.sizeBytes / rate) * 1000,
        loadMs: 320,
        bytesPerSecond: failed ? null : rate,
        peakBytes: 90_000_000,
        fault: failed ? { code: "ENGINE_TIME_LIMIT", subject: "Tidemark" } : null,
        log: failed ? "it was ended after 300 s" : "",
      },
    });
  }
  await rogue.node.benchEnd.mutate({ turnId, outcome: "done", fault: null });
  return id;
}
