import { readListParts, type HttpAnswer } from "#storage/answers.ts";
import { faultOfAnswer } from "#storage/faults.ts";
import { childrenOf, parseXml, textOf } from "#storage/xml.ts";
import { callStore } from "../engine/engine.ts";
import type { LostCreate } from "../engine/send-job.ts";
import { abandonUpload } from "../engine/send.ts";
import { askStore } from "./ask-store.ts";
import type { Bench } from "./bench.ts";

const OP = "ListMultipartUploads";
/** Nobody waits longer for a store to be tidied up. */
const LONGEST_MS = 10_000;
/** The store's dates may be cut to seconds. */
const SLACK_MS = 2_000;

/**
 * Ends uploads that a Create began whose answer was lost: those of exactly this key that the store says it began in the
 * time before ours in which we asked, and that nobody has sent a part of. All by the store's own clock, and so narrow
 * because somebody else may be sending to the same key. Best effort: an orphan only wastes space. Never throws.
 */
export async function sweepUploads(bench: Bench, lost: LostCreate & { signal: AbortSignal }): Promise<void> {
  const { engine } = bench;
  const { key, uploadId, withinMs } = lost;
  const signal = AbortSignal.any([lost.signal, AbortSignal.timeout(LONGEST_MS)]);
  const query = [
    ["max-uploads", "1000"],
    ["prefix", key],
    ["uploads", ""],
  ] as const;
  try {
    const uploads = await askStore(bench, { op: OP, method: "GET", at: "bucket", query, signal }, (answer) =>
      readUploads(answer, key),
    );
    const ours = uploads.find((upload) => upload.uploadId === uploadId);
    if (ours === undefined) return;
    const [from, to] = [ours.beganAtMs - withinMs - SLACK_MS, ours.beganAtMs + SLACK_MS];
    for (const other of uploads) {
      if (other === ours || other.beganAtMs < from || other.beganAtMs > to) continue;
      const operation = { op: "parts", key, uploadId: other.uploadId, after: 0 } as const;
      const { parts } = await callStore(engine, { operation, signal }, readListParts);
      if (parts.length === 0) await abandonUpload(engine, { key, uploadId: other.uploadId, signal });
    }
  } catch {
    // What was not swept now is of no harm to the object.
  }
}

/** Those of exactly this key: every key that begins with it is listed, and it is the first of them. */
function readUploads(answer: HttpAnswer, key: string): { uploadId: string; beganAtMs: number }[] {
  const parsed = answer.status === 200 ? parseXml(answer.body) : null;
  if (parsed === null || parsed.root !== "ListMultipartUploadsResult") {
    throw faultOfAnswer({ op: OP, subject: key, answer });
  }
  return childrenOf(parsed.element, "Upload").flatMap((row) => {
    const uploadId = textOf(row, "UploadId")?.trim() ?? "";
    const beganAtMs = Date.parse(textOf(row, "Initiated")?.trim() ?? "");
    if (textOf(row, "Key") !== key || uploadId === "" || Number.isNaN(beganAtMs)) return [];
    return [{ uploadId, beganAtMs }];
  });
}
