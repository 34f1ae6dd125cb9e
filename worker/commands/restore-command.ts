import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { restoreInput, type PreviewAnswer, type RestoreAnswer } from "#protocol/local-api/local.ts";
import { rankOf, type RankOf } from "#protocol/wire/restoring.ts";
import { compileTensorPattern } from "#protocol/checkpoint/tensor-pattern.ts";
import { shownPlace } from "#protocol/checkpoint/place.ts";
import { placeWords, stepSourceOf, stepTitle, stepWords } from "#protocol/checkpoint/step-words.ts";
import { formatBytes, formatCount } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { runAgent, type AgentCommand } from "../agent/agent.ts";
import { doubtWords } from "../agent/messages/restore-messages.ts";
import { restoreHere } from "../agent/local-api/restore-here.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { stateFolder, temporaryState } from "../host/state-folder.ts";
import { readGlob } from "../command-line/glob.ts";
import { usage } from "../command-line/command-context.ts";
import { askLocal } from "../local-api/ask-local.ts";
import { readRunToRestore } from "../local-api/read-run-at-step.ts";

type RestoreCommand = AgentCommand & { operands: readonly string[] };
type RestoreInput = z.infer<typeof restoreInput>;

const place = {
  run: z.string(),
  step: z.number(),
  path: z.string(),
  checkpointId: z.string(),
  // Missing from workers of earlier versions.
  place: shownPlace.nullable().default(null),
  kind: shownPlace.shape.kind.optional(),
};
const restored: z.ZodType<RestoreAnswer> = z.object({
  ...place,
  passedOver: z.number().nullable(),
  passedOverWhy: z.enum(["damaged", "archived"]).nullable().default(null),
  // Missing from workers of earlier versions.
  doubt: z.string().nullable().default(null),
  foreign: z.object({ node: z.string(), pickles: z.number() }).nullable().default(null),
});
const fact = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const previewed: z.ZodType<PreviewAnswer> = z.object({ ...place, preview: z.record(z.string(), fact) });

function readRank(text: string): RankOf {
  const [, rank, of] = /^(\d+)\/(\d+)$/.exec(text) ?? [];
  const parsed = rankOf.safeParse({ rank: Number(rank), of: Number(of) });
  if (parsed.success) return parsed.data;
  throw usage(`--rank ${text}`, "a rank looks like 0/8: which one, counted from 0, and how many there are");
}

function readPattern(text: string): void {
  const compiled = compileTensorPattern(text);
  if ("reason" in compiled) throw usage(`--tensors ${text}`, compiled.reason);
}

/**
 * Implements `tidemark restore RUN[@STEP] DIR`: restores through the worker of this machine, or with `--to` in this
 * process. Faults: BAD_INPUT, NO_WORKER, those of a restore.
 */
export async function restoreRun(command: RestoreCommand): Promise<number> {
  const { config, operands, terminal } = command;
  const [what, path, extra] = operands;
  if (what === undefined || path === undefined || extra !== undefined) {
    throw usage("restore", "it takes a run and a folder: tidemark restore RUN[@STEP|@final] DIR");
  }
  const only = config.list("only");
  for (const glob of only) readGlob("only", glob);
  const tensors = config.list("tensors");
  for (const pattern of tensors) readPattern(pattern);
  const rank = config.text("rank");
  const wanted = readInput({
    ...readRunToRestore(what, "tidemark restore RUN[@STEP|@final] DIR"),
    path: resolve(path),
    only: [...only],
    ...(rank === null ? {} : { rank: readRank(rank) }),
    ...(tensors.length === 0 ? {} : { tensors: [...tensors] }),
    fallback: !config.isOn("no-fallback"),
    dryRun: config.isOn("dry-run"),
  });
  const answer = await (config.text("to") === null ? askWorker(command, wanted) : restoreAlone(command, wanted));
  if ("preview" in answer) {
    terminal.result(previewText(answer), { type: "would-restore", ...answer });
    return answer.preview["verdict"] === "ok" ? 0 : 4;
  }
  const instead =
    answer.passedOver === null ? "" : ` ${stepTitle(answer.passedOver)} is ${answer.passedOverWhy ?? "damaged"}.`;
  const text = `Restored ${whatOf(answer)} to ${answer.path}.${instead}${doubtWords(answer.doubt ?? null)}${foreignWords(answer.foreign)}${shapeWords(answer)}`;
  terminal.result(text, { type: "restored", ...answer });
  return 0;
}

type Placed = Pick<RestoreAnswer, "run" | "step" | "path" | "place" | "kind">;

const whatOf = ({ run, step, place: own }: Placed): string => `${run} ${stepWords(step, stepSourceOf(own))}`;

