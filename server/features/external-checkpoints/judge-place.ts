import { Fault } from "#protocol/faults/fault.ts";
import type { RecognisedStep } from "#protocol/recognition/recognise.ts";
import type { ListedObject } from "#storage/s3/listing.ts";
import { createRecogniser } from "#storage/detect/recognise.ts";
import { createPauses } from "#server/platform/pauses.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { readWanted } from "#server/core/checkpoints/external/recognise-bucket.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";

/**
 * Judges a place by its objects as they are now: whether they are a checkpoint, and whether it is complete.
 * @throws Fault NOT_FOUND when they are no checkpoint
 */
export async function judgePlace(
  hub: Hub,
  about: { store: OpenStore; place: string; objects: readonly ListedObject[]; signal: AbortSignal },
): Promise<RecognisedStep> {
  const { store, place, objects, signal } = about;
  const recogniser = createRecogniser(null);
  const pauses = createPauses();
  for (const object of objects) {
    if (pauses.isDue()) await pauses.take();
    recogniser.add(object);
  }
  await readWanted(hub, { recogniser, store, signal, warnings: [] });
  const judged = recogniser
    .end()
    .runs.flatMap(({ steps }) => steps)
    .find((step) => step.place === place);
  if (judged === undefined)
    throw new Fault("NOT_FOUND", { op: "adopt", subject: place, detail: "no checkpoint is there" });
  return judged;
}
