import { stepText } from "#protocol/checkpoint/step-words.ts";
import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { PreviewAnswer, RestoreAnswer, restoreInput } from "#protocol/local-api/local.ts";
import type { RunName } from "#protocol/base/names.ts";
import { kindAt } from "#protocol/checkpoint/place.ts";
import { filesOfRank } from "#protocol/checkpoint/rank-files.ts";
import type { Agent } from "../agent-assemble.ts";
import { findPlace, type FoundPlace } from "../find-place.ts";
import { previewRestore } from "../preview-restore.ts";
import { parseManifest } from "#worker/restore/read-checkpoint.ts";
import { restoreNewest } from "../restore-newest.ts";
import { readGlob } from "#worker/command-line/glob.ts";
import { whichRun } from "./which-run.ts";

type Input = z.infer<typeof restoreInput>;

/**
 * Restores a checkpoint of a run that this node writes to the path that a program names, verified and all or nothing. With
 * `dryRun`, returns what the restore would do. Faults: BAD_INPUT, NOT_FOUND (no such checkpoint, or another node writes the
 * run), HUB_UNREACHABLE, those of a restore.
 */
export async function restoreHere(agent: Agent, input: Input): Promise<RestoreAnswer | PreviewAnswer> {
  const { hub, options } = agent;
  const run = whichRun(options.watches, { run: input.run });
  const found = await hub.ask("findCheckpoint", (client, signal) =>
    client.node.findCheckpoint.query(
      {
        run,
        ...(input.step === undefined ? {} : { step: input.step }),
        ...(input.role === undefined ? {} : { role: input.role }),
      },
      { signal },
    ),
  );
  // A hub that does not know final models answers with the newest checkpoint instead.
  if (found === null || found.role !== input.role) {
    const requested =
      input.role !== undefined
        ? "no final model"
        : input.step === undefined
          ? "no complete checkpoint"
          : `no complete checkpoint of ${stepText(input.step)}`;
    throw new Fault("NOT_FOUND", { op: "restore", subject: run, detail: requested });
  }
  const filesOf = ({ checkpointId }: { checkpointId: string }) => chosenOf(agent, input, { run, checkpointId });
  if (input.dryRun) {
    const { checkpointId, step } = found;
    const { tensors = null } = input;
    const wanted = { checkpointId, run, step, targetPath: input.path, files: await filesOf(found), tensors };
    const preview = await previewRestore(agent, { ...wanted, isOwn: true });
    return { run, step, path: input.path, ...(await shapeOf(agent, found, input)), checkpointId, preview };
  }
  const mayFallBack = input.fallback && input.step === undefined && input.role === undefined;
  const parts = input.tensors === undefined ? {} : { tensors: input.tensors };
  const restored = await restoreNewest(agent, {
    run,
    found,
    pathOf: () => input.path,
    filesOf,
    mayFallBack,
    mayLeaveOut: true,
    ...parts,
  });
  const { checkpointId, step, path } = restored;
  const passedOver = restored.passedOver?.step ?? null;
  const passedOverWhy = restored.passedOver?.why ?? null;
  const { origin } = restored;
  const isForeign = origin !== null && origin.node !== null && origin.node.id !== agent.nodeId && origin.pickles > 0;
  const foreign = isForeign ? { node: origin.node?.name ?? "", pickles: origin.pickles } : null;
  return {
    run,
    step,
    path,
    ...(await shapeOf(agent, restored, input)),
    checkpointId,
    passedOver,
    passedOverWhy,
    foreign,
    doubt: origin?.doubt ?? null,
  };
}

/** Returns where a checkpoint lies in its watched folder, and how it lies at the path of a restore. Tensors make a folder. */
async function shapeOf(
  agent: Agent,
  found: FoundPlace,
  { path, tensors }: Input,
): Promise<Required<Pick<RestoreAnswer, "place" | "kind">>> {
  const place = await findPlace(agent, found);
  return { place, kind: tensors === undefined ? kindAt(place, path) : "folder" };
}

/** Returns the names of the wanted files; null: all. */
async function chosenOf(
  { hub }: Agent,
  { only, rank }: Input,
  { run, checkpointId }: { run: RunName; checkpointId: string },
): Promise<string[] | null> {
  if (only.length === 0 && rank === undefined) return null;
  const fits = only.map((glob) => readGlob("only", glob));
  const answer = await hub.ask("readCheckpoint", (client, signal) =>
    client.node.readCheckpoint.query({ checkpointId, withArchived: true }, { signal }),
  );
  const all = parseManifest({ checkpointId }, answer.manifest).files.map(({ path }) => path);
  const ranked = rank === undefined ? all : filesOfRank(all, rank);
  const chosen = fits.length === 0 ? ranked : ranked.filter((path) => fits.some((one) => one(path)));
  if (chosen.length > 0) return chosen;
  const detail = `no file of ${run} fits; it has ${all.slice(0, 5).join(", ")}${all.length > 5 ? " and more" : ""}`;
  throw new Fault("NOT_FOUND", { op: "restore", subject: only.join(" "), detail });
}