/**
 * Returns the kind of the restored files and their usual place: ` It is a file. Its own place is the file last.ckpt in
 * the watched folder.`
 */
function shapeWords({ path, place: own, kind }: Placed): string {
  if (own == null || kind === undefined) return "";
  const as = { folder: "", file: " It is a file.", files: " It is several files, the first of that name." }[kind];
  if (path.endsWith(`/${own.path}`)) return as;
  return `${as} Its own place is ${placeWords(own)}${own.root === undefined ? " in the watched folder" : ""}.`;
}

/** @throws Fault BAD_INPUT */
function readInput(input: z.input<typeof restoreInput>): RestoreInput {
  const read = restoreInput.safeParse(input);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw usage(`restore: ${String(issue?.path[0] ?? "input")}`, issue?.message ?? "not valid");
}

async function askWorker(
  { config, signal, platform }: RestoreCommand,
  wanted: RestoreInput,
): Promise<RestoreAnswer | PreviewAnswer> {
  const state = await stateFolder(config.text("state"), platform.home);
  return askLocal(state, { asked: "POST /v1/restore", body: wanted, answer: z.union([previewed, restored]), signal });
}

/**
 * Restores with the keys of this machine, also from a bucket whose runs another node writes. Each request has a journal
 * folder of its own, so the same command continues after a kill and does not disturb a worker on this machine.
 */
async function restoreAlone(command: RestoreCommand, wanted: RestoreInput): Promise<RestoreAnswer | PreviewAnswer> {
  const { config, platform } = command;
  const own = await stateFolder(config.text("state"), platform.home, [temporaryState(tmpdir())]);
  const digest = createHash("sha256").update(JSON.stringify(wanted)).digest("hex").slice(0, 16);
  const state = await stateFolder(join(own, "restores", digest), platform.home);
  const done: { answer: RestoreAnswer | PreviewAnswer | null } = { answer: null };
  await runAgent({ ...command, state, readsOnly: true }, async (agent, life) => {
    // The location of the bytes is known from here on.
    await agent.session.hello();
    await cancelOthers(agent, wanted);
    done.answer = await restoreHere(agent, wanted);
    life.end();
  });
  if (done.answer === null) throw new Fault("CANCELLED", { op: "restore", subject: wanted.path });
  await removeOwned("restore-state", state);
  return done.answer;
}

/**
 * Cancels interrupted restores of this request whose checkpoint is no longer the newest. Faults: those of the store.
 */
async function cancelOthers({ hub, memory, restorer }: Agent, { run, step, role }: RestoreInput): Promise<void> {
  const pending = memory.restores();
  if (pending.length === 0 || run === undefined) return;
  const asked = { run, ...(step !== undefined && { step }), ...(role !== undefined && { role }) };
  const found = await hub.ask("findCheckpoint", (client, signal) =>
    client.node.findCheckpoint.query(asked, { signal }),
  );
  for (const { command } of pending) {
    if (command.kind !== "restore" || command.checkpointId === found?.checkpointId) continue;
    await restorer.steer(command.transferId, "cancel");
  }
}

/** Returns the warning about files that run code when they are loaded. */
export function foreignWords(foreign: RestoreAnswer["foreign"]): string {
  if (foreign === null) return "";
  const files = foreign.pickles === 1 ? "One pickle file" : `${formatCount(foreign.pickles)} pickle files`;
  return ` ${files} in it, written by ${visibleText(foreign.node)}: loading a pickle runs what is in it.`;
}

function previewText(answer: PreviewAnswer): string {
  const { path, preview } = answer;
  const number = (name: string) => (typeof preview[name] === "number" ? preview[name] : 0);
  const files = number("files");
  const tensors = number("tensors");
  const cut =
    tensors === 0
      ? ""
      : `${formatCount(tensors)} ${tensors === 1 ? "tensor" : "tensors"} (${formatBytes(number("tensorBytes"))}) in `;
  const moved = `${formatBytes(number("bytes"))}${tensors === 0 ? "" : " to move"}`;
  const atMost = preview["atMost"] === true ? "at most " : "";
  const what = `${cut}${atMost}${formatCount(files)} ${files === 1 ? "file" : "files"}, ${moved}`;
  const there =
    number("thereFiles") > 0
      ? ` ${String(preview["there"])} with ${formatCount(number("thereFiles"))} files (${formatBytes(number("thereBytes"))}) is there now.`
      : "";
  const room = typeof preview["freeBytes"] === "number" ? ` ${formatBytes(preview["freeBytes"])} are free.` : "";
  const verdict = preview["verdict"] === "ok" ? "" : ` It would be refused: ${String(preview["says"])}`;
  return `Would restore ${whatOf(answer)} to ${path}: ${what}.${shapeWords(answer)}${there}${room}${verdict}`;
}
