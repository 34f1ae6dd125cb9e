import { createInterface } from "node:readline";
import { z } from "zod";
import { hashObject } from "#e2e/stage/hash-object.ts";
import { letPagesIn } from "#e2e/stage/let-pages-in.ts";
import { openStage, type Stage } from "#e2e/stage/open-stage.ts";
import { readCounters, resetCounters } from "#e2e/stage/store-control.ts";
import { forward } from "./forward.ts";

/**
 * The far end of the link: hub and store on its loopback, reachable from outside. It answers questions about the bucket on
 * stdin.
 */

const address = z.string().parse(process.argv[2]);

/** A line of JSON from the near end, with a question. */
const question = z.discriminatedUnion("ask", [
  z.object({ ask: z.literal("sha256"), key: z.string() }),
  z.object({ ask: z.literal("parts"), key: z.string() }),
  z.object({ ask: z.literal("reset") }),
]);

async function answerTo(stage: Stage, line: string): Promise<unknown> {
  const asked = question.parse(JSON.parse(line));
  switch (asked.ask) {
    case "sha256":
      return hashObject(stage, asked.key);
    case "reset":
      return resetCounters(stage.store);
    case "parts": {
      const { targets } = await readCounters(stage.store, "UploadPart");
      const own = targets.filter(({ key }) => key === asked.key);
      const sum = (pick: (target: (typeof own)[number]) => number) =>
        own.reduce((total, target) => total + pick(target), 0);
      return { parts: own.length, requests: sum((one) => one.requests), succeeded: sum((one) => one.succeeded) };
    }
  }
}

const stage = await openStage({ hub: { pages: "served", readyWithinMs: 120_000 } });
await letPagesIn(stage);
const ports = [stage.hub.port, stage.store.port];
const servers = await Promise.all(ports.map((port) => forward({ listen: address, connect: "127.0.0.1", port })));
console.log(JSON.stringify({ url: stage.hub.url, ports, profileId: stage.profileId }));
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify({ answer: (await answerTo(stage, line)) ?? null }));
}
for (const server of servers) server.close();
await stage.close();
process.exit(0);
