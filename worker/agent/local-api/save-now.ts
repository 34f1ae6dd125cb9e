import { stat } from "node:fs/promises";
import { basename, resolve, sep } from "node:path";
import type * as z from "zod";
import { Fault, faultFrom } from "#protocol/faults/fault.ts";
import type { SaveAnswer, saveInput } from "#protocol/local-api/local.ts";
import type { Agent } from "../agent-assemble.ts";
import { codeOf, diskFault } from "#worker/base/disk-fault.ts";
import { captureNow } from "../agent-capture.ts";
import type { Capture } from "#worker/capture/capture.ts";
import { stepOf } from "#protocol/recognition/checkpoint-layouts.ts";
import type { Candidate } from "#worker/capture/detection/find.ts";
import { lookAt } from "#worker/capture/detection/look.ts";
import { readGlobalStep } from "#worker/capture/detection/read-global-step.ts";
import { readReadiness } from "#worker/capture/detection/readiness.ts";
import { whichRun } from "./which-run.ts";

/**
 * Captures a checkpoint that a program declares finished. The files are secured before the answer, so the program may overwrite
 * them. With `wait`, answers when the checkpoint is safe. Refuses one whose own files show that something is missing. Faults:
 * BAD_INPUT, NOT_FOUND, NOT_FINISHED, SUPERSEDED (with `wait`), those of `takeCapture` and of the upload.
 */
export async function saveNow(
  agent: Agent,
  input: z.infer<typeof saveInput>,
  signal: AbortSignal,
): Promise<SaveAnswer> {
  const { ledger, ends } = agent;
  const run = whichRun(agent.options.watches, input);
  const ofRun = agent.options.watches.filter((one) => one.run === run);
  const path = resolve(input.path);
  const watch = ofRun.find(({ folder }) => path.startsWith(folder + sep)) ?? ofRun[0];
  const candidate = await readCandidate(input);
  const look = await lookAt(candidate);
  if (look === null) throw new Fault("NOT_FOUND", { op: "save", subject: candidate.path });
  const why = look.files.length === 0 ? "there is no file in it" : await whyUnfinished(candidate, look);
  if (why !== null) throw new Fault("NOT_FINISHED", { op: "save", subject: candidate.path, detail: why });

  if (agent.stand.isDrained) {
    throw new Fault("CONFLICT", { op: "save", subject: candidate.path, detail: "this node was drained" });
  }
  const taken = await captureNow(agent, {
    candidate,
    look,
    run,
    root: watch?.folder ?? null,
    watchedRoot: watch?.root,
    priority: PRIORITY[input.priority],
  });
  const known = taken ?? ledger.all().findLast(({ sourcePath }) => sourcePath === candidate.path);
  if (known === undefined)
    return answerOfEarlier(agent, { run, candidate, sizeBytes: look.sizeBytes, files: look.files.length });
  if (!input.wait) return answerOf(known);
  const ended = await ends.of(known.id, signal);
  if (ended.state === "superseded") throw new Fault("SUPERSEDED", { op: "save", subject: candidate.path });
  if (ended.state !== "done") throw faultOf(ended);
  return answerOf(ended);
}

const PRIORITY = { low: -1, normal: 0, high: 1 } as const;

/** Returns the Fault of a capture that ended without becoming safe. */
export const faultOf = ({ fault, sourcePath }: Capture): Fault =>
  fault === null ? new Fault("CANCELLED", { op: "save", subject: sourcePath }) : faultFrom(fault);

async function readCandidate({
  path,
  step: requested,
}: {
  path: string;
  step?: number | undefined;
}): Promise<Candidate> {
  const whole = resolve(path);
  const stats = await stat(whole).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") throw new Fault("NOT_FOUND", { op: "save", subject: whole });
    throw diskFault(error, { op: "save", subject: whole, otherwise: "READ_FAILED" });
  });
  // Reading a pipe would wait for its writer.
  if (!stats.isDirectory() && !stats.isFile())
    throw new Fault("BAD_INPUT", { op: "save", subject: whole, detail: "it is a pipe, a socket or a device: no file" });
  const kind = stats.isDirectory() ? "folder" : "file";
  const name = basename(whole);
  const named = requested ?? stepOf(name, kind);
  const step = named ?? (kind === "folder" ? await readGlobalStep(whole) : null);
  if (step === null) {
    throw new Fault("BAD_INPUT", {
      op: "save",
      subject: whole,
      detail: "neither its name nor a trainer_state.json in it tells the step: say which one it is",
    });
  }
  const stepFrom = requested !== undefined ? "said" : named === null ? "inside" : null;
  return { path: whole, name, step, kind, ...(stepFrom !== null && { stepFrom }) };
}

async function whyUnfinished(candidate: Candidate, look: Parameters<typeof readReadiness>[1]): Promise<string | null> {
  const readiness = await readReadiness(candidate, look);
  return readiness.says === "unfinished" ? readiness.why : null;
}

const answerOf = ({ id, run, step, state, sizeBytes, files, piece }: Capture): SaveAnswer => ({
  id,
  run,
  step,
  state,
  sizeBytes,
  files: files.length,
  ...(piece !== undefined && { isPiece: true }),
});

/** Returns the answer for a checkpoint whose earlier capture has ended: it is safe, or a newer one superseded it. */
function answerOfEarlier(
  { ledger }: Agent,
  about: { run: string; candidate: Candidate; sizeBytes: number; files: number },
): SaveAnswer {
  const { run, candidate, sizeBytes, files } = about;
  const { step } = candidate;
  const isPiece = ledger.piece(run)?.step === step;
  const state = isPiece || (ledger.safe(run)?.step ?? -1) === step ? "done" : "superseded";
  return { id: null, run, step, state, sizeBytes, files, ...(isPiece && { isPiece }) };
}
