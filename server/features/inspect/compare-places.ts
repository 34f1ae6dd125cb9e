import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { Comparable, compareInput, LossCurve, PlacesCompared } from "#protocol/checkpoint/inspect.ts";
import { compareSides, sideOf, type ComparedSide } from "#storage/inspect/compare-checkpoints.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { createPauses } from "#server/platform/pauses.ts";
import { inspectAt, inspectManifestFile, openCheckpoint } from "#server/core/checkpoints/find-file.ts";
import { inspectFiles } from "#server/core/checkpoints/inspect-files.ts";

/**
 * Compares two checkpoints, or two files, tensor by tensor. The warnings name what could not be read, so that unread tensors
 * are not taken for removed ones.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE, NO_SUCH_KEY, CANCELLED, those of the store for single files
 */
export async function comparePlaces(
  hub: Hub,
  input: z.infer<typeof compareInput>,
  signal: AbortSignal,
): Promise<PlacesCompared> {
  const [from, to] = [await openSide(hub, input.from, signal), await openSide(hub, input.to, signal)];
  return compareSides(from, to, createPauses());
}

async function openSide(hub: Hub, place: Comparable, signal: AbortSignal): Promise<ComparedSide> {
  if ("profileId" in place || "path" in place) {
    const { found, file } = await inspectAt(hub, place, signal);
    const warnings =
      found.fault === null
        ? []
        : [`${found.path}: ${new Fault(found.fault.code, { detail: found.fault.detail ?? "" }).message}`];
    return { files: [{ path: found.path, tensors: found.tensors, parts: file?.extents ?? null }], all: null, warnings };
  }
  const checkpoint = await openCheckpoint(hub, place.checkpointId);
  return sideOf(await inspectFiles(hub, checkpoint, signal), checkpoint.manifest.files);
}

/**
 * Returns the loss curve that a Trainer logged; for a checkpoint, from its outermost trainer_state.json.
 * @throws Fault NOT_FOUND when there is none, MALFORMED when it cannot be read, those of the store
 */
export async function readCurve(hub: Hub, place: Comparable, signal: AbortSignal): Promise<LossCurve> {
  const found = await (async () => {
    if ("profileId" in place || "path" in place) return (await inspectAt(hub, place, signal)).found;
    const { store, manifest, key } = await openCheckpoint(hub, place.checkpointId);
    const states = manifest.files.filter(({ path }) => /(^|\/)trainer_state\.json$/.test(path));
    const [file] = states.sort((a, b) => a.path.split("/").length - b.path.split("/").length);
    if (file === undefined)
      throw new Fault("NOT_FOUND", { op: "inspect", subject: "trainer_state.json", detail: "the checkpoint has none" });
    return inspectManifestFile(hub, { store, file, files: manifest.files, key, signal });
  })();
  if (found.curve !== null) return found.curve;
  const { fault } = found;
  if (fault !== null) throw new Fault(fault.code, { op: "inspect", subject: found.path, detail: fault.detail ?? "" });
  throw new Fault("NOT_FOUND", { op: "inspect", subject: found.path, detail: "it holds no log of a training" });
}
