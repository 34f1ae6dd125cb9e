import { join } from "node:path";
import { isFault, toFault } from "#protocol/fault.ts";
import type { FoundCheckpoint } from "#protocol/hello.ts";
import { nameOfPlace } from "#protocol/place.ts";
import type { Agent } from "../agent-assemble.ts";
import { isThere } from "../disk/is-there.ts";
import { systemClock } from "../engine/clock.ts";
import { namesInState } from "../restore/named-checkpoints.ts";
import type { ResumePoint } from "./prepare.ts";

type Parts = Pick<Agent, "hub" | "restorer" | "narrator" | "signal">;

/** The program waits so long for the others that its state names; larger ones arrive while it trains. */
const WAIT_MS = 10_000;

/**
 * Restores the checkpoints that the state of the restored one names (the best one, the top k), each to its own place. Resolves
 * when they are there, and after 10 s in any case: then they arrive behind the program. What is missing is said.
 */
export async function restoreNamed(
  agent: Parts,
  { run, folder, point }: { run: ResumePoint["run"]; folder: string; point: ResumePoint },
): Promise<void> {
  const names = await namesInState(point.path);
  if (names.length === 0) return;
  const all = restoreEach(agent, { run, folder, names }).catch((error: unknown) =>
    agent.narrator.waitingFor(toFault(error, { op: "restore", subject: run })),
  );
  await Promise.race([all, systemClock.sleep(WAIT_MS, agent.signal)]);
}

async function restoreEach(
  agent: Parts,
  { run, folder, names }: { run: ResumePoint["run"]; folder: string; names: readonly string[] },
): Promise<void> {
  const { hub, restorer, narrator, signal } = agent;
  for (const name of names) {
    if (signal.aborted) return;
    const found = await hub.ask("findCheckpoint", (client, limit) =>
      client.node.findCheckpoint.query({ run, name }, { signal: limit }),
    );
    if (found === null || nameOf(found) !== name) continue;
    const { checkpointId, step, place } = found;
    const targetPath = join(folder, place?.path ?? name);
    if (await isThere(targetPath)) continue;
    try {
      await restorer.restoreFirst({ checkpointId, run, step, targetPath, isAlone: true });
      narrator.restoredNamed({ run, step, path: targetPath });
    } catch (error) {
      if (!isFault(error)) throw error;
      narrator.waitingFor(error);
    }
  }
}

/** Returns the name of the checkpoint. An older hub answers with another checkpoint than was asked for. */
const nameOf = ({ step, place }: FoundCheckpoint): string =>
  place === undefined ? `checkpoint-${step}` : nameOfPlace(place.path);
