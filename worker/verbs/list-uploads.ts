import type { HttpAnswer } from "#storage/answers.ts";
import { faultOfAnswer } from "#storage/faults.ts";
import { childrenOf, parseXml, textOf } from "#storage/xml.ts";
import { askStore } from "./ask-store.ts";
import type { Bench } from "./bench.ts";

const OP = "ListMultipartUploads";

/** An upload that was begun and is neither complete nor given up. */
export interface OpenUpload {
  key: string;
  uploadId: string;
  /** Epoch ms by the store's clock. */
  beganAtMs: number;
}

/** The first thousand below a prefix. Faults: those of the store, UNEXPECTED_ANSWER, CANCELLED. */
export function listUploads(bench: Bench, about: { prefix: string; signal: AbortSignal }): Promise<OpenUpload[]> {
  const { prefix, signal } = about;
  const query = [
    ["max-uploads", "1000"],
    ["prefix", prefix],
    ["uploads", ""],
  ] as const;
  return askStore(bench, { op: OP, method: "GET", at: "bucket", query, signal }, (answer) =>
    readUploads(answer, prefix),
  );
}

function readUploads(answer: HttpAnswer, prefix: string): OpenUpload[] {
  const parsed = answer.status === 200 ? parseXml(answer.body) : null;
  if (parsed === null || parsed.root !== "ListMultipartUploadsResult") {
    throw faultOfAnswer({ op: OP, subject: prefix, answer });
  }
  return childrenOf(parsed.element, "Upload").flatMap((row) => {
    const key = textOf(row, "Key") ?? "";
    const uploadId = textOf(row, "UploadId")?.trim() ?? "";
    const beganAtMs = Date.parse(textOf(row, "Initiated")?.trim() ?? "");
    if (!key.startsWith(prefix) || uploadId === "" || Number.isNaN(beganAtMs)) return [];
    return [{ key, uploadId, beganAtMs }];
  });
}
