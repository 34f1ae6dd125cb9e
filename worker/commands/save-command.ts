import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { resolve } from "node:path";
import * as z from "zod";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { saveInput, type SaveAnswer } from "#protocol/local-api/local.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { transferState } from "#protocol/wire/transfer.ts";
import { runAgent, type AgentCommand } from "../agent/agent.ts";
import { stateFolder } from "../host/state-folder.ts";
import { usage } from "../command-line/command-context.ts";
import { askLocal } from "../local-api/ask-local.ts";
import { saveNow } from "../agent/local-api/save-now.ts";

const answer: z.ZodType<SaveAnswer> = z.object({
  id: z.string().nullable(),
  run: z.string(),
  step: z.number(),
  state: transferState,
  sizeBytes: z.number(),
  files: z.number(),
  isPiece: z.literal(true).exactOptional(),
});

/**
 * Implements `tidemark save DIR`: saves through the worker of this machine when one runs, otherwise in this process.
 * Faults: BAD_INPUT, those of `saveNow` and, in this process, those of `runAgent`.
 */
export async function saveCheckpoint(command: AgentCommand & { operands: readonly string[] }): Promise<number> {
  const { config, terminal, signal, operands, platform } = command;
  const [path, extra] = operands;
  if (path === undefined || extra !== undefined) throw usage("save", "it takes one folder or file: tidemark save DIR");
  const [requested, another] = config.list("run");
  if (another !== undefined) throw usage(`--run ${another}`, "a checkpoint belongs to one run");
  const wanted = saveInput.safeParse({
    path: resolve(path),
    run: requested,
    step: config.number("step") ?? undefined,
    wait: !config.isOn("no-wait"),
    priority: config.text("priority") ?? undefined,
  });
  if (!wanted.success) {
    const [issue] = wanted.error.issues;
    throw usage(`--${String(issue?.path[0] ?? "run")}`, issue?.message ?? "not valid");
  }
  const state = await stateFolder(config.text("state"), platform.home);
  const saved = await askLocal(state, { asked: "POST /v1/save", body: wanted.data, answer, signal }).catch(
    (error: unknown) => {
      if (!isFault(error) || error.code !== "NO_WORKER" || error.context.detail !== undefined) throw error;
      return saveAlone(command, wanted.data);
    },
  );
  const { run, step, sizeBytes, files } = saved;
  const what = `${run} ${stepWords(step)}, ${formatCount(files)} files, ${formatBytes(sizeBytes)}`;
  const isSafe = saved.state === "done";
  if (saved.state === "superseded") throw new Fault("SUPERSEDED", { op: "save", subject: wanted.data.path });
  const lead = !isSafe ? "Captured" : saved.isPiece === true ? "Kept, and safe with the pieces of all nodes" : "Safe";
  terminal.result(`${lead}: ${what}.`, { type: "saved", ...saved });
  return 0;
}

async function saveAlone(command: AgentCommand, wanted: z.infer<typeof saveInput>): Promise<SaveAnswer> {
  const { config } = command;
  if (config.text("hub") === null && config.text("to") === null) {
    const detail =
      "no worker runs on this state folder, so --hub or --to says where to save to (or --state, where one runs)";
    throw usage("--hub", detail);
  }
  // No worker would upload it later, so this process always waits for the upload.
  const saved: { answer: SaveAnswer | null } = { answer: null };
  await runAgent(command, async (agent, life) => {
    saved.answer = await saveNow(agent, { ...wanted, wait: true }, agent.signal);
    life.end();
  });
  if (saved.answer === null) throw new Fault("CANCELLED", { op: "save", subject: wanted.path });
  return saved.answer;
}
