import type * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import type { RestoreAnswer, restoreInput } from "#protocol/local.ts";
import type { Agent } from "../agent-assemble.ts";
import { whichRun } from "./which-run.ts";

/**
 * Puts a checkpoint of a run that this node writes where a program wants it: verified, all of it or nothing.
 * Faults: BAD_INPUT, NOT_FOUND (no such checkpoint, or another node writes the run), HUB_UNREACHABLE, those of a restore.
 */
export async function restoreHere(agent: Agent, input: z.infer<typeof restoreInput>): Promise<RestoreAnswer> {
  const { hub, restorer, options } = agent;
  const run = whichRun(options.watches, { run: input.run });
  const found = await hub.ask("findCheckpoint", (client, signal) =>
    client.node.findCheckpoint.query({ run, ...(input.step === undefined ? {} : { step: input.step }) }, { signal }),
  );
  if (found === null) {
    const wished = input.step === undefined ? "no complete checkpoint" : `no complete checkpoint of step ${input.step}`;
    throw new Fault("NOT_FOUND", { op: "restore", subject: run, detail: wished });
  }
  const { checkpointId, step } = found;
  await restorer.restoreFirst({ checkpointId, run, step, targetPath: input.path });
  return { run, step, path: input.path, checkpointId };
}
