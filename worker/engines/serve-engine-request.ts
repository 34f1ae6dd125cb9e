import { buffer } from "node:stream/consumers";
import type { Readable } from "node:stream";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { READY } from "./driver.ts";
import { engineRequest, type EngineAnswer } from "./engine-request.ts";

/** Reads a benchmark's request from stdin, moves the file, and returns the outcome. Never throws. */
export async function serveEngineRequest(input: Readable, say: (line: string) => Promise<void>): Promise<EngineAnswer> {
  try {
    const asked = engineRequest.safeParse(JSON.parse((await buffer(input)).toString()));
    if (!asked.success) throw new Fault("BAD_INPUT", { op: "bench", detail: "this is asked by `tidemark bench` only" });
    if (asked.data.engine === "sdk") {
      // Imported here because only this engine needs the SDK, which takes longer to load than everything else.
      const { moveWithSdk } = await import("./sdk-reference.ts");
      await say(READY);
      await moveWithSdk(asked.data);
    } else {
      const { moveWithOwn } = await import("./move-with-own.ts");
      await say(READY);
      await moveWithOwn(asked.data);
    }
    return { type: "engine-answer", fault: null };
  } catch (error) {
    return { type: "engine-answer", fault: toFault(error, { op: "bench" }).toData() };
  }
}
